// Joining: the side that asks and the side that lets in.
#include <algorithm>
#include <utility>

#include "weft/base/check.h"
#include "weft/peer/membership_core.h"

namespace weft {
namespace {

// A refused or failed round of attempts is followed by a pause of this.
constexpr Duration kAskAgain = std::chrono::milliseconds(500);
constexpr std::uint32_t kTryAgainMs = 300;
// Between two requests of a joiner to be admitted, to the same member.
constexpr Duration kAdmissionGap = std::chrono::milliseconds(1500);
// Of many members that cannot be reached.
constexpr std::size_t kUnreachedNamed = 4;

JoinRefusedMessage try_again(std::string reason) {
  return {RefusalCode::kTryAgain, kTryAgainMs, std::move(reason)};
}

}  // namespace

RunFacts KeyHolders::facts() const {
  return {core_.options.run,         core_.options.recipe_hash,
          core_.options.layout_hash, core_.options.invitation_key,
          core_.options.invite,      &core_.options.allowed,
          &core_.bans.revocations()};
}

void Joining::join(const Ticket& ticket) {
  WEFT_CHECK(core_.state == MembershipState::kOutside || core_.state == MembershipState::kRemoved);
  // A member that was removed comes back as a new life, so that no old message speaks of it.
  if (core_.state == MembershipState::kRemoved) ++core_.options.incarnation;
  core_.records.begin_record();
  core_.state = MembershipState::kJoining;
  core_.stirred = true;
  state_.attempt.emplace();
  state_.attempt->ticket = ticket;
  for (const PeerAddress& member : ticket.members) {
    if (member.id != core_.options.self) state_.attempt->candidates.push_back(member);
  }
  core_.past.become_past();
  state_.attempt->ends = core_.now + core_.options.join_timeout;
  state_.attempt->last = unavailable("the ticket names no member that can be asked");
  if (core_.beat_at == kNever) core_.beat_at = core_.now + core_.options.heartbeat_interval;
  if (state_.attempt->candidates.empty()) {
    fail_join(state_.attempt->last);
    return;
  }
  ask_next();
}

bool Joining::has_sponsor(const PeerId& peer) const {
  return core_.state == MembershipState::kSyncing && state_.attempt &&
         state_.attempt->sponsor == peer;
}

void Joining::add_candidate(PeerAddress member) {
  std::vector<PeerAddress>& known = state_.attempt->candidates;
  const bool listed = std::any_of(known.begin(), known.end(), [&](const PeerAddress& address) {
    return address.id == member.id;
  });
  if (!listed) known.push_back(std::move(member));
}

void Joining::caught_up(Round round) {
  if (state_.attempt) state_.attempt->caught_up = round;
  admit_again();
}

void Joining::on_link_up(const PeerId& peer) {
  if (state_.attempt) state_.attempt->deserted.erase(peer);
}

void Joining::on_link_down(const PeerId& peer, const Status& why) {
  if (!state_.attempt) return;
  note_dial(peer, why);
  state_.attempt->admission_asked.erase(peer);
  if (state_.attempt->known.contains(peer)) {
    state_.attempt->dial_failures[peer] = std::string(why.message()).substr(0, kReasonBytesMax);
  }
}

void Joining::go_on_without(const PeerId& peer, const Status& why) {
  if (!state_.attempt) return;
  JoinAttempt& a = *state_.attempt;
  if (a.asked == peer && why.code() == Code::kAborted) {
    // Another process has this peer's identity: no member will take both.
    fail_join(invalid_argument(why.message()));
  } else if (a.asked == peer) {
    a.last = why;
    ask_next();
  } else if (a.sponsor == peer && !a.asked) {
    ask_others();
  }
}

// Goes on to the next candidate, after a pause when all have been asked.
void Joining::ask_next() {
  JoinAttempt& a = *state_.attempt;
  a.asked.reset();
  a.sponsor.reset();
  a.request_sent = false;
  a.attempt_ends = kNever;
  if (a.ends == kNever) a.ends = core_.now + core_.options.join_timeout;
  if (a.next >= a.candidates.size()) {
    a.next = 0;
    a.ask_at = core_.now + kAskAgain;
    return;
  }
  ask(a.candidates[a.next++]);
}

// The sponsor is lost: any other member will do, those that can be reached first.
void Joining::ask_others() {
  JoinAttempt& a = *state_.attempt;
  const PeerId lost = *a.sponsor;
  const auto before = [&](const PeerAddress& x, const PeerAddress& y) {
    if ((x.id == lost) != (y.id == lost)) return y.id == lost;
    return core_.links.all().count(x.id) > core_.links.all().count(y.id);
  };
  std::stable_sort(a.candidates.begin(), a.candidates.end(), before);
  a.next = 0;
  ask_next();
}

void Joining::ask(const PeerAddress& member) {
  JoinAttempt& a = *state_.attempt;
  a.asked = member.id;
  a.ask_at = kNever;
  a.request_sent = false;
  a.attempt_ends = core_.now + core_.options.join_attempt_timeout;
  if (core_.links.up(member.id)) {
    send_request();
  } else {
    core_.sink.connect(member);
  }
}

void Joining::send_request() {
  JoinAttempt& a = *state_.attempt;
  const auto link = core_.links.all().find(*a.asked);
  if (link == core_.links.all().end()) return;
  a.request_sent = true;
  a.attempt_ends = core_.now + core_.options.join_attempt_timeout;
  JoinRequestMessage request;
  request.proof = make_proof(a.ticket, ProofPurpose::kJoin,
                             {core_.options.self, link->first, link->second.exporter});
  request.layout_hash = core_.options.layout_hash;
  request.recipe_hash = core_.options.recipe_hash;
  request.joiner = Member{core_.options.self, core_.options.incarnation, core_.options.endpoints,
                          core_.options.share_halvings};
  core_.send(link->first, frame_type::kJoinRequest, request);
}

void Joining::join_timer() {
  watch_end();
  if (!state_.attempt) return;
  if (core_.now >= state_.attempt->ends) {
    std::string text = "no member let this peer in within the join timeout";
    if (core_.past.life() && core_.past.life()->view.size() == 1) {
      text +=
          " (it was alone in its last view, so nobody else has its state: weft run --resume "
          "goes on from it)";
    }
    fail_join(state_.attempt->last.with_context(text));
    return;
  }
  JoinAttempt& a = *state_.attempt;
  if (core_.now >= a.ask_at) {
    a.ask_at = kNever;
    if (a.asked && core_.links.up(*a.asked)) {
      send_request();
    } else {
      ask_next();
    }
  }
  if (a.asked && core_.now >= a.attempt_ends) {
    a.last = timed_out("peer " + a.asked->short_name() + " does not answer");
    ask_next();
  }
  if (core_.state == MembershipState::kSyncing) watch_reach();
}

void Joining::fail_join(const Status& why) {
  state_.attempt.reset();
  core_.state = MembershipState::kOutside;
  core_.beat_at = kNever;
  core_.sink.on_join_failed(why);
}

// Whether the joiner has a link with each member: without it, it would be put out again.
bool Joining::reaches_all() const {
  return std::all_of(state_.attempt->known.members.begin(), state_.attempt->known.members.end(),
                     [&](const Member& member) {
                       return member.id == core_.options.self || core_.links.up(member.id);
                     });
}

std::vector<Member> Joining::unreached() const {
  std::vector<Member> members;
  for (const Member& member : state_.attempt->known.members) {
    if (member.id != core_.options.self && !core_.links.up(member.id)) members.push_back(member);
  }
  return members;
}

std::string Joining::unreached_text(const std::vector<Member>& members) const {
  std::string text = "no path to";
  std::size_t named = 0;
  for (const Member& member : members) {
    if (named++ == kUnreachedNamed) {
      text += " and " + std::to_string(members.size() - kUnreachedNamed) + " more";
      break;
    }
    text += (named == 1 ? " peer " : ", peer ") + member.id.short_name();
    if (!member.endpoints.empty()) text += " at " + member.endpoints.front();
    const auto why = state_.attempt->dial_failures.find(member.id);
    if (why != state_.attempt->dial_failures.end()) text += " (" + why->second + ")";
  }
  return text +
         "; each member needs a link with every other: open or map a port here or there, or let a "
         "member relay that both can reach";
}

// A member that nobody reaches is soon out of the view. One that only this joiner cannot reach
// stays, and the joiner takes the place of another newcomer: so it does not wait for ever.
void Joining::watch_reach() {
  JoinAttempt& a = *state_.attempt;
  if (reaches_all()) {
    a.unreached_since.reset();
    a.unreached_told = false;
    a.dial_failures.clear();
    return;
  }
  if (!a.unreached_since) a.unreached_since = core_.now;
  const Duration waited = core_.now - *a.unreached_since;
  if (a.caught_up && waited >= core_.options.unreached_timeout) {
    fail_join(unavailable("not let in: " + unreached_text(unreached())));
  } else if (!a.unreached_told && waited >= core_.options.bad_link_timeout) {
    a.unreached_told = true;
    const std::vector<Member> missing = unreached();
    core_.sink.on_unreached(missing, unreached_text(missing));
  }
}

void Joining::dial_known() {
  for (const Member& member : state_.attempt->known.members) {
    if (member.id == core_.options.self || core_.links.up(member.id)) continue;
    core_.sink.connect({member.id, member.endpoints});
  }
}

void Joining::admit_again() {
  if (!state_.attempt || core_.state != MembershipState::kSyncing || state_.attempt->over) return;
  if (!state_.attempt->sponsor || !state_.attempt->caught_up || !reaches_all()) return;
  const AdmitRequestMessage request{core_.options.incarnation, *state_.attempt->caught_up};
  for (const Member& member : state_.attempt->known.members) {
    if (!core_.links.up(member.id)) continue;
    // One that has not heard of this joiner takes it for a stranger, who may not say much.
    const auto [asked, first] = state_.attempt->admission_asked.try_emplace(member.id, core_.now);
    if (!first && core_.now - asked->second < kAdmissionGap) continue;
    asked->second = core_.now;
    core_.send(member.id, frame_type::kAdmitRequest, request);
  }
}

void Joining::on_accepted_join(const PeerId& from, const JoinAcceptedMessage& message) {
  if (!state_.attempt || state_.attempt->asked != from || !state_.attempt->request_sent) return;
  const ViewNoticeMessage& current = message.current;
  if (next_view_id(core_.options.run, current.previous, current.value) != current.view) {
    core_.sink.close(from, corrupt("join accepted: the view's hash does not match its members"));
    return;
  }
  JoinAttempt& a = *state_.attempt;
  core_.state = MembershipState::kSyncing;
  a.sponsor = from;
  a.queued = false;
  a.asked.reset();
  a.attempt_ends = a.ask_at = a.ends = kNever;
  // The member may have come to another branch since it was asked first.
  if (a.known.lineage.branch() != current.value.lineage.branch() || a.known.id < current.view) {
    if (a.known.lineage != current.value.lineage) a.caught_up.reset();
    a.known = view_of(current);
  }
  // Whoever loses its sponsor asks the members, not the ticket, which may be old.
  a.candidates.clear();
  for (const Member& member : a.known.members) {
    if (member.id != core_.options.self) a.candidates.push_back({member.id, member.endpoints});
  }
  dial_known();
  a.next = 0;
  // It knows of no earlier request to be admitted, and the others may have dropped theirs.
  a.admission_asked.clear();
  const View known = a.known;
  core_.sink.on_join_accepted(known, from);
  admit_again();
}

// The sponsor has forgotten this joiner.
void Joining::ask_sponsor_again() {
  JoinAttempt& a = *state_.attempt;
  const Member* known = a.known.find(*a.sponsor);
  if (known == nullptr) {
    ask_others();
    return;
  }
  a.sponsor.reset();
  a.ends = core_.now + core_.options.join_timeout;
  ask({known->id, known->endpoints});
}

void Joining::on_refused_join(const PeerId& from, const JoinRefusedMessage& message) {
  if (message.code == RefusalCode::kTwin && core_.active())
    return core_.links.hear_of_own_twin(from, message.reason);
  if (message.code == RefusalCode::kQueued && core_.is_other_member(from))
    core_.newcomers.note_queue_elsewhere();
  if (!state_.attempt) return;
  JoinAttempt& a = *state_.attempt;
  if (message.code == RefusalCode::kUnknownJoiner && a.sponsor == from) {
    ask_sponsor_again();
    return;
  }
  // It is cut off from a quorum: as long as that lasts it lets nobody in.
  if (message.code == RefusalCode::kNotMember && has_sponsor(from)) {
    ask_others();
    return;
  }
  if (a.asked != from) return;
  a.last = unavailable("peer " + from.short_name() + " refused: " + message.reason);
  if (final_refusal(message.code)) {
    fail_join(invalid_argument("peer " + from.short_name() + " refused: " + message.reason));
  } else if (message.code == RefusalCode::kTryAgain || message.code == RefusalCode::kQueued) {
    a.queued = message.code == RefusalCode::kQueued;
    if (a.queued) wait_on(a.last.message());
    a.attempt_ends = kNever;
    a.ask_at =
        core_.now + std::clamp<Duration>(std::chrono::milliseconds(message.retry_after_ms),
                                         std::chrono::milliseconds(50), std::chrono::seconds(5));
  } else {
    // Those that wait for a quorum may wait for this very peer.
    const bool may_help = core_.past.life() && core_.past.life()->view.size() > 1;
    if (message.code == RefusalCode::kNoQuorum && may_help) wait_on(a.last.message());
    ask_next();
  }
}

void Joining::know_view(const ViewNoticeMessage& message) {
  if (!state_.attempt) return;
  JoinAttempt& a = *state_.attempt;
  const bool same_branch = a.known.lineage.branch() == message.value.lineage.branch();
  if (same_branch && message.view <= a.known.id) return;
  if (a.known.lineage != message.value.lineage) a.caught_up.reset();
  a.known = view_of(message);
  a.candidates.clear();
  a.next = 0;
  for (const Member& member : a.known.members) {
    if (member.id != core_.options.self) a.candidates.push_back({member.id, member.endpoints});
  }
  dial_known();
  const View known = a.known;
  core_.sink.on_view_ahead(known);
  // Perhaps it was a member that is gone now that kept this one from asking.
  admit_again();
}

void NewcomerList::refuse(const PeerId& peer, const JoinRefusedMessage& why) {
  JoinRefusedMessage message = why;
  if (message.reason.size() > kRefusalBytesMax) message.reason.resize(kRefusalBytesMax);
  core_.send(peer, frame_type::kJoinRefused, message);
  if (final_refusal(why.code)) core_.sink.on_refused(peer, invalid_argument(why.reason));
  if (why.code == RefusalCode::kBadProof)
    core_.judgement.blame(peer, Offence::kRefusedProof, why.reason);
}

void NewcomerList::on_recipe_request(const PeerId& from, const RecipeRequestMessage& message) {
  if (!core_.active()) {
    refuse(from, {RefusalCode::kNotMember, 0, "the asked peer is no member itself"});
    return;
  }
  if (core_.keys.lacks_key(from)) return;
  if (const auto successor = core_.keys.successor_for(from, message.proof)) {
    core_.links.accept_ticket(from);
    core_.send(from, frame_type::kRecipe, RecipeMessage{core_.options.recipe_text, successor});
    return;
  }
  const ProofLink link{from, core_.options.self, core_.links.all().at(from).exporter};
  if (const auto why = refuse_proof(core_.keys.facts(), message.proof, ProofPurpose::kRecipe, link,
                                    core_.sink.unix_time_s())) {
    refuse(from, *why);
    return;
  }
  core_.links.accept_ticket(from);
  if (core_.ending.answer_over(from)) return;
  core_.ending.expect(from, message.proof.invitation);
  core_.send(from, frame_type::kRecipe, RecipeMessage{core_.options.recipe_text, std::nullopt});
}

// Reasons that pass, or that lie with this member.
std::optional<JoinRefusedMessage> NewcomerList::refuse_now(const JoinRequestMessage& request) {
  const PeerId& peer = request.joiner.id;
  if (core_.state == MembershipState::kIsolated) {
    core_.mark_restarted(peer, request.joiner.incarnation);
    return JoinRefusedMessage{
        RefusalCode::kNoQuorum, 0,
        "the asked member has no quorum at present: " + std::to_string(core_.reachable()) + " of " +
            std::to_string(core_.view.size()) + " members are here, " +
            std::to_string(core_.view.quorum()) + " are needed"};
  }
  if (const Member* member = core_.view.find(peer)) {
    if (request.joiner.incarnation <= member->incarnation) {
      return try_again("a process with this identity is a member already");
    }
    core_.mark_restarted(peer, request.joiner.incarnation);
    return try_again("the members are agreeing that the earlier process is gone");
  }
  if (core_.view.members.size() + state_.joiners.size() >= kMembersMax) {
    return JoinRefusedMessage{RefusalCode::kFull, 0, "the run has as many members as it can"};
  }
  return queue_up(peer);
}

void NewcomerList::on_join_request(const PeerId& from, const JoinRequestMessage& message) {
  if (!core_.active()) {
    refuse(from, {RefusalCode::kNotMember, 0, "the asked peer is no member itself"});
    return;
  }
  if (core_.keys.lacks_key(from)) return;
  const ProofLink link{from, core_.options.self, core_.links.all().at(from).exporter};
  auto why = refuse_join(core_.keys.facts(), message, link, core_.sink.unix_time_s());
  if (!why) {
    // Whoever holds a ticket may ask again as often as it is told to.
    core_.links.accept_ticket(from);
    if (core_.ending.answer_over(from)) return;
    if (!core_.ending.ended()) why = refuse_now(message);
    if (why && why->retry_after_ms > 0) core_.ending.expect(from, message.proof.invitation);
  }
  if (why) {
    refuse(from, *why);
    return;
  }
  core_.ending.meet_expected(from, &message.proof.invitation);
  state_.waiting.erase(from);
  const Joiner joiner{message.joiner, core_.options.self,       core_.now, core_.now, true,
                      false,          message.proof.invitation, core_.now, core_.now, 0};
  state_.joiners.insert_or_assign(from, joiner);
  core_.links.tell_trust(from);
  tell_joiner(joiner, true);
  core_.send(from, frame_type::kJoinAccepted, JoinAcceptedMessage{core_.notice});
  core_.bans.tell_revocations(from);
  core_.former.tell_former(from);
  core_.ending.tell_over(from);
  core_.sink.on_joiner(joiner.member);
}

void NewcomerList::on_admit_request(const PeerId& from, const AdmitRequestMessage& message) {
  if (!core_.active()) return;
  if (core_.view.contains(from)) {
    core_.tell_current(from);
    return;
  }
  if (core_.ending.ended()) {
    core_.ending.tell_over(from);
    return;
  }
  const auto found = state_.joiners.find(from);
  if (found == state_.joiners.end() || found->second.member.incarnation != message.incarnation) {
    if (!core_.links.may_tell_outsider(from)) return;
    // Its sponsor's word may still be under way; only the sponsor's refusal counts.
    core_.send(from, frame_type::kJoinRefused,
               JoinRefusedMessage{RefusalCode::kUnknownJoiner, 0, "prove the ticket again"});
    return;
  }
  if (!found->second.ready) core_.stirred = true;
  found->second.ready = true;
}

// A member has let somebody in, or given it up.
void NewcomerList::on_joiner(const PeerId& from, const JoinerMessage& message) {
  if (!core_.active() || !core_.view.contains(from) || core_.view.contains(message.joiner.id))
    return;
  const PeerId& peer = message.joiner.id;
  const auto found = state_.joiners.find(peer);
  if (!message.present) {
    if (found == state_.joiners.end() || found->second.sponsor != from) return;
    state_.joiners.erase(found);
    core_.links.tell_trust(peer);
    core_.sink.on_joiner_gone(peer, unavailable("its sponsor lost it"));
    return;
  }
  if (found == state_.joiners.end() && state_.joiners.size() >= kMembersMax) return;
  if (core_.bans.revocations().ban_reason(peer) != nullptr) {
    // Its sponsor has missed that.
    core_.bans.tell_revocations(from);
    return;
  }
  const bool linked = core_.links.up(peer);
  if (found != state_.joiners.end() && found->second.sponsor == from &&
      found->second.member.incarnation == message.joiner.incarnation) {
    return;  // told again
  }
  // One that has lost its sponsor and found another one is no less ready for that.
  const bool ready = found != state_.joiners.end() && found->second.ready &&
                     found->second.member.incarnation == message.joiner.incarnation;
  state_.joiners.insert_or_assign(
      peer,
      Joiner{
          message.joiner, from, core_.now, core_.now, linked, ready, {}, core_.now, core_.now, 0});
  core_.links.tell_trust(peer);
  core_.ending.meet_expected(peer, nullptr);
  core_.ending.tell_over(peer);
  core_.sink.on_joiner(message.joiner);
}

void NewcomerList::tell_joiner(const Joiner& joiner, bool present) {
  for (const auto& [peer, member] : core_.watched) {
    if (member.linked) core_.send(peer, frame_type::kJoiner, JoinerMessage{joiner.member, present});
  }
}

// Whoever became a member after the joiner was let in has not heard of it.
void NewcomerList::retell_joiners() {
  for (const auto& [peer, joiner] : state_.joiners) {
    if (joiner.sponsor == core_.options.self) tell_joiner(joiner, true);
  }
}

// Newcomers that this member has let in look for one that can have them admitted.
void NewcomerList::send_joiners_away() {
  for (const auto& [peer, joiner] : state_.joiners) {
    if (joiner.sponsor != core_.options.self) continue;
    refuse(peer, {RefusalCode::kNotMember, 0, "its sponsor has no quorum at present"});
  }
}

}  // namespace weft
