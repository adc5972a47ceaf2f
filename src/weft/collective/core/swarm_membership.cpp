// SwarmCore: what the membership asks and tells.
#include <algorithm>

#include <fmt/format.h>

#include "weft/collective/core/swarm_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

// So many refused connections a second are told one by one, the rest as a number.
static constexpr std::uint64_t kRefusalsASecond = 5;

RoundStatus SwarmCore::round_status() const {
  RoundStatus held{trainer_round_, {}};
  if (log_.newest() >= held.done && !log_.empty()) {
    held = {log_.newest(), log_.find(log_.newest())->hash};
  }
  return rounds_.status(held);
}

void SwarmCore::on_freeze() {
  rounds_.on_freeze();
  if (frozen_at_ == TimePoint::max()) frozen_at_ = now();
}

void SwarmCore::on_view(const View& view, const ViewChange& change) {
  if (frozen_at_ != TimePoint::max()) seconds_lost_ += to_seconds(now() - frozen_at_);
  frozen_at_ = TimePoint::max();
  removed_ = false;
  // Whoever did not know us before may have passed over our requests.
  fetch_retry_at_ = now();
  admission_asked_.reset();
  ++view_changes_;
  follow_lineage(view, change);
  Status status = rounds_.on_view(view, now());
  if (!foreign_.empty()) status = {};
  if (std::optional<RoundOutcome> adopted = rounds_.take_adopted()) {
    keep_result(log_entry(*std::move(adopted)));
  }
  group_.on_view(view);
  link_rates_.on_view(view, now());
  comparison_.on_view(view);
  mismatched_.clear();
  if (!status.ok()) fail(status);
  const PeerId& self = options_.membership.self;
  const bool newcomer = !founder_ && std::ranges::any_of(change.joined, [&](const Member& member) {
    return member.id == self;
  });
  for (const Member& member : change.joined) {
    joiners_.erase(member.id);
    if (member.id == self) continue;
    server_.hurry(member.id, now());
    if (has_state_ && at_end()) tell_finished(member.id);
    // To a newcomer's first view all are new, though most were there before it.
    if (newcomer && sync_view_.contains(member.id)) continue;
    event(SwarmEventKind::kPeerJoined, fmt::format("peer {} joined", member.id.short_name())).peer =
        member.id;
  }
  if (newcomer) event(SwarmEventKind::kPeerJoined, "this peer joined").peer = self;
  for (const Departure& departure : change.left) {
    SwarmEvent& left = event(SwarmEventKind::kPeerLeft, to_string(departure));
    left.peer = departure.id;
    left.seconds = to_seconds(change.took);
  }
  SwarmEvent& changed =
      event(SwarmEventKind::kViewChanged,
            fmt::format("view {} with {} members, rounds up to {} are committed",
                        view.id.number.value(), view.size(), view.base_round.value()));
  changed.round = view.base_round;
  changed.seconds = to_seconds(change.took);
  for (const Member& member : view.members) changed.peers.push_back(member.id);
}

void SwarmCore::on_isolated(const IsolatedReport& report) {
  if (end_is_committed()) {
    // Nobody is needed any more but for the sums that are not here.
    const bool here = at_end() || log_.find(trainer_round_.next()) != nullptr;
    if (!here) miss_end("the others are gone before this member had all its sums");
    return;
  }
  SwarmEvent& lost = event(SwarmEventKind::kQuorumLost, report.text);
  for (const Member& member : report.missing) lost.peers.push_back(member.id);
  rounds_.release(aborted("the quorum is lost"), now());
  if (options_.exit_on_quorum_lost) fail(unavailable(report.text));
}

void SwarmCore::on_quorum_back() {
  const bool branches = merges() && view().lineage.branch() != history_.branch;
  event(SwarmEventKind::kQuorumBack, branches ? "the members in reach go on by themselves"
                                              : "enough members are back: the run goes on");
}

void SwarmCore::on_removed(const Status& why) {
  note_slowness(why);
  rounds_.leave_view(now());
  group_.leave_view();
  link_rates_.leave_view();
  leave_branch();
  removed_ = true;
  frozen_at_ = TimePoint::max();
  event(SwarmEventKind::kRemoved, why.message());
  if (has_state_ && at_end()) return;
  if (rejoins_ < options_.rejoins_max) {
    rejoin_ = true;
  } else {
    fail(unavailable(why.message()));
  }
}

