// SwarmCore: waits for members that compute: told, warned of, and ended.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/collective/core/swarm_core.h"

namespace weft {

// For the answers to the question who computes.
static constexpr Duration kAnswerTime = std::chrono::milliseconds(250);
// Where more than half of the members compute, it is this one that is early.
static constexpr int kMajorityFactor = 3;
// That the others wait is told to a slow member so often at most.
static constexpr Duration kAwaitedGap = std::chrono::minutes(1);
// A share is halved at most so often.
static constexpr int kHalvingsMax = 6;

static constexpr std::string_view kOverdueReason = "computing for";

static std::string names_of(const std::vector<PeerId>& peers) {
  std::vector<std::string> names;
  for (const PeerId& peer : peers) names.push_back(peer.short_name());
  return fmt::format("peer{} {}", peers.size() == 1 ? "" : "s", fmt::join(names, ", "));
}

static const std::vector<PeerId>& waited_for(const RoundWait& wait) {
  return wait.computing.empty() ? wait.owing : wait.computing;
}

Duration SwarmCore::wait_limit(const RoundWait& wait) const {
  // Where several are overdue, the last change of view may have put out only some of them.
  const bool again = std::ranges::any_of(
      wait.computing, [&](const PeerId& peer) { return waits_.overdue.contains(peer); });
  if (again) return 2 * options_.rounds.wait_interval;
  const Duration limit = waits_.times.limit(wait.elements);
  const bool most = 2 * wait.computing.size() > static_cast<std::size_t>(view().size());
  return most ? kMajorityFactor * limit : limit;
}

void SwarmCore::settle_waits() {
  settle_awaited();
  const std::optional<RoundWait> wait = rounds_.waiting(now());
  if (!wait || (waits_.present && wait->waited < waits_.present->waited)) end_wait();
  if (!wait) return;
  waits_.present = wait;
  if (waited_for(*wait).empty()) return;
  tell_wait(*wait);
  const Duration limit = wait_limit(*wait);
  if (wait->waited < limit || std::exchange(waits_.suspected, true)) return;
  const double seconds = to_seconds(wait->waited);
  for (const PeerId& peer : wait->computing) {
    waits_.overdue.insert(peer);
    overdue_.emplace_back(peer, fmt::format("{} {:.0f} s", kOverdueReason, seconds));
  }
  for (const PeerId& peer : wait->owing) {
    suspects_.emplace_back(peer, fmt::format("no data of it for {:.0f} s", seconds));
  }
}

void SwarmCore::tell_wait(const RoundWait& wait) {
  const std::vector<PeerId>& names = waited_for(wait);
  const double seconds = to_seconds(wait.waited);
  const double limit = to_seconds(wait_limit(wait));
  const auto told = [&](SwarmEventKind kind, std::string text) {
    SwarmEvent& made = event(kind, std::move(text));
    made.round = wait.round;
    made.peers = names;
    made.seconds = seconds;
    made.limit_seconds = limit;
    waits_.told = names;
    waits_.told_at = wait.waited;
  };
  if (seconds >= limit / 2 && !std::exchange(waits_.warned, true)) {
    return told(SwarmEventKind::kOverdue,
                fmt::format("round {} waits for {} for {:.0f} s; after {:.0f} s the others go on "
                            "without",
                            wait.round.value(), names_of(names), seconds, limit));
  }
  const Duration least =
      std::max(options_.rounds.wait_interval + kAnswerTime, 3 * waits_.usual / 2);
  const Duration next = waits_.told.empty() ? least : 2 * waits_.told_at;
  if (wait.waited < next) return;
  told(SwarmEventKind::kWaiting,
       fmt::format("round {} waits for {} for {:.1f} s: {}", wait.round.value(), names_of(names),
                   seconds, wait.computing.empty() ? "no data comes" : "still computing"));
}

void SwarmCore::end_wait() {
  const std::optional<RoundWait> wait = std::exchange(waits_.present, std::nullopt);
  const std::vector<PeerId> names = std::exchange(waits_.told, {});
  waits_.warned = waits_.suspected = false;
  if (!wait) return;
  waits_.longest = std::max(waits_.longest, wait->waited);
  if (names.empty()) return;
  const double seconds = to_seconds(wait->waited);
  SwarmEvent& over =
      event(SwarmEventKind::kWaitOver, fmt::format("round {} waits no more for {}: it was {:.1f} s",
                                                   wait->round.value(), names_of(names), seconds));
  over.round = wait->round;
  over.peers = names;
  over.seconds = seconds;
}

// What the others do is known by their questions, which come as long as they wait.
void SwarmCore::settle_awaited() {
  const std::optional<RoundAwaited> awaited = rounds_.awaited(now());
  if (!awaited) {
    waits_.awaited = Round();
    return;
  }
  if (waits_.awaited != awaited->round) {
    waits_.awaited = awaited->round;
    waits_.awaited_since = now() - options_.rounds.wait_interval;
    waits_.awaited_warned = false;
  }
  const Duration waited = now() - waits_.awaited_since;
  const auto elsewhere = rounds_.elements_elsewhere(awaited->round);
  const Duration limit = waits_.times.limit(static_cast<std::int64_t>(elsewhere.value_or(0)));
  const bool warns = waited >= limit / 2 && !waits_.awaited_warned;
  const bool first = waits_.awaited_told == TimePoint::min();
  if (!warns && !first && now() - waits_.awaited_told < kAwaitedGap) return;
  waits_.awaited_told = now();
  waits_.awaited_warned = waits_.awaited_warned || warns;
  SwarmEvent& told =
      event(SwarmEventKind::kAwaited,
            fmt::format("round {}: {} wait{} for this peer's part for {:.0f} s; after {:.0f} s the "
                        "others go on without it, and it comes back with half of its share",
                        awaited->round.value(), names_of(awaited->by),
                        awaited->by.size() == 1 ? "s" : "", to_seconds(waited), to_seconds(limit)));
  told.round = awaited->round;
  told.peers = awaited->by;
  told.seconds = to_seconds(waited);
  told.limit_seconds = to_seconds(limit);
}

// REQUIRES: the round is committed.
void SwarmCore::measure_round(const RoundOutcome& outcome) {
  waits_.usual = std::max(waits_.usual / 2, std::exchange(waits_.longest, Duration::zero()));
  waits_.overdue.clear();
  if (outcome.took <= Duration::zero() || !outcome.values) return;
  waits_.times.add(static_cast<std::int64_t>(outcome.values->span().size()), outcome.took);
}

// Who is put out because the others wait for its part comes back with less to do.
void SwarmCore::note_slowness(const Status& why) {
  const bool slow = why.message().find(kOverdueReason) != std::string::npos;
  if (!slow || halvings_ >= kHalvingsMax) return;
  membership_.set_share_halvings(static_cast<std::uint8_t>(++halvings_));
}

std::string SwarmCore::owed_text() const {
  const std::string text = "the round did not end in time";
  const std::optional<RoundWait> wait = rounds_.waiting(now());
  if (!wait || waited_for(*wait).empty()) return text;
  return fmt::format("{}; {}: {}", text, names_of(waited_for(*wait)),
                     wait->computing.empty() ? "no data came" : "still computing");
}

void SwarmCore::add_waits(SwarmStatus& status) const {
  if (const auto wait = rounds_.waiting(now())) {
    status.waits_for = waited_for(*wait);
    status.waits_seconds = to_seconds(wait->waited);
    status.waits_limit_seconds = to_seconds(wait_limit(*wait));
  }
  if (const auto awaited = rounds_.awaited(now())) status.awaited_by = awaited->by;
}

}  // namespace weft
