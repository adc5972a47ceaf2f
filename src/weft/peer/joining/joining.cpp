// A newcomer: whom it asks to let it in, and what it makes of the answers.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/base/check.h"
#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// A refused or failed round of attempts is followed by a pause of this.
constexpr Duration kAskAgain = std::chrono::milliseconds(500);

}  // namespace

void Joining::join(const Ticket& ticket) {
  WEFT_CHECK(core_.state == MembershipState::kOutside || core_.state == MembershipState::kRemoved);
  // A member that was removed joins again with a new incarnation, so that no old message is about
  // it.
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
    return core_.links.on_own_twin(from, message.reason);
  if (message.code == RefusalCode::kQueued && core_.is_other_member(from))
    core_.newcomers.note_queue_elsewhere();
  if (!state_.attempt) return;
  JoinAttempt& a = *state_.attempt;
  if (message.code == RefusalCode::kUnknownJoiner && a.sponsor == from) {
    ask_sponsor_again();
    return;
  }
  // It is cut off from a quorum: as long as that lasts it accepts no newcomer.
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

void Joining::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
