// Whose word is believed that the run has gone on in a later view.
//
// The view that follows this one right away is believed of any member of this one if this peer has
// accepted that value, or would (membership_proposal.cpp). Of anything else, and of being out of a
// later view, two members of this view must speak, or one where no other can be asked; what the
// second of them says is believed, so that one alone can make up no number.
// Anybody else's word is a hint: the members are asked, by a heartbeat, which whoever is ahead
// answers with its view.
//
// All members of this view may be gone while the run lives on in others. A peer that has had no
// quorum for twice `quorum_timeout`, and is told of a later view by somebody who shows that it has
// the run's present key, therefore goes and asks to be let in as a newcomer, there and at the
// members that it knew. It takes nothing over from that word, least of all a view.
#include <algorithm>

#include "weft/peer/membership_core.h"

namespace weft {
namespace {

// The members are not asked more often than once in so many heartbeat intervals.
constexpr int kBeatsPerAsking = 4;
// What was said longer ago, in quorum_timeout, counts no more.
constexpr int kClaimLife = 2;
constexpr Duration kTwinGap = std::chrono::seconds(60);

bool holds(const std::vector<Member>& members, const PeerId& peer) {
  return std::any_of(members.begin(), members.end(),
                     [&](const Member& member) { return member.id == peer; });
}

}  // namespace

// Whether `peer` is a member in the value that this peer has accepted: it may have become one, and
// those who told it so may be gone.
bool Membership::Core::has_accepted(const PeerId& peer) const {
  return agreement && agreement->accepted() && holds(agreement->accepted()->value.members, peer);
}

// Whether `peer`, no member of this view, was one that this peer knew of, or is one of a branch
// that it has met.
bool Membership::Core::has_met(const PeerId& peer) const {
  if (revocations.ban_reason(peer) != nullptr) return false;
  const auto gone = departed.find(peer);
  return former.count(peer) != 0 || in_meeting(peer) ||
         (gone != departed.end() && gone->second.cause != DepartureCause::kExpelled);
}

// Whether it tells of just what this peer has voted for: then a newcomer in it may say so, too.
bool Membership::Core::is_accepted_value(const ViewNoticeMessage& message) const {
  return message.previous == view.id && agreement && agreement->accepted() &&
         agreement->accepted()->value == message.value;
}

bool Membership::Core::may_tell_newcomer(const PeerId& from) const {
  return attempt && (attempt->known.contains(from) || attempt->sponsor == from);
}

bool Membership::Core::includes_us(const ViewNoticeMessage& message) const {
  const std::vector<Member>& members = message.value.members;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.id == options.self && member.incarnation == options.incarnation;
  });
}

// Other branches are met, not followed, but for one that begins right here, with this peer's word.
bool Membership::Core::concerns_us(const ViewNoticeMessage& message, bool included) const {
  const Lineage& theirs = message.value.lineage;
  if (theirs.branch() == view.lineage.branch()) return true;
  return retired && included && theirs.points.size() == view.lineage.points.size() + 1 &&
         theirs.points.back().from == view.id;
}

void Membership::Core::on_notice(const PeerId& from, const ViewNoticeMessage& message) {
  if (past) follow_as_past(from, message);
  if (next_view_id(options.run, message.previous, message.value) != message.view) {
    sink.close(from, corrupt("view notice: the view's hash does not match its members"));
    return;
  }
  const bool included = includes_us(message);
  if (state == MembershipState::kSyncing) {
    if (!may_tell_newcomer(from)) return;
    if (included) {
      install(message);
    } else {
      know_view(message);
    }
    return;
  }
  if (!active() || message.view <= view.id || !concerns_us(message, included)) return;
  if (from == options.self || believes_next(from, message) ||
      (has_accepted(from) && is_accepted_value(message))) {
    take_notice(message);
  } else if (is_other_member(from)) {
    claim_view(from, {message.view, now, message, {}});
  } else {
    hear_of_view(from);
  }
}

void Membership::Core::on_removed(const PeerId& from, const RemovedMessage& message) {
  if (has_sponsor(from)) ask_sponsor_again();
  if (!active() || message.view <= view.id) return;
  // Where there may be branches, who is out learns it from a notice, which names its branch.
  if (is_other_member(from) && !merges()) {
    claim_view(from, {message.view, now, std::nullopt, message.reason});
  } else {
    hear_of_view(from);
  }
}

void Membership::Core::take_notice(const ViewNoticeMessage& message) {
  const ViewValue& value = message.value;
  const bool same_branch = value.lineage.branch() == view.lineage.branch();
  if (includes_us(message)) {
    // It was lied to, or the others were; its state is none that a member of that view can have.
    if (same_branch && value.base_round < committed_here()) {
      be_removed("a view begins below what is committed here");
      return;
    }
    install(message);
    return;
  }
  std::string reason = "the others went on without it";
  for (const Departure& departure : message.value.departures) {
    if (departure.id == options.self) reason = departure.reason;
  }
  be_removed(reason);
}

// --- Claims of members, and asking back.

void Membership::Core::claim_view(const PeerId& from, ViewClaim claim) {
  claims.insert_or_assign(from, std::move(claim));
  ask_members();
  weigh_claims();
}

