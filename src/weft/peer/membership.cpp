#include "weft/peer/membership.h"

#include <algorithm>

#include "weft/base/check.h"
#include "weft/peer/membership_core.h"

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
    // Who was put out of the run stays out of those that go on from it.
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
      return deliver(*this, from, frame, &Core::on_heartbeat);
    case frame_type::kSuspicion:
      return deliver(*this, from, frame, &Core::on_suspicion);
    case frame_type::kOutside:
      return deliver(*this, from, frame, &Core::on_outside);
    case frame_type::kLeaving:
      return deliver(*this, from, frame, &Core::on_leaving);
    case frame_type::kViewNotice:
      return deliver(evidence, from, frame, &ViewEvidence::on_notice);
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
      return deliver(*this, from, frame, &Core::on_prepare);
    case frame_type::kPromise:
      return deliver(*this, from, frame, &Core::on_promise);
    case frame_type::kAccept:
      return deliver(*this, from, frame, &Core::on_accept);
    case frame_type::kAccepted:
      return deliver(*this, from, frame, &Core::on_accepted);
    case frame_type::kRejected:
      return deliver(*this, from, frame, &Core::on_rejected);
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
    // Perhaps nobody who lives has seen that view.
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
  if (newcomers.joiners().count(from) != 0 && !has_accepted(from)) {
    tell_current(from);
    return false;
  }
  if (branching.of_other_branch(theirs)) {
    meetings.tell_standing(from);
    return false;
  }
  // Whoever is ahead answers an old heartbeat with its view.
  if (theirs > view.id) {
    send_heartbeat(from);
  } else {
    tell_current(from);
  }
  return false;
}

// Whoever is out speaks with each heartbeat; it is answered twice as often at most, however much it
// says.
bool LinkTable::may_tell_outsider(const PeerId& peer) {
  const auto [told, first] = state_.outsiders_told.try_emplace(peer, core_.now);
  if (!first && core_.now - told->second < core_.options.heartbeat_interval / 2) return false;
  told->second = core_.now;
  return true;
}

// Who is behind.
void Membership::Core::tell_current(const PeerId& to) {
  // Who is behind may have missed a verdict as well.
  if (view.contains(to)) bans.tell_revocations(to);
  keys.show_key(to);
  // Where there may be branches, who is out must know of which.
  const bool branch = merges() && (former.has_met(to) || keys.key_shown().count(to) != 0);
  if (view.contains(to) || newcomers.joiners().count(to) != 0 || branch) {
    send(to, frame_type::kViewNotice, keys.notice_for(to));
    return;
  }
  if (!links.may_tell_outsider(to)) return;
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
  if (active()) watch_links();
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
  if (stirred) links.tell_trusts();
  if (!active() || (!stirred && now < propose_at)) return;
  stirred = false;
  if (leaving && all_others_gone()) {
    finish_leave();
    return;
  }
  quorum.check_quorum();
  branching.branch_when_due();
  schedule_proposal();
  propose_when_due();
  calm = is_calm();
}

TimePoint Membership::Core::next_deadline() const {
  TimePoint soonest = beat_at;
  if (joining.attempt()) {
    soonest = std::min({soonest, joining.attempt()->attempt_ends, joining.attempt()->ask_at,
                        joining.attempt()->ends});
  }
  if (!active()) return soonest;
  soonest = std::min({soonest, propose_at, leave_ends});
  if (all_linked()) return soonest;
  for (const auto& [peer, member] : watched) {
    if (member.linked) continue;
    soonest = std::min(soonest, member.dial_at);
    if (!member.own) soonest = std::min(soonest, member.unlinked_since + member.patience);
  }
  return soonest;
}

Membership::Membership(MembershipOptions options, MembershipSink& sink, Rng rng)
    : core_(std::make_unique<Core>(std::move(options), sink, rng)) {}

