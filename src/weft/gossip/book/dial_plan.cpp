#include "weft/gossip/book/dial_plan.h"

#include <algorithm>

namespace weft {

void DialPlan::want(const std::vector<PeerId>& peers) {
  std::map<PeerId, Wanted> wanted;
  for (const PeerId& peer : peers) {
    const auto known = wanted_.find(peer);
    wanted.emplace(peer, known == wanted_.end() ? Wanted() : known->second);
  }
  wanted_ = std::move(wanted);
}

std::vector<PeerId> DialPlan::take_due(TimePoint now) {
  std::vector<PeerId> due;
  for (auto& [peer, wanted] : wanted_) {
    if (wanted.linked || wanted.next > now) continue;
    wanted.next = now + interval_;
    due.push_back(peer);
  }
  return due;
}

void DialPlan::link_up(const PeerId& peer) {
  doubted_.erase(peer);
  if (const auto found = wanted_.find(peer); found != wanted_.end()) {
    found->second.linked = true;
    found->second.failures = 0;
  }
}

void DialPlan::link_down(const PeerId& peer, TimePoint now) {
  const auto found = wanted_.find(peer);
  if (found == wanted_.end()) return;
  // A link that broke is dialled once more at once; a dial that failed waits for its turn.
  if (found->second.linked) {
    found->second.next = now;
  } else {
    ++found->second.failures;
  }
  found->second.linked = false;
}

bool DialPlan::failed_again(const PeerId& peer) const {
  const auto found = wanted_.find(peer);
  return found != wanted_.end() && found->second.failures > 1;
}

bool DialPlan::doubt(const PeerId& peer, TimePoint now) {
  return doubted_.insert_or_assign(peer, now + doubt_for_).second;
}

bool DialPlan::end_doubts(TimePoint now) {
  return std::erase_if(doubted_, [&](const auto& entry) { return entry.second <= now; }) > 0;
}

std::optional<TimePoint> DialPlan::next_deadline() const {
  std::optional<TimePoint> first;
  const auto take = [&](TimePoint when) { first = first ? std::min(*first, when) : when; };
  for (const auto& [peer, wanted] : wanted_) {
    if (!wanted.linked) take(wanted.next);
  }
  for (const auto& [peer, until] : doubted_) take(until);
  return first;
}

void DialPlan::write_fingerprint(Writer& out) const {
  out.u64(wanted_.size());
  for (const auto& [peer, wanted] : wanted_)
    out.peer(peer).u8(wanted.linked ? 1 : 0).u8(wanted.failures > 0 ? 1 : 0);
  out.u64(doubted_.size());
  for (const auto& [peer, until] : doubted_) out.peer(peer);
}

}  // namespace weft
