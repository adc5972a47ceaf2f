// Which proposals of a view a member refuses to vote for: one lying member must not end others, nor
// get them banned from the run.
//
// Paxos asks of a voter only that it keeps its promises. It may refuse any value, and ignore any
// promise as if it was lost: that never makes two values follow one view. So what is refused here
// is a matter of progress alone, and must be either what no correct member proposes, or something
// that may be refused until better evidence comes.
//
// The base round. A round is committed here when all members have sent Done for it, and none sends
// it after its promise (agreement.h). Each promise that states a done round is thus at or above it,
// and so is the least over some of them, whichever ballot of this view asked. It makes no
// difference that a value was taken over, since its own base was such a least; that a survivor
// votes alone, since its own promise states one; that a view merges or yields, since its base is
// found alike; or that a voter is restarted, since it states no round and commits none. The first
// view of a branch goes through no ballot. So no correct base is below what is committed here. Nor
// is it more than one round above: no member can be done with a round to which this member has not
// given its input, and it gives that after it has committed the round before. A correct member can
// be misled by a promise that states less than it has itself done and not committed yet, so no
// member is blamed for a base. And one that has not committed the last round yet may have accepted
// a lie that is one round too low: then all that are needed would wait for ever, so a member that
// has committed it votes after half of quorum_timeout, and joins the next view anew.
//
// Expulsion. A departure as expelled is a permanent ban. In a view of n it takes more than half of
// the n - 1 others to accuse a member, and each sends its accusation to all members that it has a
// link with, again and again while the view changes. A voter that has received enough of them
// agrees at once. One that has not counts as possible accusers those whose accusation it has
// received, the proposer, and each that it cannot ask: one out of reach, leaving, or restarted
// since, which has forgotten whom it accused. If all of those together are too few, the verdict
// cannot have fallen, and it refuses however often it is asked; if not, it agrees after half of
// quorum_timeout, since the value may be decided already. Thus with all honest members in reach one
// liar expels no member of a view of three or more; and no true verdict waits for ever, for an
// accuser's message arrives or the accuser cannot be asked. No member informs the accused itself;
// its vote is needed only where so many are out of reach that the count allows it.
//
// A proposer that leaves out a member as failed is believed all the same, for a voter often cannot
// know better. Such a member joins again.
#include <algorithm>
#include <utility>

#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

Refusal unlikely(std::string why) { return {Refusal::Kind::kUnlikely, std::move(why)}; }
bool puts_out(const Departure& departure) { return departure.cause == DepartureCause::kExpelled; }

}  // namespace

std::optional<Refusal> Balloting::refusal(const PeerId& by, const ViewValue& value) const {
  if (const Status status = check_successor(core_.view, value, core_.merges()); !status.ok()) {
    return Refusal{Refusal::Kind::kImpossible, status.message()};
  }
  const Round committed = committed_here();
  const bool waited =
      state_.frozen && core_.now - state_.frozen_since >= core_.options.quorum_timeout / 2;
  if (value.base_round.next() < committed || (value.base_round < committed && !waited)) {
    return unlikely("it begins below what is committed here");
  }
  if (value.base_round > committed.next()) return unlikely("it begins above what can be done");
  for (const Departure& departure : value.departures) {
    const bool self_leaves =
        departure.id == core_.options.self && departure.cause == DepartureCause::kLeft;
    if (self_leaves && !core_.leaving) return unlikely("this member did not ask to leave");
  }
  if (auto why = refuse_expulsions(by, value)) return why;
  // Not for ever: a value that others have accepted may be decided already, and without this vote
  // there may be no quorum. The banned peer is then expelled again.
  if (core_.bans.admits_banned(value) &&
      core_.now - state_.frozen_since < core_.options.quorum_timeout) {
    return Refusal{Refusal::Kind::kBanned, "it admits a peer that the members have expelled"};
  }
  return std::nullopt;
}

std::optional<Refusal> Balloting::refuse_expulsions(const PeerId& by,
                                                    const ViewValue& value) const {
  const bool waited =
      state_.frozen && core_.now - state_.frozen_since >= core_.options.quorum_timeout / 2;
  for (const Departure& departure : value.departures) {
    if (!puts_out(departure) || is_convicted(departure.id)) continue;
    if (waited && may_be_convicted(departure.id, by)) continue;
    return unlikely("too few accuse peer " + departure.id.short_name());
  }
  return std::nullopt;
}

bool Balloting::is_convicted(const PeerId& peer) const {
  return core_.judgement.accusations().convicts(core_.view, peer);
}

// Whether enough others may have accused it, as far as this member can know; `by` says so.
bool Balloting::may_be_convicted(const PeerId& peer, const PeerId& by) const {
  int accusers = core_.judgement.accusations().accuses(core_.options.self, peer) ? 1 : 0;
  for (const auto& [other, member] : core_.watch.all()) {
    if (other == peer) continue;
    const bool may_have = other == by || !member.reachable() || member.gone;
    if (may_have || core_.judgement.accusations().accuses(other, peer)) ++accusers;
  }
  return 2 * accusers > core_.view.size() - 1;
}

// A member has checked its own proposal when it made it. The proposer of an unlikely value gets no
// answer: a refusal would end its ballot, which others with more evidence may complete.
bool Balloting::refuses(const PeerId& from, const AcceptMessage& message) {
  if (from == core_.options.self) return false;
  const std::optional<Refusal> why = refusal(from, message.value);
  if (!why) return false;
  switch (why->kind) {
    case Refusal::Kind::kImpossible:
      core_.judgement.blame(from, Offence::kMalformed,
                            "proposes a view that cannot be: " + why->why);
      break;
    case Refusal::Kind::kUnlikely:
      break;
    case Refusal::Kind::kBanned:
      core_.bans.send_revocations(from);
      core_.send(from, frame_type::kRejected,
                 RejectedMessage{core_.view.id, message.ballot, state_.agreement->promised()});
      break;
  }
  return true;
}

bool Balloting::is_incredible(const PromiseMessage& message) const {
  // A member that still fetches the state of the base round states less.
  const Round done = std::max(core_.view.base_round, message.status.done);
  if (done < committed_here()) return true;
  if (!message.accepted) return false;
  const std::optional<AcceptedValue>& own = state_.agreement->accepted();
  if (own && own->value == message.accepted->value) return false;
  return refusal(core_.options.self, message.accepted->value).has_value();
}

bool Balloting::believes_next(const PeerId& from, const ViewNoticeMessage& message) const {
  if (message.previous != core_.view.id || !core_.is_other_member(from)) return false;
  // Every member of a branch has agreed to it.
  if (message.value.lineage.branch() != core_.view.lineage.branch()) return true;
  return is_accepted_value(message) || !refusal(from, message.value);
}

}  // namespace weft
