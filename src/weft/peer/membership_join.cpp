// Joining: the side that asks and the side that lets in.
#include <algorithm>

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

RunFacts Membership::Core::facts() const {
  return {options.run,    options.recipe_hash, options.layout_hash, options.invitation_key,
          options.invite, &options.allowed,    &revocations};
}

void Membership::Core::join(const Ticket& ticket) {
  WEFT_CHECK(state == MembershipState::kOutside || state == MembershipState::kRemoved);
  // A member that was removed comes back as a new life, so that no old message speaks of it.
  if (state == MembershipState::kRemoved) ++options.incarnation;
  begin_record();
  state = MembershipState::kJoining;
  stirred = true;
  attempt.emplace();
  attempt->ticket = ticket;
  for (const PeerAddress& member : ticket.members) {
    if (member.id != options.self) attempt->candidates.push_back(member);
  }
  become_past();
  attempt->ends = now + options.join_timeout;
  attempt->last = unavailable("the ticket names no member that can be asked");
  if (beat_at == kNever) beat_at = now + options.heartbeat_interval;
  if (attempt->candidates.empty()) {
    fail_join(attempt->last);
    return;
  }
  ask_next();
}

// Goes on to the next candidate, after a pause when all have been asked.
void Membership::Core::ask_next() {
  JoinAttempt& a = *attempt;
  a.asked.reset();
  a.sponsor.reset();
  a.request_sent = false;
  a.attempt_ends = kNever;
  if (a.ends == kNever) a.ends = now + options.join_timeout;
  if (a.next >= a.candidates.size()) {
    a.next = 0;
    a.ask_at = now + kAskAgain;
    return;
  }
  ask(a.candidates[a.next++]);
}

// The sponsor is lost: any other member will do, those that can be reached first.
void Membership::Core::ask_others() {
  JoinAttempt& a = *attempt;
  const PeerId lost = *a.sponsor;
  const auto before = [&](const PeerAddress& x, const PeerAddress& y) {
    if ((x.id == lost) != (y.id == lost)) return y.id == lost;
    return links.count(x.id) > links.count(y.id);
  };
  std::stable_sort(a.candidates.begin(), a.candidates.end(), before);
  a.next = 0;
  ask_next();
}

void Membership::Core::ask(const PeerAddress& member) {
  JoinAttempt& a = *attempt;
  a.asked = member.id;
  a.ask_at = kNever;
  a.request_sent = false;
  a.attempt_ends = now + options.join_attempt_timeout;
  if (links.count(member.id) != 0) {
    send_request();
  } else {
    sink.connect(member);
  }
}

void Membership::Core::send_request() {
  JoinAttempt& a = *attempt;
  const auto link = links.find(*a.asked);
  if (link == links.end()) return;
  a.request_sent = true;
  a.attempt_ends = now + options.join_attempt_timeout;
  JoinRequestMessage request;
  request.proof =
      make_proof(a.ticket, ProofPurpose::kJoin, {options.self, link->first, link->second.exporter});
  request.layout_hash = options.layout_hash;
  request.recipe_hash = options.recipe_hash;
  request.joiner =
      Member{options.self, options.incarnation, options.endpoints, options.share_halvings};
  send(link->first, frame_type::kJoinRequest, request);
}

void Membership::Core::join_timer() {
  watch_end();
  if (!attempt) return;
  if (now >= attempt->ends) {
    std::string text = "no member let this peer in within the join timeout";
    if (past && past->view.size() == 1) {
      text +=
          " (it was alone in its last view, so nobody else has its state: weft run --resume "
          "goes on from it)";
    }
    fail_join(attempt->last.with_context(text));
    return;
  }
  JoinAttempt& a = *attempt;
  if (now >= a.ask_at) {
    a.ask_at = kNever;
    if (a.asked && links.count(*a.asked) != 0) {
      send_request();
    } else {
      ask_next();
    }
  }
  if (a.asked && now >= a.attempt_ends) {
    a.last = timed_out("peer " + a.asked->short_name() + " does not answer");
    ask_next();
  }
  if (state == MembershipState::kSyncing) watch_reach();
}

void Membership::Core::fail_join(const Status& why) {
  attempt.reset();
  state = MembershipState::kOutside;
  beat_at = kNever;
  sink.on_join_failed(why);
}

