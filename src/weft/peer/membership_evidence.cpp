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
bool FormerMembers::has_met(const PeerId& peer) const {
  if (core_.bans.revocations().ban_reason(peer) != nullptr) return false;
  const auto gone = state_.departed.find(peer);
  return state_.former.count(peer) != 0 || core_.meetings.in_meeting(peer) ||
         (gone != state_.departed.end() && gone->second.cause != DepartureCause::kExpelled);
}

// Whether it tells of just what this peer has voted for: then a newcomer in it may say so, too.
bool Membership::Core::is_accepted_value(const ViewNoticeMessage& message) const {
  return message.previous == view.id && agreement && agreement->accepted() &&
         agreement->accepted()->value == message.value;
}

bool ViewEvidence::may_tell_newcomer(const PeerId& from) const {
  return core_.joining.attempt() && (core_.joining.attempt()->known.contains(from) ||
                                     core_.joining.attempt()->sponsor == from);
}

bool ViewEvidence::includes_us(const ViewNoticeMessage& message) const {
  const std::vector<Member>& members = message.value.members;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.id == core_.options.self && member.incarnation == core_.options.incarnation;
  });
}

// Other branches are met, not followed, but for one that begins right here, with this peer's word.
bool ViewEvidence::concerns_us(const ViewNoticeMessage& message, bool included) const {
  const Lineage& theirs = message.value.lineage;
  if (theirs.branch() == core_.view.lineage.branch()) return true;
  return core_.branching.retired() && included &&
         theirs.points.size() == core_.view.lineage.points.size() + 1 &&
         theirs.points.back().from == core_.view.id;
}

void ViewEvidence::on_notice(const PeerId& from, const ViewNoticeMessage& message) {
  if (core_.past.life()) core_.past.follow_as_past(from, message);
  if (next_view_id(core_.options.run, message.previous, message.value) != message.view) {
    core_.sink.close(from, corrupt("view notice: the view's hash does not match its members"));
    return;
  }
  const bool included = includes_us(message);
  if (core_.state == MembershipState::kSyncing) {
    if (!may_tell_newcomer(from)) return;
    if (included) {
      core_.install(message);
    } else {
      core_.joining.know_view(message);
    }
    return;
  }
  if (!core_.active() || message.view <= core_.view.id || !concerns_us(message, included)) return;
  if (from == core_.options.self || core_.believes_next(from, message) ||
      (core_.has_accepted(from) && core_.is_accepted_value(message))) {
    take_notice(message);
  } else if (core_.is_other_member(from)) {
    claim_view(from, {message.view, core_.now, message, {}});
  } else {
    hear_of_view(from);
  }
}

void ViewEvidence::on_removed(const PeerId& from, const RemovedMessage& message) {
  if (core_.joining.has_sponsor(from)) core_.joining.ask_sponsor_again();
  if (!core_.active() || message.view <= core_.view.id) return;
  // Where there may be branches, who is out learns it from a notice, which names its branch.
  if (core_.is_other_member(from) && !core_.merges()) {
    claim_view(from, {message.view, core_.now, std::nullopt, message.reason});
  } else {
    hear_of_view(from);
  }
}

void ViewEvidence::take_notice(const ViewNoticeMessage& message) {
  const ViewValue& value = message.value;
  const bool same_branch = value.lineage.branch() == core_.view.lineage.branch();
  if (includes_us(message)) {
    // It was lied to, or the others were; its state is none that a member of that view can have.
    if (same_branch && value.base_round < core_.committed_here()) {
      core_.be_removed("a view begins below what is committed here");
      return;
    }
    core_.install(message);
    return;
  }
  std::string reason = "the others went on without it";
  for (const Departure& departure : message.value.departures) {
    if (departure.id == core_.options.self) reason = departure.reason;
  }
  core_.be_removed(reason);
}

void ViewEvidence::clear() {
  state_.claims.clear();
  state_.hint.reset();
}

