// The voter that a restarted process still is: it keeps what it promised, and decides nothing new.
#include <algorithm>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

bool expels_somebody(const Departure& departure) {
  return departure.cause == DepartureCause::kExpelled;
}
// A restarted peer dials the members of its old view once in this many heartbeats.
constexpr int kBeatsPerOldDial = 4;

}  // namespace

// The voter that this process was has forgotten the accusations, and what was committed.
bool PastVoter::refuses_as_past(const ViewValue& value) {
  if (!check_successor(state_.past->view, value, core_.merges()).ok()) return true;
  if (std::none_of(value.departures.begin(), value.departures.end(), expels_somebody)) return false;
  if (!state_.past->doubts_since) state_.past->doubts_since = core_.now;
  return core_.now - *state_.past->doubts_since < core_.options.quorum_timeout / 2;
}

void PastVoter::begin(const VoteOnRecord& vote) {
  const View before = view_of(vote.notice);
  state_.past =
      PastLife{vote.incarnation, vote.notice, before, Agreement(before, core_.options.self), {}};
  state_.past->agreement.resume(vote.promised, vote.accepted);
}

// The members of the old view can let this peer in, too, whatever its ticket names.
void PastVoter::become_past() {
  if (!state_.past || !core_.joining.attempt()) return;
  for (const Member& member : state_.past->view.members) {
    if (member.id != core_.options.self) core_.joining.add_candidate({member.id, member.endpoints});
  }
}

void PastVoter::say_outside(const PeerId& to) {
  OutsideMessage message{core_.options.incarnation, std::nullopt};
  if (state_.past) message.votes_in = state_.past->view.id;
  core_.send(to, frame_type::kOutside, message);
}

bool PastVoter::is_past_matter(const PeerId& from, const ViewId& asked) const {
  return state_.past && !core_.active() && state_.past->view.id == asked &&
         state_.past->view.contains(from);
}

void PastVoter::vote_as_past(const PeerId& from, const PrepareMessage& message) {
  const RoundStatus nothing{Round(kHoldsNothing), {}};
  const auto answer = state_.past->agreement.on_prepare(message, nothing);
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    core_.send(from, frame_type::kRejected, *rejected);
  } else if (core_.records.keep_record(true)) {
    core_.balloting.send_promise(from, state_.past->view, std::get<PromiseMessage>(answer));
  }
}

void PastVoter::vote_as_past(const PeerId& from, const AcceptMessage& message) {
  if (refuses_as_past(message.value)) return;
  const auto answer = state_.past->agreement.on_accept(message);
  if (const auto* rejected = std::get_if<RejectedMessage>(&answer)) {
    core_.send(from, frame_type::kRejected, *rejected);
  } else if (core_.records.keep_record(true)) {
    core_.send(from, frame_type::kAccepted, std::get<AcceptedMessage>(answer));
  }
}

// A value that was proposed before the restart was known may have the old life in it: that one is
// a voter of the next view, too. It has promised nothing there, or the record would be of it.
void PastVoter::follow_as_past(const PeerId& from, const ViewNoticeMessage& message) {
  // Those that its ticket names count as well: perhaps they came later than its record.
  const bool named =
      core_.joining.attempt() && std::any_of(core_.joining.attempt()->candidates.begin(),
                                             core_.joining.attempt()->candidates.end(),
                                             [&](const PeerAddress& a) { return a.id == from; });
  if (core_.active() || message.view <= state_.past->view.id) return;
  if (!named && !state_.past->view.contains(from)) return;
  if (next_view_id(core_.options.run, message.previous, message.value) != message.view) return;
  if (message.value.lineage.branch() != state_.past->view.lineage.branch()) return;
  const View next = view_of(message);
  const Member* self = next.find(core_.options.self);
  if (self == nullptr || self->incarnation != state_.past->incarnation) return;
  state_.past =
      PastLife{state_.past->incarnation, message, next, Agreement(next, core_.options.self)};
  become_past();
  core_.records.keep_record(false);
  for (const Member& member : next.members) {
    if (member.id != core_.options.self && core_.links.up(member.id)) say_outside(member.id);
  }
}

// Each proposer must reach this voter, and only few of them are asked to let it in.
void PastVoter::past_beat() {
  if (!state_.past || core_.state != MembershipState::kJoining ||
      core_.beats % kBeatsPerOldDial != 1)
    return;
  for (const Member& member : state_.past->view.members) {
    if (member.id == core_.options.self || core_.links.up(member.id)) continue;
    core_.sink.connect({member.id, member.endpoints});
  }
}

void PastVoter::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