void Membership::Core::weigh_claims() {
  std::vector<const ViewClaim*> latest;
  for (auto it = claims.begin(); it != claims.end();) {
    const bool counts = is_other_member(it->first) && it->second.view > view.id &&
                        now - it->second.since < kClaimLife * options.quorum_timeout;
    if (counts) latest.push_back(&it->second);
    it = counts ? std::next(it) : claims.erase(it);
  }
  if (latest.empty()) return;
  const bool others = std::any_of(watched.begin(), watched.end(), [&](const auto& entry) {
    const Watched& member = entry.second;
    return claims.count(entry.first) == 0 && member.reachable() && !member.gone;
  });
  // Who keeps the others from agreeing could else have them believe what they do not vote for.
  if (latest.size() == 1 && others &&
      (state != MembershipState::kIsolated || claims_refused(*latest.front()))) {
    return;
  }
  std::sort(latest.begin(), latest.end(),
            [](const ViewClaim* a, const ViewClaim* b) { return a->view > b->view; });
  const ViewClaim believed = *latest[std::min<std::size_t>(1, latest.size() - 1)];
  claims.clear();
  if (believed.notice) {
    take_notice(*believed.notice);
  } else {
    be_removed(believed.reason);
  }
}

// Whether it is of the very next view, and of one that this peer gives no vote.
bool Membership::Core::claims_refused(const ViewClaim& claim) const {
  if (!claim.notice || claim.notice->previous != view.id) return false;
  const PeerId& by = claims.begin()->first;
  return !believes_next(by, *claim.notice);
}

// No member of this view says that there is a later one.
void Membership::Core::hear_of_view(const PeerId& from) {
  ask_members();
  if (key_shown.count(from) == 0) return;
  hint = ViewHint{from, now};
  follow_hint();
}

void Membership::Core::ask_members() {
  if (now < ask_members_at) return;
  ask_members_at = now + kBeatsPerAsking * options.heartbeat_interval;
  for (const auto& [peer, member] : watched) {
    if (member.linked) send_heartbeat(peer);
  }
}

void Membership::Core::follow_hint() {
  if (!hint || state != MembershipState::kIsolated || leaving) return;
  if (now - hint->heard >= kClaimLife * options.quorum_timeout) {
    hint.reset();
    return;
  }
  if (now - *isolated_since < options.quorum_timeout || key_shown.count(hint->from) == 0) return;
  std::vector<PeerAddress> known;
  const auto address = former.find(hint->from);
  known.push_back({hint->from, address == former.end() ? std::vector<std::string>()
                                                       : address->second.endpoints});
  for (const Member& member : view.members) {
    const bool again = member.id == hint->from || member.id == options.self;
    if (!again && !member.endpoints.empty()) known.push_back({member.id, member.endpoints});
  }
  refuge = std::move(known);
  be_removed(
      "the run goes on in a later view, of which no member of this peer's last one can tell");
}

// --- The run's key.

void Membership::Core::learn_key(const RunKey& key) {
  if (key.key == Hash256{}) return;
  RevocationMessage told;
  told.renewals = key.renewals;
  told.key = key.key;
  if (key.renewals == 0) {
    if (!has_key()) options.invitation_key = key.key;
  } else if (revocations.learn(told, [](const PeerId&) { return true; }).renewals > 0) {
    options.invitation_key = revocations.key();
  }
}

// A member that was not told it can check no proof.
bool Membership::Core::lacks_key(const PeerId& asker) {
  if (has_key()) return false;
  refuse(asker, {RefusalCode::kNotMember, 0, "the asked member was not told the run's key yet"});
  return true;
}

// Members of this view get the key with it.
ViewNoticeMessage Membership::Core::notice_for(const PeerId& to) const {
  ViewNoticeMessage told = notice;
  if (view.contains(to) && has_key()) told.key = run_key();
  return told;
}

void Membership::Core::show_key(const PeerId& to) {
  const auto link = links.find(to);
  if (link == links.end() || is_other_member(to) || !has_key() || !active()) return;
  if (!key_told.insert(to).second) return;
  const ProofLink proven{options.self, to, link->second.exporter};
  send(to, frame_type::kMemberProof,
       MemberProofMessage{member_proof(options.invitation_key, options.run, proven)});
}

void Membership::Core::on_member_proof(const PeerId& from, const MemberProofMessage& message) {
  const auto link = links.find(from);
  if (link == links.end() || !has_key() || revocations.ban_reason(from) != nullptr) return;
  const ProofLink proven{from, options.self, link->second.exporter};
  const Hash256 wanted = member_proof(options.invitation_key, options.run, proven);
  // Who was away when the key was renewed is no liar for that.
  if (!equal_constant_time(wanted, message.hmac)) return;
  key_shown.insert(from);
  tell_trust(from);
}

// The key was renewed: whoever is no member now is a stranger like any other.
void Membership::Core::forget_former_members() {
  departed.clear();
  former.clear();
  key_shown.clear();
  key_told.clear();
  hint.reset();
  tell_trusts();
}

// --- One identity, two processes.

// Once a minute for each peer: whoever is refused tries again.
bool Membership::Core::may_tell_twin(const PeerId& peer) {
  const auto told = twins_told.find(peer);
  if (told != twins_told.end() && now - told->second < kTwinGap) return false;
  if (told == twins_told.end() && twins_told.size() >= kMembersMax) return false;
  twins_told.insert_or_assign(peer, now);
  return true;
}

void Membership::Core::on_twin(const PeerId& peer, const std::string& where) {
  if (!active() || !is_other_member(peer) || !may_tell_twin(peer)) return;
  sink.on_second_process(peer, "another process, at " + where + ", uses the identity of peer " +
                                   peer.short_name() + ", which lives: it was refused");
  if (links.count(peer) == 0) return;
  send(peer, frame_type::kJoinRefused,
       JoinRefusedMessage{
           RefusalCode::kTwin, 0,
           "another process, at " + where + ", uses this peer's identity; it was refused"});
}

void Membership::Core::hear_of_own_twin(const PeerId& from, const std::string& reason) {
  if (!is_other_member(from) || !may_tell_twin(options.self)) return;
  sink.on_second_process(options.self, "peer " + from.short_name() + " says: " + reason);
}

}  // namespace weft
