#include "weft/gossip/gossip_core.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/wire/codec.h"
#include "weft/wire/frame_type.h"

namespace weft {
namespace {

enum EventKind : std::uint8_t { kLinkUp = 1, kLinkDown, kFrame, kTick, kBegin, kAwait, kFinish };
enum ActionKind : std::uint8_t { kSendAction = 64, kDialAction, kCloseAction };

AddressBookOptions book_options(const GossipOptions& options) {
  AddressBookOptions book = options.book;
  book.run = options.run;
  book.last_round = options.last_round;
  return book;
}

// Members that have an edge alone are taken for neighbours up to this number.
constexpr std::size_t kAskedEdgesMax = 512;
static_assert(kBookRecordsMax + kAskedEdgesMax <= kGossipDegreeMax);
// A topology that allows more neighbours gets room for them as a member has them.
constexpr std::size_t kUsualDegreeMax = 64;

std::size_t usual_degree(const GossipOptions& options) {
  return std::min(options.topology.degree_max(options.book.records_max), kUsualDegreeMax);
}

}  // namespace

GossipCore::GossipCore(GossipOptions options, TimePoint now)
    : options_(std::move(options)),
      self_(peer_id_of(options_.signer.key)),
      book_(book_options(options_)),
      dials_(options_.dial_interval, options_.doubt_for),
      inbox_(inbox_peers(usual_degree(options_))) {
  own_.key = options_.signer.key;
  own_.standing.counter = options_.incarnation;
  own_.standing.endpoints = options_.endpoints;
  start_until_ = now + options_.start_timeout;
  round_ = options_.first_round;
  latest_ = options_.first_parameters;
  if (!latest_.empty()) latest_round_ = Round(round_.value() - 1);
  if (round_ > options_.last_round) {
    phase_ = GossipPhase::kOver;
    return;
  }
  if (options_.newcomer) {
    phase_ = GossipPhase::kFetching;
    fetch_until_ = now + options_.fetch_timeout;
    return;
  }
  publish_standing(false, now);
  start_if_gathered(now);
}

void GossipCore::note_event(std::uint8_t kind, const PeerId& peer, ByteSpan bytes, TimePoint now) {
  Writer out;
  out.raw(event_hash_).u8(kind).peer(peer).raw(xxh3_128(bytes));
  out.u64(static_cast<std::uint64_t>(now.time_since_epoch().count()));
  event_hash_ = xxh3_128(out.written());
}

void GossipCore::act(GossipAction action) {
  struct Note {
    GossipCore& core;
    void operator()(const GossipSend& send) const {
      const std::uint8_t type = send.frame.type;
      core.note_event(kSendAction, send.to, ByteSpan(&type, 1), {});
      core.note_event(kSendAction, send.to, send.frame.head, {});
    }
    void operator()(const GossipDial& dial) const {
      core.note_event(kDialAction, dial.peer.id, {}, {});
    }
    void operator()(const GossipClose& close) const {
      core.note_event(kCloseAction, close.peer, {}, {});
    }
  };
  std::visit(Note{*this}, action);
  actions_.push_back(std::move(action));
}

void GossipCore::send(const PeerId& to, Lane lane, std::uint8_t type, Bytes head,
                      SharedBytes body) {
  act(GossipSend{to, lane, {type, std::move(head), std::move(body)}});
}

std::vector<GossipAction> GossipCore::take_actions() {
  owner_.assert_here();
  return std::exchange(actions_, {});
}

void GossipCore::link_up(const PeerId& peer, TimePoint now) {
  owner_.assert_here();
  note_event(kLinkUp, peer, {}, now);
  Link link;
  link.used = now;
  links_.insert_or_assign(peer, link);
  // A doubt may have ended, which is to be seen in the topology.
  topology_due_ = topology_due_ || dials_.is_doubted(peer);
  dials_.link_up(peer);
  send_book(peer, links_.at(peer));
  if (phase_ == GossipPhase::kFetching && asked_ == PeerId{}) ask_for_parameters(now);
  start_if_gathered(now);
}

void GossipCore::link_down(const PeerId& peer, TimePoint now) {
  owner_.assert_here();
  note_event(kLinkDown, peer, {}, now);
  const bool was_linked = links_.erase(peer) > 0;
  dials_.link_down(peer, now);
  const bool open = phase_ == GossipPhase::kOpen;
  inbox_.drop_all_but(peer, open ? round_ : Round());
  // What was on its way in either direction is lost.
  if (open && inbox_.find(peer, round_) == nullptr) sent_to_.erase(peer);
  if (!was_linked && dials_.failed_again(peer) && dials_.doubt(peer, now)) topology_due_ = true;
  if (phase_ == GossipPhase::kFetching && asked_ == peer) ask_for_parameters(now);
  if (phase_ == GossipPhase::kOver) return;
  refresh_topology(now);
  dial_due(now);
}

void GossipCore::receive(const PeerId& from, std::uint8_t type, ByteSpan head, SharedBytes body,
                         TimePoint now) {
  owner_.assert_here();
  note_event(kFrame, from, head, now);
  note_event(type, from, body.span(), now);
  const auto link = links_.find(from);
  if (link == links_.end()) return;
  Status status;
  switch (type) {
    case frame_type::kGossipBook:
      status = on_book(from, head, now);
      break;
    case frame_type::kGossipParameters:
      status = on_parameters(from, link->second, head, std::move(body), now);
      break;
    case frame_type::kGossipAbsent:
      status = on_absent(from, link->second, head, now);
      break;
    case frame_type::kGossipParametersRequest:
      status = on_request(from, head, now);
      break;
    default:
      status = corrupt(fmt::format("gossip: expected a frame of gossip, got type {:#x}", type));
  }
  if (!status.ok()) refuse(from, status, now);
}

void GossipCore::refuse(const PeerId& from, const Status& why, TimePoint now) {
  ++counts_.corrupt_frames;
  act(GossipClose{from, why});
  links_.erase(from);
  inbox_.drop_all_but(from, Round());
  sent_to_.erase(from);
  dials_.link_down(from, now);
  dials_.doubt(from, now);
  topology_due_ = true;
  if (phase_ == GossipPhase::kFetching && asked_ == from) ask_for_parameters(now);
}

void GossipCore::tick(TimePoint now) {
  owner_.assert_here();
  note_event(kTick, {}, {}, now);
  if (announce_at_ && *announce_at_ <= now) announce_book(now);
  if (deadline_ && *deadline_ <= now) {
    deadline_.reset();
    deadline_passed_ = true;
  }
  if (phase_ == GossipPhase::kOver) return;
  if (phase_ == GossipPhase::kFetching && fetch_until_ <= now) ask_for_parameters(now);
  if (dials_.end_doubts(now)) topology_due_ = true;
  refresh_topology(now);
  dial_due(now);
  start_if_gathered(now);
}

std::optional<TimePoint> GossipCore::next_deadline() const {
  owner_.assert_here();
  std::optional<TimePoint> first;
  const auto take = [&](std::optional<TimePoint> when) {
    if (when) first = first ? std::min(*first, *when) : *when;
  };
  take(announce_at_);
  take(deadline_);
  if (phase_ == GossipPhase::kOver) return first;
  take(dials_.next_deadline());
  if (phase_ == GossipPhase::kFetching) take(fetch_until_);
  if (phase_ == GossipPhase::kGathering) take(begin_by_ ? *begin_by_ : start_until_);
  return first;
}

Status GossipCore::begin(SharedBytes parameters, TimePoint now) {
  owner_.assert_here();
  WEFT_CHECK(phase_ == GossipPhase::kIdle);
  WEFT_CHECK(parameters.size() == options_.elements * sizeof(float));
  if (!all_finite(parameters.span())) {
    return invalid_argument(
        fmt::format("gossip: the own parameters of round {} hold a value that is not finite; "
                    "take a lower learning rate",
                    round_.value()));
  }
  note_event(kBegin, {}, parameters.span(), now);
  phase_ = GossipPhase::kOpen;
  deadline_.reset();
  deadline_passed_ = false;
  latest_ = std::move(parameters);
  const Round before = std::exchange(latest_round_, round_);
  fetched_.reset();
  book_.forget_expired(round_);
  renew_presence(now);
  topology_due_ = true;  // which members are live depends on the round
  refresh_topology(now);
  dial_due(now);
  choose_neighbours(now);
  announce_absence(before);
  for (const PeerId& peer : sent_to_) {
    const bool own = topology_.exchanges(peer, round_);
    send_parameters(
        peer, {round_, static_cast<std::uint32_t>(degree_), own, false, options_.elements, 0});
  }
  end_idle_links(now);
  announce_book(now);
  return {};
}

// An edge that only the other end has exists from its next slot on.
bool GossipCore::asks_for(const Link& link) const {
  const std::uint64_t period = topology_.period;
  return link.asked_for != Round() && link.asked_for.value() + period >= round_.value() &&
         link.asked_for.value() % period == round_.value() % period;
}

void GossipCore::choose_neighbours(TimePoint now) {
  sent_to_.clear();
  for (const PeerId& peer : topology_.peers) {
    if (topology_.exchanges(peer, round_) && links_.contains(peer)) sent_to_.insert(peer);
  }
  const std::size_t own_edges = sent_to_.size();
  for (const auto& [peer, link] : links_) {
    if (asks_for(link) && sent_to_.size() < own_edges + kAskedEdgesMax) sent_to_.insert(peer);
  }
  degree_ = sent_to_.size();
  for (const PeerId& peer : sent_to_) {
    links_.at(peer).used = now;
  }
}

// Whoever has sent for this round, or for one that was left out, and gets nothing, need not wait.
void GossipCore::announce_absence(Round before) {
  for (const auto& [peer, link] : links_) {
    if (link.newest <= before || sent_to_.contains(peer)) continue;
    send(peer, Lane::kBulk, frame_type::kGossipAbsent, GossipAbsentMessage{round_}.encode());
  }
}

void GossipCore::await(TimePoint now) {
  owner_.assert_here();
  WEFT_CHECK(phase_ == GossipPhase::kOpen);
  note_event(kAwait, {}, {}, now);
  if (!deadline_passed_ && !deadline_) deadline_ = now + options_.deadline;
}

GossipMix GossipCore::finish(std::span<float> mixed, TimePoint now) {
  owner_.assert_here();
  WEFT_CHECK(phase_ == GossipPhase::kOpen && mixed.size() == options_.elements);
  note_event(kFinish, {}, {}, now);
  GossipMix mix;
  mix.round = round_;
  mix.degree = degree_;
  mix.members = members_undoubted();
  const std::vector<Part> parts = parts_to_mix();
  float others = 0;
  for (const Part& part : parts) others += part.weight;
  const float own = 1.0F - others;
  const auto* const values = reinterpret_cast<const float*>(latest_.span().data());
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = own * values[i];
  for (const Part& part : parts) part.vector->add_to(mixed, part.weight);
  mix.mixed = parts.size();
  mix.own_weight = own;
  settle_missing(now, mix);
  ++counts_.rounds;
  counts_.missing += mix.missing;

  deadline_.reset();
  deadline_passed_ = false;
  if (round_ >= options_.last_round) {
    phase_ = GossipPhase::kOver;
    part();
    inbox_.drop_before(round_.next());
    return mix;
  }
  const Round next = next_round();
  counts_.jumps += next.value() - round_.value() - 1;
  round_ = next;
  inbox_.drop_before(round_);
  phase_ = GossipPhase::kIdle;
  return mix;
}

void GossipCore::leave(TimePoint now) {
  owner_.assert_here();
  // Members that are some rounds behind go on with the topology that has this one in it.
  const bool finished = phase_ == GossipPhase::kOver && round_ >= options_.last_round;
  phase_ = GossipPhase::kOver;
  deadline_.reset();
  if (published_ && !finished) publish_standing(true, now);
  announce_book(now);
}

Hash128 GossipCore::fingerprint() const {
  owner_.assert_here();
  Writer out;
  book_.write_fingerprint(out);
  dials_.write_fingerprint(out);
  inbox_.write_fingerprint(out);
  for (const auto& [peer, link] : links_) {
    out.peer(peer)
        .u64(link.sent_version)
        .round(link.newest)
        .round(link.absent)
        .round(link.asked_for);
    out.round(link.passed_over).round(link.waited_from);
    out.u32(static_cast<std::uint32_t>(link.missed)).round(link.answered.value_or(Round()));
  }
  for (const PeerId& peer : topology_.peers) out.peer(peer);
  out.u64(sent_to_.size()).u64(degree_);
  for (const PeerId& peer : sent_to_) out.peer(peer);
  out.u8(static_cast<std::uint8_t>(phase_)).round(round_).round(latest_round_);
  out.raw(xxh3_128(latest_.span())).u64(own_.standing.counter).round(own_.presence.round);
  out.u8(topology_due_ ? 1 : 0).u8(published_ ? 1 : 0).u8(deadline_passed_ ? 1 : 0);
  out.u8(deadline_ ? 1 : 0).u8(begin_by_ ? 1 : 0).u8(announce_at_ ? 1 : 0).u8(fetched_ ? 1 : 0);
  out.peer(asked_).u64(attempts_);
  for (const PeerId& peer : asked_before_) out.peer(peer);
  return xxh3_128(out.written());
}

}  // namespace weft
