#include "weft/collective/parts/own_slowness.h"

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

// A slow member is warned at most this often that the others wait for it.
static constexpr Duration kAwaitedGap = std::chrono::minutes(1);
// A share is halved at most this often.
static constexpr int kHalvingsMax = 6;

// What the others do is known by their questions, which come as long as they wait.
void OwnSlowness::settle() {
  const TimePoint now = core_.now();
  const std::optional<RoundAwaited> awaited = core_.rounds.awaited(now);
  if (!awaited) {
    state_.round = Round();
    return;
  }
  if (state_.round != awaited->round) {
    state_.round = awaited->round;
    state_.since = now - core_.options.rounds.wait_interval;
    state_.warned = false;
  }
  const Duration waited = now - state_.since;
  const auto elsewhere = core_.rounds.elements_elsewhere(awaited->round);
  const Duration limit = core_.waits.limit(static_cast<std::int64_t>(elsewhere.value_or(0)));
  const bool warns = waited >= limit / 2 && !state_.warned;
  const bool first = state_.reported_at == TimePoint::min();
  if (!warns && !first && now - state_.reported_at < kAwaitedGap) return;
  state_.reported_at = now;
  state_.warned = state_.warned || warns;
  SwarmEvent& event = core_.news.report(
      SwarmEventKind::kAwaited,
      fmt::format("round {}: {} wait{} for this peer's part for {:.0f} s; after {:.0f} s the "
                  "others go on without it, and it comes back with half of its share",
                  awaited->round.value(), names_of_peers(awaited->by),
                  awaited->by.size() == 1 ? "s" : "", to_seconds(waited), to_seconds(limit)));
  event.round = awaited->round;
  event.peers = awaited->by;
  event.seconds = to_seconds(waited);
  event.limit_seconds = to_seconds(limit);
}

void OwnSlowness::on_removed(const Status& why) {
  const bool slow = why.message().find(kOverdueReason) != std::string::npos;
  if (!slow || state_.halvings >= kHalvingsMax) return;
  core_.membership.set_share_halvings(static_cast<std::uint8_t>(++state_.halvings));
}

void OwnSlowness::add_to(SwarmStatus& status) const {
  if (const auto awaited = core_.rounds.awaited(core_.now())) status.awaited_by = awaited->by;
}

void OwnSlowness::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