// --- Claims of members, and asking back.

void ViewEvidence::claim_view(const PeerId& from, ViewClaim claim) {
  state_.claims.insert_or_assign(from, std::move(claim));
  ask_members();
  weigh_claims();
}

void ViewEvidence::weigh_claims() {
  std::vector<const ViewClaim*> latest;
  for (auto it = state_.claims.begin(); it != state_.claims.end();) {
    const bool counts = core_.is_other_member(it->first) && it->second.view > core_.view.id &&
                        core_.now - it->second.since < kClaimLife * core_.options.quorum_timeout;
    if (counts) latest.push_back(&it->second);
    it = counts ? std::next(it) : state_.claims.erase(it);
  }
  if (latest.empty()) return;
  const bool others =
      std::any_of(core_.watched.begin(), core_.watched.end(), [&](const auto& entry) {
        const Watched& member = entry.second;
        return state_.claims.count(entry.first) == 0 && member.reachable() && !member.gone;
      });
  // Who keeps the others from agreeing could else have them believe what they do not vote for.
  if (latest.size() == 1 && others &&
      (core_.state != MembershipState::kIsolated || claims_refused(*latest.front()))) {
    return;
  }
  std::sort(latest.begin(), latest.end(),
            [](const ViewClaim* a, const ViewClaim* b) { return a->view > b->view; });
  const ViewClaim believed = *latest[std::min<std::size_t>(1, latest.size() - 1)];
  state_.claims.clear();
  if (believed.notice) {
    take_notice(*believed.notice);
  } else {
    core_.be_removed(believed.reason);
  }
}

// Whether it is of the very next view, and of one that this peer gives no vote.
bool ViewEvidence::claims_refused(const ViewClaim& claim) const {
  if (!claim.notice || claim.notice->previous != core_.view.id) return false;
  const PeerId& by = state_.claims.begin()->first;
  return !core_.believes_next(by, *claim.notice);
}

// No member of this view says that there is a later one.
void ViewEvidence::hear_of_view(const PeerId& from) {
  ask_members();
  if (core_.keys.key_shown().count(from) == 0) return;
  state_.hint = ViewHint{from, core_.now};
  follow_hint();
}

void ViewEvidence::ask_members() {
  if (core_.now < state_.ask_members_at) return;
  state_.ask_members_at = core_.now + kBeatsPerAsking * core_.options.heartbeat_interval;
  for (const auto& [peer, member] : core_.watched) {
    if (member.linked) core_.send_heartbeat(peer);
  }
}

void ViewEvidence::follow_hint() {
  if (!state_.hint || core_.state != MembershipState::kIsolated || core_.leaving) return;
  if (core_.now - state_.hint->heard >= kClaimLife * core_.options.quorum_timeout) {
    state_.hint.reset();
    return;
  }
  if (core_.now - *core_.quorum.isolated_since() < core_.options.quorum_timeout ||
      core_.keys.key_shown().count(state_.hint->from) == 0)
    return;
  std::vector<PeerAddress> known;
  const auto address = core_.former.all().find(state_.hint->from);
  known.push_back({state_.hint->from, address == core_.former.all().end()
                                          ? std::vector<std::string>()
                                          : address->second.endpoints});
  for (const Member& member : core_.view.members) {
    const bool again = member.id == state_.hint->from || member.id == core_.options.self;
    if (!again && !member.endpoints.empty()) known.push_back({member.id, member.endpoints});
  }
  core_.former.set_refuge(std::move(known));
  core_.be_removed(
      "the run goes on in a later view, of which no member of this peer's last one can tell");
}

// --- The run's key.

void KeyHolders::on_link_down(const PeerId& peer) {
  state_.key_shown.erase(peer);
  state_.key_told.erase(peer);
}

void KeyHolders::forget_shown() {
  state_.key_shown.clear();
  state_.key_told.clear();
}

bool KeyHolders::has_key() const { return core_.options.invitation_key != Hash256{}; }

