// SwarmCore: the links between members and the order of the ring.
#include <utility>

#include <fmt/format.h>

#include "weft/collective/core/swarm_core.h"

namespace weft {

double SwarmCore::rtt_seconds(const PeerId& peer) const {
  return transport_.stats(peer).rtt_seconds;
}

std::vector<Member> SwarmCore::arrange(std::vector<Member> members) const {
  return link_rates_.arrange(std::move(members));
}

LinkSummary SwarmCore::links_of(const std::vector<Member>& members) const {
  return link_rates_.summary(members);
}

void SwarmCore::count_round(const RoundOutcome& outcome) {
  RoundLoad load{options_.rounds.all_reduce,
                 static_cast<std::int64_t>(outcome.values->span().size())};
  load.way.size = view().size();
  link_rates_.on_committed(outcome.round, load, now());
}

// Between rounds, so that none has to be run again.
void SwarmCore::settle_links() {
  const bool quiet = membership_.state() == MembershipState::kMember && !membership_.frozen();
  if (!quiet || rounds_.open()) return;
  const std::optional<BetterRing> better = link_rates_.take_better();
  if (!better) return;
  SwarmEvent& told = event(
      SwarmEventKind::kRingProposed,
      fmt::format("another order of the ring is proposed: by the links' measured rates a round, by "
                  "{}, then takes {:.3f} s instead of {:.3f} s by {}",
                  to_string(better->way_then), better->seconds_then, better->seconds_now,
                  to_string(better->way_now)));
  told.round = rounds_.committed();
  told.seconds = better->seconds_now - better->seconds_then;
  told.peers = better->order;
  membership_.reorder(now());
}

}  // namespace weft
