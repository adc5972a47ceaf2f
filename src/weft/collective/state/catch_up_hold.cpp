#include "weft/collective/state/catch_up_hold.h"

#include <algorithm>
#include <chrono>

namespace weft {

static constexpr int kRefill = 10;
// A newcomer is observed for at least this long, and so many rounds. Its lag must have shrunk by a
// quarter in that time.
static constexpr Duration kObserved = std::chrono::seconds(1);
static constexpr std::uint64_t kObservedRounds = 2;
// A newcomer asks for so many results at a time; requests for later ones count nothing.
static constexpr std::uint64_t kAhead = 4;
static constexpr std::uint64_t kAheadMax = 256;
// A newcomer that is nearer than this is about to ask for admission.
static constexpr std::uint64_t kLagMin = kAhead + 2;
// Unless it has been nearer than twice that in so many observations, and did not ask.
static constexpr int kNearMax = 3;
static constexpr Duration kPatienceMin = std::chrono::seconds(3);
static constexpr Duration kPatienceMax = std::chrono::seconds(15);

// --- What newcomers ask for.

void CatchUpHold::on_query(const PeerId& peer, TimePoint now) {
  Newcomer& newcomer = newcomers_[peer];
  newcomer.moved = now;
  if (!newcomer.applies) return;
  // It has lost the results that it needs, or has found that it would never catch up with them.
  newcomer.applies = false;
  newcomer.slow = true;
}

void CatchUpHold::on_block_request(const PeerId& peer, TimePoint now) {
  newcomers_[peer].moved = now;
}

void CatchUpHold::on_result_request(const PeerId& peer, Round round, Round committed,
                                    TimePoint now) {
  if (round.value() > kAheadMax && round.value() - kAheadMax > committed.value()) return;
  Newcomer& newcomer = newcomers_[peer];
  if (!newcomer.applies) {
    newcomer.applies = true;
    newcomer.asked = newcomer.first = round;
    newcomer.moved = now;
    observe_from(newcomer, committed, now);
    // The other requests of its first ones say nothing about its pace.
    newcomer.since_asked = Round(round.value() + kAhead - 1);
    return;
  }
  if (round <= newcomer.asked) return;
  // Before it asks for more than its first ones it loads the state.
  if (newcomer.asked.value() >= newcomer.first.value() + kAhead) {
    newcomer.gap = std::max(newcomer.gap, now - newcomer.moved);
  }
  newcomer.asked = round;
  newcomer.moved = now;
}

// --- Who is slow.

// At most so many rounds behind: other members may have got its latest requests.
std::uint64_t CatchUpHold::lag(const Newcomer& newcomer, Round committed) {
  const std::uint64_t end = committed.value() + kAhead;
  return end - std::min(end, newcomer.asked.value());
}

Duration CatchUpHold::patience(const Newcomer& newcomer) {
  return std::clamp(3 * newcomer.gap, kPatienceMin, kPatienceMax);
}

void CatchUpHold::observe_from(Newcomer& newcomer, Round committed, TimePoint now) {
  newcomer.since = now;
  newcomer.since_asked = newcomer.asked;
  newcomer.since_committed = committed;
  newcomer.since_lag = lag(newcomer, committed);
}

void CatchUpHold::judge(Newcomer& newcomer, Round committed, TimePoint now) {
  if (!newcomer.applies || now < newcomer.since + kObserved ||
      committed.value() < newcomer.since_committed.value() + kObservedRounds) {
    return;
  }
  if (newcomer.asked > newcomer.since_asked) {
    const auto applied =
        static_cast<std::int64_t>(newcomer.asked.value() - newcomer.since_asked.value());
    newcomer.pace = (now - newcomer.since) / applied;
    const std::uint64_t before = newcomer.since_lag;
    const std::uint64_t behind = lag(newcomer, committed);
    newcomer.near = std::max(before, behind) < 2 * kLagMin ? newcomer.near + 1 : 0;
    const bool lags = std::min(before, behind) >= kLagMin && 4 * behind > 3 * before;
    if (lags || newcomer.near >= kNearMax) newcomer.slow = true;
  }
  observe_from(newcomer, committed, now);
}

bool CatchUpHold::may_begin(const Newcomer& newcomer, Round committed) const {
  // The time for a state is not known beforehand.
  if (!newcomer.applies) return budget_ >= kBudget / 2;
  const std::uint64_t behind = lag(newcomer, committed);
  if (behind < kLagMin && newcomer.near < kNearMax) return false;
  return static_cast<double>(behind) * to_seconds(newcomer.pace) <= to_seconds(budget_);
}

// --- Whether a round is held back.

void CatchUpHold::account(const Moment& moment) {
  const Duration passed = moment.now - settled_at_;
  settled_at_ = moment.now;
  if (after_ != moment.committed) paused_ = Duration::zero();
  after_ = moment.committed;
  if (holds_) {
    budget_ -= passed;
    paused_ += passed;
  } else {
    budget_ = std::min(kBudget, budget_ + passed / kRefill);
  }
}

void CatchUpHold::settle(const Moment& moment) {
  account(moment);
  pause_max_ = moment.limit / 2;
  bool any = false;
  for (auto& [peer, newcomer] : newcomers_) {
    judge(newcomer, moment.committed, moment.now);
    const bool moves = newcomer.slow && moment.now < newcomer.moved + patience(newcomer);
    if (newcomer.waited_for && !moves) {
      // It had its chance: it is observed anew.
      newcomer.near = 0;
      newcomer.slow = newcomer.slow && lag(newcomer, moment.committed) >= kLagMin;
    }
    newcomer.waited_for = moves && budget_ > Duration::zero() &&
                          (newcomer.waited_for || may_begin(newcomer, moment.committed));
    any = any || newcomer.waited_for;
  }
  holds_ = any && moment.between && paused_ < pause_max_;
}

std::vector<PeerId> CatchUpHold::waited_for() const {
  std::vector<PeerId> out;
  for (const auto& [peer, newcomer] : newcomers_) {
    if (newcomer.waited_for) out.push_back(peer);
  }
  return out;
}

TimePoint CatchUpHold::deadline() const {
  if (!holds_) return TimePoint::max();
  TimePoint next = settled_at_ + std::min(budget_, pause_max_ - paused_);
  for (const auto& [peer, newcomer] : newcomers_) {
    if (newcomer.waited_for) next = std::min(next, newcomer.moved + patience(newcomer));
  }
  return next;
}

}  // namespace weft
