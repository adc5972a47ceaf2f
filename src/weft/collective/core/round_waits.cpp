#include "weft/collective/parts/round_waits.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

// For the answers to the question which members compute.
static constexpr Duration kAnswerTime = std::chrono::milliseconds(250);
// Where more than half of the members compute, it is this one that is early.
static constexpr int kMajorityFactor = 3;

std::string names_of_peers(const std::vector<PeerId>& peers) {
  std::vector<std::string> names;
  names.reserve(peers.size());
  for (const PeerId& peer : peers) names.push_back(peer.short_name());
  return fmt::format("peer{} {}", peers.size() == 1 ? "" : "s", fmt::join(names, ", "));
}

static const std::vector<PeerId>& waited_for(const RoundWait& wait) {
  return wait.computing.empty() ? wait.owing : wait.computing;
}

Duration RoundWaits::limit_of(const RoundWait& wait) const {
  // Where several are overdue, the last change of view may have removed only some of them.
  const bool again = std::ranges::any_of(
      wait.computing, [&](const PeerId& peer) { return state_.overdue.contains(peer); });
  if (again) return 2 * core_.options.rounds.wait_interval;
  const Duration one = limit(wait.elements);
  const bool most = 2 * wait.computing.size() > static_cast<std::size_t>(core_.view().size());
  return most ? kMajorityFactor * one : one;
}

void RoundWaits::settle() {
  const std::optional<RoundWait> wait = core_.rounds.waiting(core_.now());
  if (!wait || (state_.present && wait->waited < state_.present->waited)) end_wait();
  if (!wait) return;
  state_.present = wait;
  if (waited_for(*wait).empty()) return;
  report_wait(*wait);
  if (wait->waited < limit_of(*wait) || std::exchange(state_.suspected, true)) return;
  const double seconds = to_seconds(wait->waited);
  for (const PeerId& peer : wait->computing) {
    state_.overdue.insert(peer);
    core_.complaints.overdue(peer, fmt::format("{} {:.0f} s", kOverdueReason, seconds));
  }
  for (const PeerId& peer : wait->owing) {
    core_.complaints.suspect(peer, fmt::format("no data from it for {:.0f} s", seconds));
  }
}

void RoundWaits::report_wait(const RoundWait& wait) {
  const std::vector<PeerId>& names = waited_for(wait);
  const double seconds = to_seconds(wait.waited);
  const double limit = to_seconds(limit_of(wait));
  const auto report = [&](SwarmEventKind kind, std::string text) {
    SwarmEvent& made = core_.news.report(kind, std::move(text));
    made.round = wait.round;
    made.peers = names;
    made.seconds = seconds;
    made.limit_seconds = limit;
    made.absent = wait.absent;
    made.unsent = wait.unsent;
    state_.reported = names;
    state_.reported_at = wait.waited;
  };
  if (seconds >= limit / 2 && !std::exchange(state_.warned, true)) {
    return report(SwarmEventKind::kOverdue,
                  fmt::format("round {} waits for {} for {:.0f} s; after {:.0f} s the others go on "
                              "without",
                              wait.round.value(), names_of_peers(names), seconds, limit));
  }
  const Duration least =
      std::max(core_.options.rounds.wait_interval + kAnswerTime, 3 * state_.usual / 2);
  const Duration next = state_.reported.empty() ? least : 2 * state_.reported_at;
  if (wait.waited < next) return;
  report(SwarmEventKind::kWaiting,
         fmt::format("round {} waits for {} for {:.1f} s: {}", wait.round.value(),
                     names_of_peers(names), seconds,
                     wait.computing.empty() ? "no data comes" : "still computing"));
}

void RoundWaits::end_wait() {
  const std::optional<RoundWait> wait = std::exchange(state_.present, std::nullopt);
  const std::vector<PeerId> names = std::exchange(state_.reported, {});
  state_.warned = state_.suspected = false;
  if (!wait) return;
  state_.longest = std::max(state_.longest, wait->waited);
  if (names.empty()) return;
  const double seconds = to_seconds(wait->waited);
  SwarmEvent& over = core_.news.report(
      SwarmEventKind::kWaitOver, fmt::format("round {} no longer waits for {}, after {:.1f} s",
                                             wait->round.value(), names_of_peers(names), seconds));
  over.round = wait->round;
  over.peers = names;
  over.seconds = seconds;
}

void RoundWaits::measure_round(const RoundOutcome& outcome) {
  state_.usual = std::max(state_.usual / 2, std::exchange(state_.longest, Duration::zero()));
  state_.overdue.clear();
  if (std::exchange(state_.entries_view, core_.view().id) != core_.view().id) {
    state_.entries.clear();
  }
  if (!outcome.entry_seconds.empty()) state_.entries.add(outcome.entry_seconds);
  if (outcome.took <= Duration::zero() || !outcome.values) return;
  state_.times.add(static_cast<std::int64_t>(outcome.values->span().size()), outcome.took);
}

std::string RoundWaits::owed_text() const {
  std::string text = "the round did not end in time";
  const std::optional<RoundWait> wait = core_.rounds.waiting(core_.now());
  if (!wait || waited_for(*wait).empty()) return text;
  return fmt::format("{}; {}: {}", text, names_of_peers(waited_for(*wait)),
                     wait->computing.empty() ? "no data came" : "still computing");
}

void RoundWaits::add_to(SwarmStatus& status) const {
  const std::vector<double> entries = state_.entries.medians();
  if (state_.entries_view == core_.view().id && entries.size() == status.members.size()) {
    for (std::size_t i = 0; i < entries.size(); ++i) status.members[i].entry_seconds = entries[i];
  }
  const auto wait = core_.rounds.waiting(core_.now());
  if (!wait) return;
  status.waits_for = waited_for(*wait);
  status.waits_seconds = to_seconds(wait->waited);
  status.waits_limit_seconds = to_seconds(limit_of(*wait));
  status.absent = wait->absent;
  status.unsent = wait->unsent;
}

void RoundWaits::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