// Whether the joiner has a link with each member: without it, it would be put out again.
bool Membership::Core::reaches_all() const {
  return std::all_of(attempt->known.members.begin(), attempt->known.members.end(),
                     [&](const Member& member) {
                       return member.id == options.self || links.count(member.id) != 0;
                     });
}

std::vector<Member> Membership::Core::unreached() const {
  std::vector<Member> members;
  for (const Member& member : attempt->known.members) {
    if (member.id != options.self && links.count(member.id) == 0) members.push_back(member);
  }
  return members;
}

std::string Membership::Core::unreached_text(const std::vector<Member>& members) const {
  std::string text = "no path to";
  std::size_t named = 0;
  for (const Member& member : members) {
    if (named++ == kUnreachedNamed) {
      text += " and " + std::to_string(members.size() - kUnreachedNamed) + " more";
      break;
    }
    text += (named == 1 ? " peer " : ", peer ") + member.id.short_name();
    if (!member.endpoints.empty()) text += " at " + member.endpoints.front();
    const auto why = attempt->dial_failures.find(member.id);
    if (why != attempt->dial_failures.end()) text += " (" + why->second + ")";
  }
  return text +
         "; each member needs a link with every other: open or map a port here or there, or let a "
         "member relay that both can reach";
}

// A member that nobody reaches is soon out of the view. One that only this joiner cannot reach
// stays, and the joiner takes the place of another newcomer: so it does not wait for ever.
void Membership::Core::watch_reach() {
  JoinAttempt& a = *attempt;
  if (reaches_all()) {
    a.unreached_since.reset();
    a.unreached_told = false;
    a.dial_failures.clear();
    return;
  }
  if (!a.unreached_since) a.unreached_since = now;
  const Duration waited = now - *a.unreached_since;
  if (a.caught_up && waited >= options.unreached_timeout) {
    fail_join(unavailable("not let in: " + unreached_text(unreached())));
  } else if (!a.unreached_told && waited >= options.bad_link_timeout) {
    a.unreached_told = true;
    const std::vector<Member> missing = unreached();
    sink.on_unreached(missing, unreached_text(missing));
  }
}

void Membership::Core::dial_known() {
  for (const Member& member : attempt->known.members) {
    if (member.id == options.self || links.count(member.id) != 0) continue;
    sink.connect({member.id, member.endpoints});
  }
}

void Membership::Core::admit_again() {
  if (!attempt || state != MembershipState::kSyncing || attempt->over) return;
  if (!attempt->sponsor || !attempt->caught_up || !reaches_all()) return;
  const AdmitRequestMessage request{options.incarnation, *attempt->caught_up};
  for (const Member& member : attempt->known.members) {
    if (links.count(member.id) == 0) continue;
    // One that has not heard of this joiner takes it for a stranger, who may not say much.
    const auto [asked, first] = attempt->admission_asked.try_emplace(member.id, now);
    if (!first && now - asked->second < kAdmissionGap) continue;
    asked->second = now;
    send(member.id, frame_type::kAdmitRequest, request);
  }
}

void Membership::Core::on_accepted_join(const PeerId& from, const JoinAcceptedMessage& message) {
  if (!attempt || attempt->asked != from || !attempt->request_sent) return;
  const ViewNoticeMessage& current = message.current;
  if (next_view_id(options.run, current.previous, current.value) != current.view) {
    sink.close(from, corrupt("join accepted: the view's hash does not match its members"));
    return;
  }
  JoinAttempt& a = *attempt;
  state = MembershipState::kSyncing;
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
    if (member.id != options.self) a.candidates.push_back({member.id, member.endpoints});
  }
  dial_known();
  a.next = 0;
  // It knows of no earlier request to be admitted, and the others may have dropped theirs.
  a.admission_asked.clear();
  const View known = a.known;
  sink.on_join_accepted(known, from);
  admit_again();
}

// The sponsor has forgotten this joiner.
void Membership::Core::ask_sponsor_again() {
  JoinAttempt& a = *attempt;
  const Member* known = a.known.find(*a.sponsor);
  if (known == nullptr) {
    ask_others();
    return;
  }
  a.sponsor.reset();
  a.ends = now + options.join_timeout;
  ask({known->id, known->endpoints});
}

