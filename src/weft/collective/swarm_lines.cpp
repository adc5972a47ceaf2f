// SwarmCore: the lines between members and the order of the ring.
#include <utility>

#include <fmt/format.h>

#include "weft/collective/swarm_core.h"

namespace weft {

double SwarmCore::rtt_seconds(const PeerId& peer) const {
  return transport_.stats(peer).rtt_seconds;
}

std::vector<Member> SwarmCore::arrange(std::vector<Member> members) const {
  return lines_.arrange(std::move(members));
}

// The order matters to rounds that go round the ring only.
void SwarmCore::count_round(const RoundOutcome& outcome) {
  AllReduceOptions way = options_.rounds.all_reduce;
  way.size = view().size();
  const auto elements = static_cast<std::int64_t>(outcome.values->span().size());
  const bool ring = choose_algorithm(way, elements) == Algorithm::kRing;
  const auto bytes = encoded_bytes(way.precision, static_cast<std::size_t>(elements));
  lines_.on_committed(outcome.round, ring ? bytes : 0, now());
}

// Between rounds, so that none has to be run again.
void SwarmCore::settle_lines() {
  const bool quiet = membership_.state() == MembershipState::kMember && !membership_.frozen();
  if (!quiet || rounds_.open()) return;
  const std::optional<BetterRing> better = lines_.take_better();
  if (!better) return;
  SwarmEvent& told =
      event(SwarmEventKind::kRingProposed,
            fmt::format(
                "another order of the ring is proposed: by the lines' measured rates a round then "
                "takes {:.3f} s instead of {:.3f} s",
                better->seconds_then, better->seconds_now));
  told.round = rounds_.committed();
  told.seconds = better->seconds_now - better->seconds_then;
  told.peers = better->order;
  membership_.reorder(now());
}

}  // namespace weft
