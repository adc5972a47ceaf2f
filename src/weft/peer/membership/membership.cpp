// Which message and which moment goes to which part, and what follows from it.
#include <algorithm>
#include <utility>

#include "weft/base/check.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// Decodes `frame` and hands it to `handler`; kCorrupt ends the sender's link.
template <class Part, class Message>
Status deliver(Part& part, const PeerId& from, const FrameView& frame,
               void (Part::*handler)(const PeerId&, const Message&)) {
  WEFT_TRY_ASSIGN(const Message message, Message::decode(frame.head));
  (part.*handler)(from, message);
  return {};
}

const ViewId& followed_view(const ViewNoticeMessage& notice) { return notice.previous; }
template <class Message>
const ViewId& followed_view(const Message& message) {
  return message.view;
}
ViewValue& carried_value(PromiseMessage& promise) { return promise.accepted->value; }
template <class Message>
ViewValue& carried_value(Message& message) {
  return message.value;
}

// As deliver(), for a message with a value. Where that is a difference from a view that is not held
// here it stays one: a promise or an accept message then is about no view of this peer's.
template <class Part, class Message>
Status deliver_value(const Membership::Core& core, Part& part, const PeerId& from,
                     const FrameView& frame, void (Part::*handler)(const PeerId&, const Message&)) {
  WEFT_TRY_ASSIGN(Message message, Message::decode(frame.head));
  const View* const held = message.difference ? core.held_view(followed_view(message)) : nullptr;
  if (held != nullptr) {
    WEFT_TRY_ASSIGN(carried_value(message),
                    value_after(core.options.run, *held, *message.difference));
    message.difference.reset();
  }
  (part.*handler)(from, message);
  return {};
}

}  // namespace

std::string_view to_string(MembershipState state) {
  switch (state) {
    case MembershipState::kOutside:
      return "outside";
    case MembershipState::kJoining:
      return "joining";
    case MembershipState::kSyncing:
      return "syncing";
    case MembershipState::kMember:
      return "member";
    case MembershipState::kChanging:
      return "changing";
    case MembershipState::kIsolated:
      return "isolated";
    case MembershipState::kLeft:
      return "left";
    case MembershipState::kRemoved:
      return "removed";
  }
  return "unknown";
}

bool is_membership_frame(std::uint8_t type) {
  return type >= frame_type::kHeartbeat && type <= frame_type::kLastMembershipType;
}

Membership::Core::Core(MembershipOptions given, MembershipSink& outlet, Rng random)
    : MembershipCoreState(std::move(given), outlet, random) {}

Membership::Core::Core(const Core& other) : MembershipCoreState(other) { parts() = other.parts(); }

PeerRole Membership::Core::role(const PeerId& peer) const {
  if (active() && (is_other_member(peer) || peer == options.self)) return PeerRole::kMember;
  if (joining.attempt() && joining.attempt()->known.contains(peer)) return PeerRole::kMember;
  if (past.life() && past.life()->view.contains(peer)) return PeerRole::kMember;
  return newcomers.joiners().count(peer) != 0 || meetings.in_meeting(peer) ? PeerRole::kJoiner
                                                                           : PeerRole::kStranger;
}

void Membership::Core::found() {
  WEFT_CHECK(state == MembershipState::kOutside);
  records.begin_record();
  if (options.past) {
    // A peer that was banned from the run stays banned from those that go on from it.
    for (const Ban& ban : options.past->revocations.bans) bans.ban(ban);
  }
  ViewNoticeMessage first;
  first.value.base_round = options.founded_at;
  first.value.members = {
      Member{options.self, options.incarnation, options.endpoints, options.share_halvings}};
  first.view = next_view_id(options.run, first.previous, first.value);
  install(first);
}

Status Membership::Core::dispatch(const PeerId& from, const FrameView& frame) {
  if (!frame.body.empty()) return corrupt("membership frame: expected no body");
  if (judgement.ignores(from, frame.type)) return {};
  switch (frame.type) {
    case frame_type::kHeartbeat:
      return deliver(watch, from, frame, &MemberWatch::on_heartbeat);
    case frame_type::kSuspicion:
      return deliver(watch, from, frame, &MemberWatch::on_suspicion);
    case frame_type::kOutside:
      return deliver(watch, from, frame, &MemberWatch::on_outside);
    case frame_type::kLeaving:
      return deliver(watch, from, frame, &MemberWatch::on_leaving);
    case frame_type::kViewNotice:
      return deliver_value(*this, evidence, from, frame, &ViewEvidence::on_notice);
    case frame_type::kRemoved:
      return deliver(evidence, from, frame, &ViewEvidence::on_removed);
    case frame_type::kAccusation:
      return deliver(judgement, from, frame, &Judgement::on_accusation);
    case frame_type::kRevocation:
      return deliver(bans, from, frame, &BanList::on_revocation);
    case frame_type::kBranch:
      return deliver(branching, from, frame, &Branching::on_branch);
    case frame_type::kStanding:
      return deliver(meetings, from, frame, &Meetings::on_standing);
    default:
      return frame.type >= frame_type::kJoiner ? dispatch_joining(from, frame)
                                               : dispatch_agreement(from, frame);
  }
}

Status Membership::Core::dispatch_agreement(const PeerId& from, const FrameView& frame) {
  switch (frame.type) {
    case frame_type::kPrepare:
      return deliver(balloting, from, frame, &Balloting::on_prepare);
    case frame_type::kPromise:
      return deliver_value(*this, balloting, from, frame, &Balloting::on_promise);
    case frame_type::kAccept:
      return deliver_value(*this, balloting, from, frame, &Balloting::on_accept);
    case frame_type::kAccepted:
      return deliver(balloting, from, frame, &Balloting::on_accepted);
    case frame_type::kRejected:
      return deliver(balloting, from, frame, &Balloting::on_rejected);
    default:
      return corrupt("membership frame: unknown type " + std::to_string(frame.type));
  }
}