Membership::Membership(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Membership::~Membership() = default;

void Membership::found(TimePoint now) {
  core_->now = now;
  core_->found();
  core_->settle();
}

void Membership::join(const Ticket& ticket, TimePoint now) {
  core_->now = now;
  core_->joining.join(ticket);
}

void Membership::caught_up(Round round, TimePoint now) {
  core_->now = now;
  core_->joining.caught_up(round);
}

void Membership::suspect(const PeerId& peer, const std::string& reason, TimePoint now) {
  core_->now = now;
  core_->set_suspicion(peer, SuspicionKind::kCollective, reason);
  core_->settle();
}

void Membership::overdue(const PeerId& peer, const std::string& reason, TimePoint now) {
  core_->now = now;
  core_->set_suspicion(peer, SuspicionKind::kComputing, reason);
  core_->settle();
}

void Membership::set_share_halvings(std::uint8_t halvings) {
  core_->options.share_halvings = halvings;
}

void Membership::reorder(TimePoint now) {
  core_->now = now;
  if (core_->state != MembershipState::kMember || core_->frozen || core_->view.yields_to) return;
  core_->must_change = core_->stirred = true;
  core_->settle();
}

void Membership::admit(TimePoint now) {
  if (core_->newcomers.has_ready_joiner()) reorder(now);
}

void Membership::offer_state(const Hash256& snapshot, TimePoint now) {
  core_->now = now;
  core_->meetings.offer_state(snapshot);
  core_->settle();
}

void Membership::merge_ready(const Hash256& snapshot, TimePoint now) {
  core_->now = now;
  core_->meetings.merge_ready(snapshot);
  core_->settle();
}

void Membership::drop_out(const std::string& reason, TimePoint now) {
  core_->now = now;
  if (core_->active()) core_->be_removed(reason);
}

void Membership::run_over(Round round, TimePoint serves_until, TimePoint now) {
  core_->now = now;
  if (core_->active()) core_->ending.run_over(round, serves_until);
}

void Membership::stop_serving(TimePoint now) {
  core_->now = now;
  core_->ending.stop_serving();
}

bool Membership::awaits_newcomers(TimePoint now) const {
  core_->now = now;
  return core_->ending.awaits_newcomers();
}

void Membership::leave(TimePoint now) {
  core_->now = now;
  core_->leave();
  core_->stirred = true;
  core_->settle();
}

void Membership::on_link_up(const LinkInfo& link, TimePoint now) {
  core_->now = now;
  core_->on_link_up(link);
  core_->settle();
}

void Membership::on_link_down(const PeerId& peer, const Status& why, TimePoint now) {
  core_->now = now;
  core_->on_link_down(peer, why);
  core_->settle();
}

void Membership::on_twin(const PeerId& peer, const std::string& where, TimePoint now) {
  core_->now = now;
  core_->links.on_twin(peer, where);
}

void Membership::on_frame(const PeerId& from, const FrameView& frame, TimePoint now) {
  core_->now = now;
  if (!core_->links.may_speak(from, frame)) return;
  core_->heard(from);
  if (const Status status = core_->dispatch(from, frame); !status.ok()) {
    core_->judgement.blame(from, Offence::kMalformed, status.message());
    core_->sink.close(from, status);
  }
  core_->settle();
}

void Membership::heard(const PeerId& from, TimePoint now) {
  core_->now = now;
  core_->heard(from);
}

void Membership::on_timer(TimePoint now) {
  core_->now = now;
  core_->on_timer();
  core_->settle();
}

TimePoint Membership::next_deadline() const { return core_->next_deadline(); }
MembershipState Membership::state() const { return core_->state; }
const View& Membership::view() const { return core_->view; }
bool Membership::frozen() const { return core_->frozen; }
PeerRole Membership::role(const PeerId& peer) const { return core_->role(peer); }

std::vector<MemberHealth> Membership::health(TimePoint now) const {
  std::vector<MemberHealth> all;
  for (const auto& [peer, member] : core_->watched) {
    all.push_back({peer, member.linked, core_->reporters(member) > 0 || member.gone.has_value(),
                   member.detector.silent_for(now)});
  }
  return all;
}

Ticket Membership::ticket(std::int64_t now_unix_s, Duration valid_for,
                          const InvitationId& invitation) const {
  Ticket ticket;
  ticket.run = core_->options.run;
  ticket.invitation = invitation;
  const std::int64_t valid_s = std::chrono::duration_cast<std::chrono::seconds>(valid_for).count();
  ticket.expiry_unix_s = std::min(now_unix_s + valid_s, kTicketExpiryMax);
  if (core_->keys.has_key()) {
    ticket.secret = invitation_secret(core_->options.invitation_key, ticket.run, invitation,
                                      ticket.expiry_unix_s);
  } else if (core_->joining.attempt()) {
    // A newcomer has no key yet: what it came by is what it can hand on.
    const Ticket& own = core_->joining.attempt()->ticket;
    ticket.invitation = own.invitation;
    ticket.expiry_unix_s = own.expiry_unix_s;
    ticket.secret = own.secret;
  }
  ticket.recipe = recipe_check(ticket.run, ticket.invitation, core_->options.recipe_hash);
  const std::size_t most = kTicketAddressesMax;
  if (core_->active() && !core_->options.endpoints.empty()) {
    ticket.members.push_back({core_->options.self, core_->options.endpoints});
  }
  // Of a branch that was absorbed the members of the other one are to be asked.
  for (const PeerAddress& member : core_->former.refuge()) {
    if (ticket.members.size() < most && member.id != core_->options.self) {
      ticket.members.push_back(member);
    }
  }
  if (!core_->former.refuge().empty()) return ticket;
  for (const Member& member : core_->view.members) {
    if (ticket.members.size() >= most) break;
    if (member.id == core_->options.self || member.endpoints.empty()) continue;
    ticket.members.push_back({member.id, member.endpoints});
  }
  return ticket;
}

bool Membership::stands(const Ticket& ticket, std::int64_t now_unix_s) const {
  if (!core_->keys.has_key() || ticket.run != core_->options.run) return false;
  if (now_unix_s >= ticket.expiry_unix_s) return false;
  if (core_->bans.revocations().revoked(ticket.invitation)) return false;
  return equal_constant_time(invitation_secret(core_->options.invitation_key, ticket.run,
                                               ticket.invitation, ticket.expiry_unix_s),
                             ticket.secret);
}

}  // namespace weft
