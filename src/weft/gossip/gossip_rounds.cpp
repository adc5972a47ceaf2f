// GossipCore: which members are asked, which ones a round waits for, and which round is next.
#include <algorithm>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/gossip/gossip_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

// At most 64 rounds without a wait for a member that is late.
static constexpr int kPatienceDoublings = 6;

void GossipCore::ask_for_parameters(TimePoint now) {
  fetch_until_ = now + options_.fetch_timeout;
  fetched_.reset();
  asked_ = {};
  // Round the ids from the own one, so that newcomers spread over the members that have links to
  // them.
  const auto pick = [&](auto begin, auto end) {
    for (auto at = begin; at != end && asked_ == PeerId{}; ++at) {
      if (!asked_before_.contains(at->first)) asked_ = at->first;
    }
  };
  const auto find = [&] {
    pick(links_.upper_bound(self()), links_.end());
    pick(links_.begin(), links_.upper_bound(self()));
  };
  find();
  if (asked_ == PeerId{}) {
    asked_before_.clear();
    find();
  }
  if (asked_ == PeerId{}) return;
  asked_before_.insert(asked_);
  send(asked_, Lane::kControl, frame_type::kGossipParametersRequest,
       GossipParametersRequestMessage{++attempts_}.encode());
}

void GossipCore::start_if_gathered(TimePoint now) {
  if (phase_ != GossipPhase::kGathering) return;
  refresh_topology(now);
  const bool linked = std::all_of(topology_.peers.begin(), topology_.peers.end(),
                                  [&](const PeerId& peer) { return links_.contains(peer); });
  const bool others_began = std::any_of(links_.begin(), links_.end(), [](const auto& entry) {
    return entry.second.newest != Round();
  });
  const bool enough = members() >= options_.start_members && linked;
  if (others_began && !begin_by_) begin_by_ = std::min(start_until_, now + options_.deadline);
  if (enough || now >= begin_by_.value_or(start_until_)) phase_ = GossipPhase::kIdle;
}

std::optional<ReceivedVector> GossipCore::take_fetched() {
  owner_.assert_here();
  if (phase_ == GossipPhase::kFetching || !fetched_ || !fetched_->complete()) return std::nullopt;
  return std::exchange(fetched_, std::nullopt);
}

bool GossipCore::has_answered(const PeerId& peer) const {
  const auto link = links_.find(peer);
  if (link == links_.end() || link->second.waited_from > round_) return true;
  if (inbox_.find(peer, round_) != nullptr) return true;
  // Frames of one lane keep their order: what comes after the round is not followed by it.
  return link->second.newest > round_ || link->second.absent >= round_;
}

bool GossipCore::ready() const {
  owner_.assert_here();
  WEFT_CHECK(phase_ == GossipPhase::kOpen);
  return deadline_passed_ || std::all_of(sent_to_.begin(), sent_to_.end(),
                                         [&](const PeerId& peer) { return has_answered(peer); });
}

// By id, so that the sum has the same bits whatever came first.
std::vector<GossipCore::Part> GossipCore::parts_to_mix() const {
  const std::size_t own_degree = std::max(degree_, options_.weight_degree);
  std::vector<Part> parts;
  for (const PeerId& peer : sent_to_) {
    const ReceivedVector* const vector = inbox_.find(peer, round_);
    if (vector == nullptr) continue;
    const double weight = metropolis_weight(own_degree, vector->head().degree);
    parts.push_back({vector, static_cast<float>(weight)});
  }
  if (options_.mixing == MixingRule::kNearest) keep_nearest(parts);
  return parts;
}

void GossipCore::keep_nearest(std::vector<Part>& parts) const {
  const auto* const own = reinterpret_cast<const float*>(latest_.span().data());
  std::vector<double> distances;
  distances.reserve(parts.size());
  for (const Part& part : parts) {
    distances.push_back(part.vector->squared_distance({own, options_.elements}));
  }
  std::vector<Part> kept;
  for (const std::size_t place : nearest_vectors(distances, options_.liars)) {
    kept.push_back(parts[place]);
  }
  for (Part& part : kept) part.weight = 1.0F / static_cast<float>(kept.size() + 1);
  parts = std::move(kept);
}

void GossipCore::settle_missing(TimePoint now, GossipMix& mix) {
  for (const PeerId& peer : sent_to_) {
    const auto link = links_.find(peer);
    if (link == links_.end() || inbox_.find(peer, round_) != nullptr) continue;
    if (link->second.newest > round_ || link->second.absent >= round_) continue;
    ++mix.missing;
    // It is waited for in the next round, since it may have waited for another itself; after that
    // more and more seldom.
    const int missed = ++link->second.missed;
    link->second.waited_from =
        Round(round_.value() + (std::uint64_t{1} << std::min(missed - 1, kPatienceDoublings)));
    if (missed < options_.missed_max) continue;
    // Its link stays, so that its frames arrive when it returns; the transport finds out whether it
    // is alive.
    if (dials_.doubt(peer, now)) topology_due_ = true;
  }
}

// "Absent" after the own parameters of the last round means that this member waits for nothing any
// more. Neighbours of other rounds of the period that are behind would take it for lost.
void GossipCore::part() {
  std::set<PeerId> neighbours = sent_to_;
  neighbours.insert(topology_.peers.begin(), topology_.peers.end());
  for (const PeerId& peer : neighbours) {
    const auto link = links_.find(peer);
    const bool mixed = inbox_.find(peer, round_) != nullptr;
    const bool took_part = !sent_to_.contains(peer) && link != links_.end() &&
                           link->second.newest.value() + topology_.period > round_.value();
    if (mixed || took_part) mixed_last_.push_back(peer);
    if (link == links_.end()) continue;
    send(peer, Lane::kBulk, frame_type::kGossipAbsent, GossipAbsentMessage{round_}.encode());
  }
}

bool GossipCore::parted() const {
  owner_.assert_here();
  return std::all_of(mixed_last_.begin(), mixed_last_.end(), [&](const PeerId& peer) {
    const auto link = links_.find(peer);
    return link == links_.end() || link->second.absent >= options_.last_round;
  });
}

Round GossipCore::next_round() const {
  std::vector<Round> newest;
  for (const PeerId& peer : sent_to_) {
    if (const auto link = links_.find(peer); link != links_.end()) {
      newest.push_back(std::max(link->second.newest, link->second.absent));
    }
  }
  if (newest.empty()) return round_.next();
  const auto median = newest.begin() + static_cast<std::ptrdiff_t>((newest.size() - 1) / 2);
  std::nth_element(newest.begin(), median, newest.end());
  // In a time-varying topology a neighbour needs nothing of this member for the rest of the period,
  // so that it may be that far ahead without having left this one behind.
  const Round ahead_most = Round(round_.value() + topology_.period);
  return *median > ahead_most ? *median : round_.next();
}

}  // namespace weft
