// Which reports are believed that the run has gone on in a later view.
//
// The view that follows this one right away is believed of any member of this one if this peer has
// accepted that value, or would (membership_proposal.cpp). Anything else, and a removal from a
// later view, must be reported by two members of this view, or by one if no other can be asked; the
// second report is believed, so that no single member can invent a number. A report of any other
// peer is a hint: this peer asks the members, by a heartbeat, which a member that is ahead answers
// with its view.
//
// All members of this view may be gone while the run lives on in others. A peer that has had no
// quorum for twice `quorum_timeout`, and learns of a later view from a peer that shows that it has
// the run's present key, therefore leaves its view and asks to join as a newcomer, at that peer and
// at the members that it knew. It adopts nothing from that report, least of all a view.
#include <algorithm>
#include <utility>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

// The members are not asked more often than once in this many heartbeat intervals.
constexpr int kBeatsPerAsking = 4;
// Claims older than this, in quorum_timeout, do not count any more.
constexpr int kClaimLife = 2;

}  // namespace

bool ViewEvidence::may_inform_newcomer(const PeerId& from) const {
  return core_.joining.attempt() && (core_.joining.attempt()->known.contains(from) ||
                                     core_.joining.attempt()->sponsor == from);
}

bool ViewEvidence::includes_us(const ViewNoticeMessage& message) const {
  const std::vector<Member>& members = message.value.members;
  return std::any_of(members.begin(), members.end(), [&](const Member& member) {
    return member.id == core_.options.self && member.incarnation == core_.options.incarnation;
  });
}

// Other branches are met, not followed, except one that begins right here, with this peer's
// agreement.
bool ViewEvidence::concerns_us(const ViewNoticeMessage& message, bool included) const {
  const Lineage& theirs = message.value.lineage;
  if (theirs.branch() == core_.view.lineage.branch()) return true;
  return core_.branching.retired() && included &&
         theirs.points.size() == core_.view.lineage.points.size() + 1 &&
         theirs.points.back().from == core_.view.id;
}

// The notice is a difference to a view that this peer does not hold. Its sender answers a heartbeat
// from another view with the whole view, and all rules are about that.
void ViewEvidence::ask_for_whole(const PeerId& from, const ViewId& view) {
  if (core_.state == MembershipState::kSyncing) {
    if (may_inform_newcomer(from)) core_.watch.send_heartbeat(from);
  } else if (core_.active()) {
    if (view > core_.view.id) core_.watch.send_heartbeat(from);
  } else if (core_.past.life() && view > core_.past.life()->view.id) {
    core_.past.say_outside(from);
  }
}

void ViewEvidence::on_notice(const PeerId& from, const ViewNoticeMessage& message) {
  if (message.difference) return ask_for_whole(from, message.view);
  if (core_.past.life()) core_.past.follow_as_past(from, message);
  if (next_view_id(core_.options.run, message.previous, message.value) != message.view) {
    core_.sink.close(from, corrupt("view notice: the view's hash does not match its members"));
    return;
  }
  const bool included = includes_us(message);
  if (core_.state == MembershipState::kSyncing) {
    if (!may_inform_newcomer(from)) return;
    if (included) {
      core_.install(message);
    } else {
      core_.joining.know_view(message);
    }
    return;
  }
  if (!core_.active() || message.view <= core_.view.id || !concerns_us(message, included)) return;
  if (from == core_.options.self || core_.balloting.believes_next(from, message) ||
      (core_.balloting.has_accepted(from) && core_.balloting.is_accepted_value(message))) {
    take_notice(message);
  } else if (core_.is_other_member(from)) {
    claim_view(from, {message.view, core_.now, message, {}});
  } else {
    on_later_view(from);
  }
}

void ViewEvidence::on_removed(const PeerId& from, const RemovedMessage& message) {
  if (core_.joining.has_sponsor(from)) core_.joining.ask_sponsor_again();
  if (!core_.active() || message.view <= core_.view.id) return;
  // Where there may be branches, a removed peer learns of it from a notice, which names its branch.
  if (core_.is_other_member(from) && !core_.merges()) {
    claim_view(from, {message.view, core_.now, std::nullopt, message.reason});
  } else {
    on_later_view(from);
  }
}

void ViewEvidence::take_notice(const ViewNoticeMessage& message) {
  const ViewValue& value = message.value;
  const bool same_branch = value.lineage.branch() == core_.view.lineage.branch();
  if (includes_us(message)) {
    // It was lied to, or the others were; its state is none that a member of that view can have.
    if (same_branch && value.base_round < core_.balloting.committed_here()) {
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
      std::any_of(core_.watch.all().begin(), core_.watch.all().end(), [&](const auto& entry) {
        const Watched& member = entry.second;
        return state_.claims.count(entry.first) == 0 && member.reachable() && !member.gone;
      });
  // Otherwise a member that keeps the others from agreeing could make them believe what they do not
  // vote for.
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
  return !core_.balloting.believes_next(by, *claim.notice);
}

// No member of this view reports a later one.
void ViewEvidence::on_later_view(const PeerId& from) {
  ask_members();
  if (core_.keys.key_shown().count(from) == 0) return;
  state_.hint = ViewHint{from, core_.now};
  follow_hint();
}

void ViewEvidence::ask_members() {
  if (core_.now < state_.ask_members_at) return;
  state_.ask_members_at = core_.now + kBeatsPerAsking * core_.options.heartbeat_interval;
  for (const auto& [peer, member] : core_.watch.all()) {
    if (member.linked) core_.watch.send_heartbeat(peer);
  }
}

void ViewEvidence::follow_hint() {
  if (!state_.hint || core_.state != MembershipState::kIsolated || core_.leaving) return;
  if (core_.now - state_.hint->seen_at >= kClaimLife * core_.options.quorum_timeout) {
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
      "the run goes on in a later view, and no member of this peer's last view reports it");
}

void ViewEvidence::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
