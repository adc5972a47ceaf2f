#include "weft/collective/parts/membership_news.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_parts.h"

namespace weft {

// --- What the membership asks.

void MembershipNews::send(const PeerId& to, Frame frame) {
  core_.outlet.send(to, Lane::kControl, std::move(frame));
}

void MembershipNews::connect(const PeerAddress& peer) { core_.transport.connect(peer); }

void MembershipNews::close(const PeerId& peer, const Status& why) {
  core_.complaints.close(peer, why);
}

void MembershipNews::set_trust(const PeerId& peer, LinkTrust trust) {
  core_.transport.set_trust(peer, trust);
  if (trust == LinkTrust::kProved) core_.links.on_proved(peer);
}

std::int64_t MembershipNews::unix_time_s() const { return core_.clock.unix_time_s(); }

bool MembershipNews::keeps_records() const { return core_.options.records != nullptr; }

bool MembershipNews::keep_record(ByteSpan record, bool durable) {
  return !keeps_records() || core_.options.records->keep(record, durable);
}

std::uint64_t MembershipNews::sync_progress() const {
  return core_.fetch.bytes_received() + core_.trainer.round().value() +
         (core_.trainer.has_state() ? 1 : 0);
}

RoundStatus MembershipNews::round_status() const {
  const ResultLog& log = core_.log;
  RoundStatus held{core_.trainer.round(), {}};
  if (log.newest() >= held.done && !log.empty()) {
    held = {log.newest(), log.find(log.newest())->hash};
  }
  return core_.rounds.status(held);
}

Round MembershipNews::committed_round() const { return core_.rounds.committed(); }

std::uint64_t MembershipNews::samples_after(Round round) const {
  return core_.branches.samples_after(round);
}

std::vector<Member> MembershipNews::arrange(std::vector<Member> members) const {
  return core_.link_rates.arrange(std::move(members));
}

LinkSummary MembershipNews::links_of(const std::vector<Member>& members) const {
  return core_.link_rates.summary(members);
}

bool MembershipNews::may_admit() const { return !core_.rounds.open(); }

// --- Views.

void MembershipNews::on_freeze() {
  core_.rounds.on_freeze();
  core_.news.on_freeze();
}

void MembershipNews::on_view(const View& view, const ViewChange& change) {
  core_.news.on_view();
  core_.way.on_view();
  core_.follow_ring(view);
  core_.taking.ask_again();
  core_.branches.follow_lineage(view, change);
  Status status = core_.rounds.on_view(view, core_.now());
  if (core_.branches.foreign()) status = {};
  if (std::optional<RoundOutcome> adopted = core_.rounds.take_adopted()) {
    core_.round.keep_result(log_entry(*std::move(adopted)));
  }
  core_.group_calls.on_view(view);
  core_.link_rates.on_view(view, core_.now());
  core_.comparison.on_view(view);
  core_.complaints.on_view();
  if (!status.ok()) core_.trainer.fail(status);
  meet(change.joined);
  report_view(view, change);
}

void MembershipNews::meet(const std::vector<Member>& joined) {
  const PeerId& self = core_.self();
  const bool newcomer =
      !core_.start.founder() && std::ranges::count(joined, self, &Member::id) != 0;
  for (const Member& member : joined) {
    core_.giving.on_admitted(member.id);
    if (member.id == self) continue;
    core_.server.hurry(member.id, core_.now());
    if (core_.ending.reached()) core_.ending.send_finished(member.id);
    // To a newcomer's first view all are new, though most were there before it.
    if (newcomer && core_.way.sync_view().contains(member.id)) continue;
    core_.news
        .report(SwarmEventKind::kPeerJoined, fmt::format("peer {} joined", member.id.short_name()))
        .peer = member.id;
  }
  if (newcomer) core_.news.report(SwarmEventKind::kPeerJoined, "this peer joined").peer = self;
}

void MembershipNews::report_view(const View& view, const ViewChange& change) {
  for (const Departure& departure : change.left) {
    SwarmEvent& left = core_.news.report(SwarmEventKind::kPeerLeft, to_string(departure));
    left.peer = departure.id;
    left.seconds = to_seconds(change.took);
  }
  SwarmEvent& changed =
      core_.news.report(SwarmEventKind::kViewChanged,
                        fmt::format("view {} with {} members, rounds up to {} are committed",
                                    view.id.number.value(), view.size(), view.base_round.value()));
  changed.round = view.base_round;
  changed.seconds = to_seconds(change.took);
  for (const Member& member : view.members) changed.peers.push_back(member.id);
}

void MembershipNews::on_isolated(const IsolatedReport& report) {
  if (core_.ending.committed()) {
    // The other members are needed only for sums that are not here.
    const bool here =
        core_.ending.at_last_round() || core_.log.find(core_.trainer.round().next()) != nullptr;
    if (!here) core_.ending.miss("the others left before this member had all its sums");
    return;
  }
  SwarmEvent& lost = core_.news.report(SwarmEventKind::kQuorumLost, report.text);
  for (const Member& member : report.missing) lost.peers.push_back(member.id);
  core_.rounds.release(aborted("the quorum is lost"), core_.now());
  if (core_.options.exit_on_quorum_lost) core_.trainer.fail(unavailable(report.text));
}

void MembershipNews::on_quorum_back() {
  const bool branches = core_.merges() && core_.view().lineage.branch() != core_.branches.branch();
  core_.news.report(SwarmEventKind::kQuorumBack, branches
                                                     ? "the members in reach go on by themselves"
                                                     : "enough members are back: the run goes on");
}

void MembershipNews::on_removed(const Status& why) {
  core_.slowness.on_removed(why);
  core_.rounds.leave_view(core_.now());
  core_.group_calls.leave_view();
  core_.link_rates.leave_view();
  core_.transport.drop_parked(why);
  core_.branches.leave();
  core_.news.on_removed();
  core_.way.on_removed(why);
}

void MembershipNews::on_left() { core_.ending.on_left(); }

void MembershipNews::on_merge_offer(const MergeOffer& offer) { core_.branches.on_offer(offer); }

// --- The way in, and the end.

void MembershipNews::on_joiner(const Member& joiner) { core_.giving.on_joiner(joiner); }

void MembershipNews::on_joiner_gone(const PeerId& joiner, const Status& why) {
  core_.giving.on_joiner_gone(joiner, why);
}

void MembershipNews::on_join_accepted(const View& view, const PeerId& sponsor) {
  core_.way.on_accepted(view, sponsor);
}

void MembershipNews::on_view_ahead(const View& view) { core_.way.on_accepted(view, {}); }

void MembershipNews::on_join_waiting(const std::string& text) {
  core_.news.report(SwarmEventKind::kStartWaiting, "not let in yet: " + text);
}

void MembershipNews::on_unreached(const std::vector<Member>& members, const std::string& text) {
  SwarmEvent& event = core_.news.report(SwarmEventKind::kUnreached, "not let in yet: " + text);
  for (const Member& member : members) event.peers.push_back(member.id);
}

void MembershipNews::on_join_failed(const Status& why) { core_.way.on_failed(why); }

void MembershipNews::on_run_over(Round round) { core_.ending.on_run_over(round); }

void MembershipNews::on_run_gone(const std::optional<Round>& ended_with) {
  core_.ending.on_run_gone(ended_with);
}

// --- Conduct.

void MembershipNews::on_refused(const PeerId& peer, const Status& why) {
  core_.links.on_refused(peer, why);
}

void MembershipNews::on_second_process(const PeerId& peer, const std::string& text) {
  core_.news.report(SwarmEventKind::kTwin, text).peer = peer;
}

void MembershipNews::on_misconduct(const Misconduct& report) {
  if (!core_.view().contains(report.peer) && !core_.links.may_tell_refusal()) return;
  const std::string name = report.peer.short_name();
  const bool here = report.by == core_.self();
  std::string text =
      report.accusation
          ? fmt::format("{} accuses peer {}: {}, {}",
                        here ? std::string("this peer") : "peer " + report.by.short_name(), name,
                        to_string(report.offence), report.evidence)
          : fmt::format("peer {}: {}, {} (score {:.0f})", name, to_string(report.offence),
                        report.evidence, report.score);
  SwarmEvent& event = core_.news.report(SwarmEventKind::kMisconduct, std::move(text));
  event.peer = report.peer;
  event.peers = {report.by};
}

void MembershipNews::on_revoked(const InvitationId& invitation, const PeerId& by) {
  const std::string which = invitation == kAllInvitations ? std::string("all tickets made before")
                                                          : "the ticket " + to_hex(invitation);
  core_.news
      .report(SwarmEventKind::kRevoked,
              fmt::format("peer {} has revoked {}", by.short_name(), which))
      .peer = by;
}

}  // namespace weft