void Membership::Core::on_refused_join(const PeerId& from, const JoinRefusedMessage& message) {
  if (message.code == RefusalCode::kTwin && active()) return hear_of_own_twin(from, message.reason);
  if (message.code == RefusalCode::kQueued && is_other_member(from)) others_waited_at = now;
  if (!attempt) return;
  JoinAttempt& a = *attempt;
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
    a.ask_at = now + std::clamp<Duration>(std::chrono::milliseconds(message.retry_after_ms),
                                          std::chrono::milliseconds(50), std::chrono::seconds(5));
  } else {
    // Those that wait for a quorum may wait for this very peer.
    const bool may_help = past && past->view.size() > 1;
    if (message.code == RefusalCode::kNoQuorum && may_help) wait_on(a.last.message());
    ask_next();
  }
}

void Membership::Core::know_view(const ViewNoticeMessage& message) {
  if (!attempt) return;
  JoinAttempt& a = *attempt;
  const bool same_branch = a.known.lineage.branch() == message.value.lineage.branch();
  if (same_branch && message.view <= a.known.id) return;
  if (a.known.lineage != message.value.lineage) a.caught_up.reset();
  a.known = view_of(message);
  a.candidates.clear();
  a.next = 0;
  for (const Member& member : a.known.members) {
    if (member.id != options.self) a.candidates.push_back({member.id, member.endpoints});
  }
  dial_known();
  const View known = a.known;
  sink.on_view_ahead(known);
  // Perhaps it was a member that is gone now that kept this one from asking.
  admit_again();
}

void Membership::Core::refuse(const PeerId& peer, const JoinRefusedMessage& why) {
  JoinRefusedMessage message = why;
  if (message.reason.size() > kRefusalBytesMax) message.reason.resize(kRefusalBytesMax);
  send(peer, frame_type::kJoinRefused, message);
  if (final_refusal(why.code)) sink.on_refused(peer, invalid_argument(why.reason));
  if (why.code == RefusalCode::kBadProof) blame(peer, Offence::kRefusedProof, why.reason);
}

void Membership::Core::on_recipe_request(const PeerId& from, const RecipeRequestMessage& message) {
  if (!active()) {
    refuse(from, {RefusalCode::kNotMember, 0, "the asked peer is no member itself"});
    return;
  }
  if (lacks_key(from)) return;
  if (const auto successor = successor_for(from, message.proof)) {
    accept_ticket(from);
    send(from, frame_type::kRecipe, RecipeMessage{options.recipe_text, successor});
    return;
  }
  const ProofLink link{from, options.self, links.at(from).exporter};
  if (const auto why =
          refuse_proof(facts(), message.proof, ProofPurpose::kRecipe, link, sink.unix_time_s())) {
    refuse(from, *why);
    return;
  }
  accept_ticket(from);
  if (answer_over(from)) return;
  expect(from, message.proof.invitation);
  send(from, frame_type::kRecipe, RecipeMessage{options.recipe_text, std::nullopt});
}

// Reasons that pass, or that lie with this member.
std::optional<JoinRefusedMessage> Membership::Core::refuse_now(const JoinRequestMessage& request) {
  const PeerId& peer = request.joiner.id;
  if (state == MembershipState::kIsolated) {
    mark_restarted(peer, request.joiner.incarnation);
    return JoinRefusedMessage{
        RefusalCode::kNoQuorum, 0,
        "the asked member has no quorum at present: " + std::to_string(reachable()) + " of " +
            std::to_string(view.size()) + " members are here, " + std::to_string(view.quorum()) +
            " are needed"};
  }
  if (const Member* member = view.find(peer)) {
    if (request.joiner.incarnation <= member->incarnation) {
      return try_again("a process with this identity is a member already");
    }
    mark_restarted(peer, request.joiner.incarnation);
    return try_again("the members are agreeing that the earlier process is gone");
  }
  if (view.members.size() + joiners.size() >= kMembersMax) {
    return JoinRefusedMessage{RefusalCode::kFull, 0, "the run has as many members as it can"};
  }
  return queue_up(peer);
}

