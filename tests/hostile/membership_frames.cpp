// Frames of membership: watching, agreement, branches, admission.
#include <algorithm>
#include <optional>

#include "frame_makers.h"
#include "weft/peer/view.h"
#include "weft/wire/admission_message.h"
#include "weft/wire/branch_message.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/value_difference.h"

namespace weft::hostile {
namespace {

Member self_member(const Facts& facts) {
  Member member;
  member.id = facts.self;
  member.incarnation = facts.incarnation;
  member.endpoints = {facts.trap};
  return member;
}

Ballot next_ballot(const Facts& facts, Rng& rng) {
  Ballot ballot;
  ballot.counter = rng.chance(0.5) ? 1 + rng.below(100) : rng.next_u64();
  ballot.proposer = facts.self;
  return ballot;
}

// What could follow the present view: this peer comes in, and perhaps another one goes.
ViewValue next_value(const Facts& facts, Rng& rng) {
  ViewValue value;
  value.base_round = facts.round;
  value.members = facts.current.value.members;
  if (facts.spares_others) return value;
  std::erase_if(value.members, [&](const Member& member) { return member.id == facts.self; });
  if (value.members.size() > 1 && rng.chance(0.5)) {
    Departure departure;
    departure.id = value.members.back().id;
    departure.incarnation = value.members.back().incarnation;
    departure.cause = static_cast<DepartureCause>(rng.below(4));
    departure.reason = "no heartbeat for 2.0 s";
    value.departures = {departure};
    value.members.pop_back();
  }
  value.members.push_back(self_member(facts));
  return value;
}

// A view with its proper hash, as anybody can make it who knows the run's id.
ViewNoticeMessage next_notice(const Facts& facts, Rng& rng) {
  ViewNoticeMessage notice;
  notice.previous = facts.current.view;
  notice.value = next_value(facts, rng);
  notice.view = next_view_id(facts.ticket.run, notice.previous, notice.value);
  return notice;
}

// Half of them, with a good hash or with any.
std::optional<ValueDifference> perhaps_difference(const Facts& facts, const ViewValue& value,
                                                  Rng& rng) {
  if (rng.chance(0.5)) return std::nullopt;
  const ViewValue& held = facts.current.value;
  ValueDifference difference = difference_of(held.members, held.lineage, value);
  difference.next = next_view_id(facts.ticket.run, facts.current.view, value).hash;
  if (facts.spares_others) return difference;
  if (rng.chance(0.2)) difference.next = random_array<Hash256>(rng);
  if (rng.chance(0.2)) difference.going.push_back(static_cast<std::uint16_t>(rng.below(300)));
  if (rng.chance(0.2)) difference.order.push_back(static_cast<std::uint16_t>(rng.below(300)));
  return difference;
}

Bytes heartbeat(const Facts& facts, Rng& rng) {
  HeartbeatMessage message;
  message.view = facts.current.view;
  message.incarnation = facts.incarnation;
  message.sequence = rng.below(100000);
  message.done = facts.round;
  return message.encode();
}

Bytes suspicion(const Facts& facts, Rng& rng) {
  SuspicionMessage message;
  message.view = facts.current.view;
  message.who = facts.other;
  message.withdrawn = rng.chance(0.5);
  message.reason = "no heartbeat for 2.0 s";
  return message.encode();
}

Bytes prepare(const Facts& facts, Rng& rng) {
  PrepareMessage message;
  message.view = facts.current.view;
  message.ballot = next_ballot(facts, rng);
  return message.encode();
}

Bytes promise(const Facts& facts, Rng& rng) {
  PromiseMessage message;
  message.view = facts.current.view;
  message.ballot = next_ballot(facts, rng);
  message.status.done = rng.chance(0.8) ? facts.round : Round(kHoldsNothing);
  message.status.result_hash = facts.result_hash;
  if (rng.chance(0.5)) {
    message.accepted = AcceptedValue{next_ballot(facts, rng), next_value(facts, rng)};
    message.difference = perhaps_difference(facts, message.accepted->value, rng);
  }
  return message.encode();
}

Bytes accept(const Facts& facts, Rng& rng) {
  AcceptMessage message;
  message.view = facts.current.view;
  message.ballot = next_ballot(facts, rng);
  message.value = next_value(facts, rng);
  message.difference = perhaps_difference(facts, message.value, rng);
  return message.encode();
}

Bytes accepted(const Facts& facts, Rng& rng) {
  AcceptedMessage message;
  message.view = facts.current.view;
  message.ballot = next_ballot(facts, rng);
  return message.encode();
}

Bytes rejected(const Facts& facts, Rng& rng) {
  RejectedMessage message;
  message.view = facts.current.view;
  message.asked = next_ballot(facts, rng);
  message.promised = next_ballot(facts, rng);
  return message.encode();
}

Bytes view_notice(const Facts& facts, Rng& rng) {
  ViewNoticeMessage notice = rng.chance(0.5) ? next_notice(facts, rng) : facts.current;
  if (rng.chance(0.5)) notice.key = RunKey{rng.below(4), random_array<Hash256>(rng)};
  if (notice.previous == facts.current.view) {
    notice.difference = perhaps_difference(facts, notice.value, rng);
  }
  return notice.encode();
}

Bytes removed(const Facts& facts, Rng& rng) {
  RemovedMessage message;
  message.view = facts.current.view;
  message.view.number = ViewNumber(facts.current.view.number.value() +
                                   (rng.chance(0.5) ? 1 : std::uint64_t{1} << 62U));
  message.incarnation = rng.chance(0.5) ? 0 : facts.incarnation;
  message.reason = "the others went on without it";
  return message.encode();
}

Bytes outside(const Facts& facts, Rng& rng) {
  OutsideMessage message;
  message.incarnation = facts.incarnation + rng.below(3);
  if (rng.chance(0.5)) message.votes_in = facts.current.view;
  return message.encode();
}

Bytes leaving(const Facts& facts, Rng& /*rng*/) {
  LeavingMessage message;
  message.view = facts.current.view;
  return message.encode();
}

Bytes joiner(const Facts& facts, Rng& rng) {
  JoinerMessage message;
  message.joiner = self_member(facts);
  message.joiner.id = rng.chance(0.5) ? facts.other : facts.self;
  message.present = rng.chance(0.7);
  return message.encode();
}

Bytes branch(const Facts& facts, Rng& rng) {
  BranchMessage message;
  message.view = facts.current.view;
  message.attempt = 1 + rng.below(5);
  message.step = static_cast<BranchStep>(rng.below(5));
  message.committed = facts.round;
  message.snapshot = facts.snapshot.root;
  message.members = {self_member(facts)};
  return message.encode();
}

Bytes standing(const Facts& facts, Rng& rng) {
  StandingMessage message;
  message.current = rng.chance(0.5) ? next_notice(facts, rng) : facts.current;
  message.round = facts.round;
  message.samples = rng.next_u64();
  if (rng.chance(0.5)) message.snapshot = facts.snapshot.root;
  return message.encode();
}

Bytes accusation(const Facts& facts, Rng& rng) {
  AccusationMessage message;
  message.accused = facts.other;
  message.offence = static_cast<Offence>(rng.below(6));
  message.evidence = "a person asked for it";
  return message.encode();
}

Bytes revocation(const Facts& facts, Rng& rng) {
  RevocationMessage message;
  message.renewals = rng.chance(0.3) ? rng.below(3) : rng.next_u64();
  message.key = random_array<Hash256>(rng);
  for (std::uint32_t i = 0; i < std::min(facts.entries, kRevokedMax); ++i) {
    message.invitations.push_back(random_array<InvitationId>(rng));
  }
  for (std::uint32_t i = 0; i < std::min(facts.entries, kBansMax); ++i) {
    Ban ban;
    ban.peer = i == 0 ? facts.other : PeerId{random_array<Hash256>(rng)};
    ban.reason = "accused by 2 of 3";
    message.bans.push_back(std::move(ban));
  }
  return message.encode();
}

}  // namespace

std::vector<FrameKind> membership_kinds() {
  using namespace frame_type;  // NOLINT(google-build-using-namespace): names of one table
  constexpr Lane kLane = Lane::kControl;
  return {
      {kHeartbeat, "kHeartbeat", kLane, heartbeat},
      {kSuspicion, "kSuspicion", kLane, suspicion},
      {kPrepare, "kPrepare", kLane, prepare},
      {kPromise, "kPromise", kLane, promise},
      {kAccept, "kAccept", kLane, accept},
      {kAccepted, "kAccepted", kLane, accepted},
      {kRejected, "kRejected", kLane, rejected},
      {kViewNotice, "kViewNotice", kLane, view_notice},
      {kRemoved, "kRemoved", kLane, removed},
      {kOutside, "kOutside", kLane, outside},
      {kLeaving, "kLeaving", kLane, leaving},
      {kJoiner, "kJoiner", kLane, joiner},
      {kBranch, "kBranch", kLane, branch},
      {kStanding, "kStanding", kLane, standing},
      {kAccusation, "kAccusation", kLane, accusation},
      {kRevocation, "kRevocation", kLane, revocation},
  };
}

}  // namespace weft::hostile