RunKey KeyHolders::run_key() const {
  return {core_.bans.revocations().renewals(), core_.options.invitation_key};
}

void KeyHolders::learn_key(const RunKey& key) {
  if (key.key == Hash256{}) return;
  RevocationMessage told;
  told.renewals = key.renewals;
  told.key = key.key;
  if (key.renewals == 0) {
    if (!has_key()) core_.options.invitation_key = key.key;
  } else if (core_.bans.learn(told, [](const PeerId&) { return true; }).renewals > 0) {
    core_.options.invitation_key = core_.bans.revocations().key();
  }
}

// A member that was not told it can check no proof.
bool KeyHolders::lacks_key(const PeerId& asker) {
  if (has_key()) return false;
  core_.newcomers.refuse(
      asker, {RefusalCode::kNotMember, 0, "the asked member was not told the run's key yet"});
  return true;
}

// Members of this view get the key with it.
ViewNoticeMessage KeyHolders::notice_for(const PeerId& to) const {
  ViewNoticeMessage told = core_.notice;
  if (core_.view.contains(to) && has_key()) told.key = run_key();
  return told;
}

void KeyHolders::show_key(const PeerId& to) {
  const auto link = core_.links.all().find(to);
  if (link == core_.links.all().end() || core_.is_other_member(to) || !has_key() || !core_.active())
    return;
  if (!state_.key_told.insert(to).second) return;
  const ProofLink proven{core_.options.self, to, link->second.exporter};
  core_.send(
      to, frame_type::kMemberProof,
      MemberProofMessage{member_proof(core_.options.invitation_key, core_.options.run, proven)});
}

void KeyHolders::on_member_proof(const PeerId& from, const MemberProofMessage& message) {
  const auto link = core_.links.all().find(from);
  if (link == core_.links.all().end() || !has_key() ||
      core_.bans.revocations().ban_reason(from) != nullptr)
    return;
  const ProofLink proven{from, core_.options.self, link->second.exporter};
  const Hash256 wanted = member_proof(core_.options.invitation_key, core_.options.run, proven);
  // Who was away when the key was renewed is no liar for that.
  if (!equal_constant_time(wanted, message.hmac)) return;
  state_.key_shown.insert(from);
  core_.links.tell_trust(from);
}

// The key was renewed: whoever is no member now is a stranger like any other.
void FormerMembers::forget_former_members() {
  state_.departed.clear();
  state_.former.clear();
  core_.keys.forget_shown();
  core_.evidence.drop_hint();
  core_.links.tell_trusts();
}

// --- One identity, two processes.

// Once a minute for each peer: whoever is refused tries again.
bool LinkTable::may_tell_twin(const PeerId& peer) {
  const auto told = state_.twins_told.find(peer);
  if (told != state_.twins_told.end() && core_.now - told->second < kTwinGap) return false;
  if (told == state_.twins_told.end() && state_.twins_told.size() >= kMembersMax) return false;
  state_.twins_told.insert_or_assign(peer, core_.now);
  return true;
}

void LinkTable::on_twin(const PeerId& peer, const std::string& where) {
  if (!core_.active() || !core_.is_other_member(peer) || !may_tell_twin(peer)) return;
  core_.sink.on_second_process(peer, "another process, at " + where +
                                         ", uses the identity of peer " + peer.short_name() +
                                         ", which lives: it was refused");
  if (state_.links.count(peer) == 0) return;
  core_.send(peer, frame_type::kJoinRefused,
             JoinRefusedMessage{
                 RefusalCode::kTwin, 0,
                 "another process, at " + where + ", uses this peer's identity; it was refused"});
}

void LinkTable::hear_of_own_twin(const PeerId& from, const std::string& reason) {
  if (!core_.is_other_member(from) || !may_tell_twin(core_.options.self)) return;
  core_.sink.on_second_process(core_.options.self,
                               "peer " + from.short_name() + " says: " + reason);
}

}  // namespace weft
