#include "weft/collective/link/state_throttle.h"

#include <algorithm>

namespace weft {

// The used share of an expected gap; the rest is for wrong estimates.
static constexpr double kGapUsed = 0.9;
// What a newcomer gets of each round's sums where they are overdue, so that it comes nearer.
static constexpr double kFollow = 1.25;
// A gap counts as longer than foreseen after twice its time and this.
static constexpr Duration kLonger = std::chrono::milliseconds(50);
// How much one more pause counts, and one more exchange: what waited for something else than the
// link was slower than that is.
static constexpr double kPauseWeight = 1.0 / 8;
static constexpr double kHigherRate = 1.0 / 2;
static constexpr double kLowerRate = 1.0 / 16;
// A longer pause is none of the usual ones.
static constexpr int kPauseMost = 4;
// Seconds: a rate that was measured while the link stood still must not shut newcomers out for
// long.
static constexpr double kOwedMost = 1;
// Less than this does not measure a link.
static constexpr std::size_t kRateBytesMin = std::size_t{16} << 10;

Duration StateThrottle::quiet() const {
  return std::clamp(from_seconds(to_seconds(pause_) * options_.quiet_pauses), options_.quiet_min,
                    options_.quiet_max);
}

double StateThrottle::saved(TimePoint now) const {
  return std::min(saved_ + to_seconds(now - saved_at_) * options_.share,
                  to_seconds(options_.saved_max));
}

// What the newcomer's link holds back does not lie in this member's.
double StateThrottle::backlog(TimePoint now) const {
  const double left = backlog_ - to_seconds(now - backlog_at_) * rate_;
  return std::clamp(left, 0.0, static_cast<double>(in_flight_));
}

void StateThrottle::spend(double bytes, TimePoint now) {
  saved_ = std::max(saved(now) - seconds_for(bytes), -kOwedMost);
  saved_at_ = now;
}

void StateThrottle::learn_rate() {
  if (busy_bytes_ >= kRateBytesMin && busy_time_ > Duration()) {
    const double seen = static_cast<double>(busy_bytes_) / to_seconds(busy_time_);
    rate_ += (seen - rate_) * (seen > rate_ ? kHigherRate : kLowerRate);
  }
  busy_bytes_ = 0;
  busy_time_ = Duration();
}

void StateThrottle::round_moves(TimePoint now) {
  if (!rounds_) saved_at_ = now;
  const Duration paused = now - moved_;
  if (!exchanging_ || paused >= quiet()) {
    // Before the first round there was no gap to learn from.
    gap_before_ = last_gap_;
    last_gap_ = rounds_ ? paused : Duration();
    // The round waits behind what is under way.
    if (rounds_) spend(backlog(now), now);
  } else {
    const double usual = to_seconds(pause_);
    const double seen = std::min(to_seconds(paused), usual * kPauseMost);
    pause_ = std::max(from_seconds(usual + (seen - usual) * kPauseWeight), Duration(1));
    busy_time_ += paused;
  }
  rounds_ = exchanging_ = true;
  moved_ = now;
}

void StateThrottle::on_round_sent(std::size_t bytes, TimePoint now) {
  round_moves(now);
  result_credit_ = std::min(result_credit_ + static_cast<double>(bytes) * result_share_,
                            static_cast<double>(options_.credit_bytes_max));
}

void StateThrottle::on_round_received(std::size_t bytes, TimePoint now) {
  round_moves(now);
  busy_bytes_ += bytes;
}

void StateThrottle::on_round_over(TimePoint now) {
  if (!exchanging_) return;
  exchanging_ = false;
  moved_ = now;
  learn_rate();
}

void StateThrottle::set_group(int members, int newcomers) {
  const double needed = kFollow * newcomers / (2.0 * std::max(members - 1, 1));
  result_share_ = std::min(needed, 1.0);
  members_ = members;
}

TimePoint StateThrottle::foreseen_end() const {
  return moved_ + from_seconds(to_seconds(std::min(last_gap_, gap_before_)) * kGapUsed);
}

TimePoint StateThrottle::longer_from() const {
  return foreseen_end() + (foreseen_end() - moved_) + kLonger;
}

bool StateThrottle::link_is_free(TimePoint now) const {
  return !waiting_ && (!exchanging_ || now >= moved_ + quiet());
}

bool StateThrottle::may_send(StateKind kind, std::size_t bytes, TimePoint now) const {
  if (!rounds_ || has_credit(kind, bytes)) return true;
  const auto size = static_cast<double>(bytes);
  if (link_is_free(now)) {
    const TimePoint left = now + from_seconds(seconds_for(backlog(now) + size));
    return saved(now) >= 0 || left <= foreseen_end() || now >= longer_from();
  }
  return saved(now) >= price(size);
}

// The price of a piece among a round's data. A delay of one member delays the ring, and the
// members' delays add up.
double StateThrottle::price(double bytes) const {
  return std::min(seconds_for(bytes * members_), to_seconds(options_.saved_max));
}

bool StateThrottle::has_credit(StateKind kind, std::size_t bytes) const {
  return kind == StateKind::kOverdueResult && result_credit_ >= static_cast<double>(bytes);
}

void StateThrottle::on_state_sent(StateKind kind, std::size_t bytes, TimePoint now) {
  const auto size = static_cast<double>(bytes);
  if (has_credit(kind, bytes)) {
    result_credit_ -= size;
  } else if (rounds_ && !link_is_free(now)) {
    spend(size * members_, now);
  }
  in_flight_ += bytes;
  backlog_ = backlog(now) + size;
  backlog_at_ = now;
}

void StateThrottle::on_state_gone(std::size_t bytes) { in_flight_ -= std::min(bytes, in_flight_); }

TimePoint StateThrottle::next_change(StateKind kind, std::size_t bytes, TimePoint now) const {
  if (may_send(kind, bytes, now)) return TimePoint::max();
  const auto saved_up = [&](double wanted) {
    const double missing = std::max(0.0, wanted - saved(now)) / options_.share;
    return now + std::max(from_seconds(missing), quiet());
  };
  if (link_is_free(now)) return std::min(saved_up(0), std::max(longer_from(), now + Duration(1)));
  // The link is polled: there is no event when its queue is empty.
  const TimePoint quiet_at = waiting_ ? now + quiet() : moved_ + quiet();
  return std::min(quiet_at, saved_up(price(static_cast<double>(bytes))));
}

}  // namespace weft