void SwarmCore::on_joiner(const Member& joiner) {
  joiners_.insert(joiner.id);
  if (!taken_.history.empty()) {
    send(joiner.id, {frame_type::kHeldState, taken_.encode(), {}});
  }
  event(SwarmEventKind::kJoinerSyncing,
        fmt::format("peer {} takes the state", joiner.id.short_name()))
      .peer = joiner.id;
}

void SwarmCore::on_joiner_gone(const PeerId& joiner, const Status& why) {
  joiners_.erase(joiner);
  event(SwarmEventKind::kLinkRefused,
        fmt::format("joiner {} is gone: {}", joiner.short_name(), why.message()))
      .peer = joiner;
}

// Strangers must not fill the log: beyond a few a second they are counted only.
bool SwarmCore::may_tell_refusal() {
  if (now() >= refusals_since_ + std::chrono::seconds(1)) {
    if (refusals_ > kRefusalsASecond) {
      event(SwarmEventKind::kLinkRefused,
            fmt::format("{} more connections were refused", refusals_ - kRefusalsASecond));
    }
    refusals_since_ = now();
    refusals_ = 0;
  }
  return ++refusals_ <= kRefusalsASecond;
}

void SwarmCore::on_refused(const std::string& remote_endpoint, const Status& why) {
  if (!may_tell_refusal()) return;
  event(SwarmEventKind::kLinkRefused,
        fmt::format("connection from {} refused: {}", remote_endpoint, why.message()));
}

void SwarmCore::on_refused(const PeerId& peer, const Status& why) {
  if (!may_tell_refusal()) return;
  event(SwarmEventKind::kJoinRefused, why.message()).peer = peer;
}

void SwarmCore::on_twin(const PeerId& peer, const std::string& remote_endpoint) {
  membership_.on_twin(peer, remote_endpoint, now());
  settle();
}

void SwarmCore::on_second_process(const PeerId& peer, const std::string& text) {
  event(SwarmEventKind::kTwin, text).peer = peer;
}

Status SwarmCore::revoke(const InvitationId& invitation) {
  const Status status = membership_.revoke(invitation, now());
  settle();
  return status;
}

Result<std::string> SwarmCore::expel(const PeerId& peer, const std::string& reason) {
  Result<std::string> outcome = membership_.expel(peer, reason, now());
  settle();
  return outcome;
}

void SwarmCore::on_misconduct(const Misconduct& report) {
  if (!view().contains(report.peer) && !may_tell_refusal()) return;
  const std::string name = report.peer.short_name();
  const bool here = report.by == options_.membership.self;
  std::string text =
      report.accusation
          ? fmt::format("{} accuses peer {}: {}, {}",
                        here ? std::string("this peer") : "peer " + report.by.short_name(), name,
                        to_string(report.offence), report.evidence)
          : fmt::format("peer {}: {}, {} (score {:.0f})", name, to_string(report.offence),
                        report.evidence, report.score);
  SwarmEvent& told = event(SwarmEventKind::kMisconduct, std::move(text));
  told.peer = report.peer;
  told.peers = {report.by};
}

void SwarmCore::on_revoked(const InvitationId& invitation, const PeerId& by) {
  const std::string which = invitation == kAllInvitations ? std::string("all tickets made before")
                                                          : "the ticket " + to_hex(invitation);
  event(SwarmEventKind::kRevoked, fmt::format("peer {} has revoked {}", by.short_name(), which))
      .peer = by;
}

void SwarmCore::on_join_accepted(const View& view, const PeerId& sponsor) {
  sync_view_ = view;
  for (const Member& member : view.members) {
    if (member.id != options_.membership.self) transport_.connect({member.id, member.endpoints});
  }
  if (sponsor != PeerId()) tell_held_state(sponsor);
}

void SwarmCore::on_view_ahead(const View& view) { on_join_accepted(view, {}); }

void SwarmCore::on_unreached(const std::vector<Member>& members, const std::string& text) {
  SwarmEvent& told = event(SwarmEventKind::kUnreached, "not let in yet: " + text);
  for (const Member& member : members) told.peers.push_back(member.id);
}

void SwarmCore::on_join_failed(const Status& why) {
  event(SwarmEventKind::kJoinRefused, why.message()).peer = options_.membership.self;
  // Who was a member tries again: many may want to come back at once.
  const bool again = rejoins_ > 0 && rejoins_ < options_.rejoins_max;
  if (again && why.code() != Code::kInvalidArgument) {
    rejoin_ = true;
  } else {
    fail(why);
  }
}

}  // namespace weft