void Membership::Core::on_join_request(const PeerId& from, const JoinRequestMessage& message) {
  if (!active()) {
    refuse(from, {RefusalCode::kNotMember, 0, "the asked peer is no member itself"});
    return;
  }
  if (lacks_key(from)) return;
  const ProofLink link{from, options.self, links.at(from).exporter};
  auto why = refuse_join(facts(), message, link, sink.unix_time_s());
  if (!why) {
    // Whoever holds a ticket may ask again as often as it is told to.
    accept_ticket(from);
    if (answer_over(from)) return;
    if (!ended) why = refuse_now(message);
    if (why && why->retry_after_ms > 0) expect(from, message.proof.invitation);
  }
  if (why) {
    refuse(from, *why);
    return;
  }
  meet_expected(from, &message.proof.invitation);
  waiting.erase(from);
  const Joiner joiner{message.joiner,           options.self, now, now, true, false,
                      message.proof.invitation, now,          now, 0};
  joiners.insert_or_assign(from, joiner);
  tell_trust(from);
  tell_joiner(joiner, true);
  send(from, frame_type::kJoinAccepted, JoinAcceptedMessage{notice});
  tell_revocations(from);
  tell_former(from);
  tell_over(from);
  sink.on_joiner(joiner.member);
}

void Membership::Core::on_admit_request(const PeerId& from, const AdmitRequestMessage& message) {
  if (!active()) return;
  if (view.contains(from)) {
    tell_current(from);
    return;
  }
  if (ended) {
    tell_over(from);
    return;
  }
  const auto found = joiners.find(from);
  if (found == joiners.end() || found->second.member.incarnation != message.incarnation) {
    if (!may_tell_outsider(from)) return;
    // Its sponsor's word may still be under way; only the sponsor's refusal counts.
    send(from, frame_type::kJoinRefused,
         JoinRefusedMessage{RefusalCode::kUnknownJoiner, 0, "prove the ticket again"});
    return;
  }
  if (!found->second.ready) stirred = true;
  found->second.ready = true;
}

// A member has let somebody in, or given it up.
void Membership::Core::on_joiner(const PeerId& from, const JoinerMessage& message) {
  if (!active() || !view.contains(from) || view.contains(message.joiner.id)) return;
  const PeerId& peer = message.joiner.id;
  const auto found = joiners.find(peer);
  if (!message.present) {
    if (found == joiners.end() || found->second.sponsor != from) return;
    joiners.erase(found);
    tell_trust(peer);
    sink.on_joiner_gone(peer, unavailable("its sponsor lost it"));
    return;
  }
  if (found == joiners.end() && joiners.size() >= kMembersMax) return;
  if (revocations.ban_reason(peer) != nullptr) {
    // Its sponsor has missed that.
    tell_revocations(from);
    return;
  }
  const bool linked = links.count(peer) != 0;
  if (found != joiners.end() && found->second.sponsor == from &&
      found->second.member.incarnation == message.joiner.incarnation) {
    return;  // told again
  }
  // One that has lost its sponsor and found another one is no less ready for that.
  const bool ready = found != joiners.end() && found->second.ready &&
                     found->second.member.incarnation == message.joiner.incarnation;
  joiners.insert_or_assign(peer,
                           Joiner{message.joiner, from, now, now, linked, ready, {}, now, now, 0});
  tell_trust(peer);
  meet_expected(peer, nullptr);
  tell_over(peer);
  sink.on_joiner(message.joiner);
}

void Membership::Core::tell_joiner(const Joiner& joiner, bool present) {
  for (const auto& [peer, member] : watched) {
    if (member.linked) send(peer, frame_type::kJoiner, JoinerMessage{joiner.member, present});
  }
}

// Whoever became a member after the joiner was let in has not heard of it.
void Membership::Core::retell_joiners() {
  for (const auto& [peer, joiner] : joiners) {
    if (joiner.sponsor == options.self) tell_joiner(joiner, true);
  }
}

// Newcomers that this member has let in look for one that can have them admitted.
void Membership::Core::send_joiners_away() {
  for (const auto& [peer, joiner] : joiners) {
    if (joiner.sponsor != options.self) continue;
    refuse(peer, {RefusalCode::kNotMember, 0, "its sponsor has no quorum at present"});
  }
}

}  // namespace weft