Status Membership::Core::dispatch_joining(const PeerId& from, const FrameView& frame) {
  switch (frame.type) {
    case frame_type::kJoiner:
      return deliver(newcomers, from, frame, &NewcomerList::on_joiner);
    case frame_type::kRecipeRequest:
      return deliver(newcomers, from, frame, &NewcomerList::on_recipe_request);
    case frame_type::kRecipe:
      // Asked for before a membership exists (wire/join_message.h); late ones are harmless.
      return {};
    case frame_type::kJoinRequest:
      return deliver(newcomers, from, frame, &NewcomerList::on_join_request);
    case frame_type::kJoinAccepted:
      return deliver(joining, from, frame, &Joining::on_accepted_join);
    case frame_type::kJoinRefused:
      return deliver(joining, from, frame, &Joining::on_refused_join);
    case frame_type::kAdmitRequest:
      return deliver(newcomers, from, frame, &NewcomerList::on_admit_request);
    case frame_type::kMemberProof:
      return deliver(keys, from, frame, &KeyHolders::on_member_proof);
    case frame_type::kRunOver:
      return deliver(joining, from, frame, &Joining::on_run_over);
    default:
      return corrupt("membership frame: unknown type " + std::to_string(frame.type));
  }
}

bool Membership::Core::is_current(const PeerId& from, const ViewId& theirs) {
  if (!active()) {
    past.say_outside(from);
    // Perhaps no living peer has seen that view.
    const bool ahead =
        past.life() && theirs < past.life()->view.id && past.life()->view.contains(from);
    if (ahead) send(from, frame_type::kViewNotice, past.life()->notice);
    return false;
  }
  if (theirs == view.id) {
    if (is_other_member(from) || from == options.self) return true;
    if (newcomers.joiners().count(from) == 0) {
      newcomers.refuse(from, {RefusalCode::kUnknownJoiner, 0, "prove the ticket again"});
    }
    return false;
  }
  // One that this peer has accepted may be a member by now, and ahead.
  if (newcomers.joiners().count(from) != 0 && !balloting.has_accepted(from)) {
    send_current(from, theirs);
    return false;
  }
  if (branching.of_other_branch(theirs)) {
    meetings.send_standing(from);
    return false;
  }
  // Whoever is ahead answers an old heartbeat with its view.
  if (theirs > view.id) {
    watch.send_heartbeat(from);
  } else {
    send_current(from, theirs);
  }
  return false;
}

const View* Membership::Core::held_view(const ViewId& id) const {
  if (view.id == id) return &view;
  if (past.life() && past.life()->view.id == id) return &past.life()->view;
  if (joining.attempt() && joining.attempt()->known.id == id) return &joining.attempt()->known;
  return nullptr;
}

void Membership::Core::send_notice(const PeerId& to, ViewNoticeMessage sent,
                                   const std::optional<ViewId>& theirs) {
  if (step && theirs == sent.previous) sent.difference = step;
  send(to, frame_type::kViewNotice, sent);
}

void Membership::Core::send_current(const PeerId& to, const std::optional<ViewId>& theirs) {
  // A peer that is behind may have missed a ban as well.
  if (view.contains(to)) bans.send_revocations(to);
  keys.show_key(to);
  // Where there may be branches, a removed peer must know which one removed it.
  const bool branch = merges() && (former.has_met(to) || keys.key_shown().count(to) != 0);
  if (view.contains(to) || newcomers.joiners().count(to) != 0 || branch) {
    send_notice(to, keys.notice_for(to), theirs);
    return;
  }
  if (!links.may_notify_outsider(to)) return;
  RemovedMessage removed{view.id, 0, "the others went on without it"};
  const auto known = former.departed().find(to);
  if (known != former.departed().end()) {
    removed.incarnation = known->second.incarnation;
    removed.reason = known->second.reason;
  }
  send(to, frame_type::kRemoved, removed);
}

void Membership::Core::on_timer() {
  stirred = stirred || !calm;
  if (now >= beat_at) beat();
  if (active()) watch.watch_links();
  if (active() && evidence.waits()) {
    evidence.ask_members();
    evidence.weigh_claims();
  }
  if (evidence.has_hint()) evidence.follow_hint();
  if (joining.attempt()) joining.join_timer();
  if (leaving && now >= leave_ends && state != MembershipState::kLeft) finish_leave();
}

// Draws the consequences of whatever just happened.
void Membership::Core::settle() {
  if (stirred) links.report_trusts();
  if (!active() || (!stirred && now < balloting.propose_at())) return;
  stirred = false;
  if (leaving && watch.all_others_gone()) {
    finish_leave();
    return;
  }
  quorum.check_quorum();
  branching.branch_when_due();
  balloting.schedule_proposal();
  balloting.propose_when_due();
  calm = is_calm();
}

TimePoint Membership::Core::next_deadline() const {
  TimePoint soonest = beat_at;
  if (joining.attempt()) {
    soonest = std::min({soonest, joining.attempt()->attempt_ends, joining.attempt()->ask_at,
                        joining.attempt()->ends});
  }
  if (!active()) return soonest;
  soonest = std::min({soonest, balloting.propose_at(), leave_ends});
  if (watch.all_linked()) return soonest;
  for (const auto& [peer, member] : watch.all()) {
    if (member.linked) continue;
    soonest = std::min(soonest, member.dial_at);
    if (!member.own) soonest = std::min(soonest, member.unlinked_since + member.patience);
  }
  return soonest;
}

}  // namespace weft
