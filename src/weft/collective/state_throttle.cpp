#include "weft/collective/state_throttle.h"

#include <algorithm>

namespace weft {

// Of a gap that is foreseen; the rest is for what was foreseen wrongly.
static constexpr double kGapUsed = 0.9;
// What a newcomer gets of each round's sums, so that it comes nearer.
static constexpr double kFollow = 1.25;
// A gap counts as longer than foreseen after twice its time and this.
static constexpr Duration kLonger = std::chrono::milliseconds(50);
// How much of a new measurement counts: of a lower one much, of a higher one little, because the
// first blocks that several members send to one newcomer arrive faster than those that follow.
static constexpr double kLowerRate = 0.7;
static constexpr double kHigherRate = 0.05;
// Of a block that overran: it had the line alone, so the rate that others kept low comes back.
static constexpr double kAloneRate = 0.5;
// What an overrun is taken to cost at most: a rate that was measured while the line stood still
// must not shut newcomers out. Where a block really takes longer, rounds lose more than their part.
static constexpr Duration kOverrunMost = std::chrono::seconds(3);

void StateThrottle::round_moves(TimePoint now) {
  moved_ = now;
  if (exchanging_) return;
  exchanging_ = true;
  // Before the first round there was no gap to learn from.
  gap_before_ = last_gap_;
  last_gap_ = rounds_ ? now - gap_begun_ : Duration();
  if (!rounds_) overran_at_ = now;
  rounds_ = true;
}

void StateThrottle::on_round_sent(std::size_t bytes, TimePoint now) {
  round_moves(now);
  const auto earned = static_cast<double>(bytes);
  const auto most = static_cast<double>(options_.credit_bytes_max);
  block_credit_ = std::min(block_credit_ + earned * options_.share, most);
  result_credit_ = std::min(result_credit_ + earned * result_share_, most);
}

void StateThrottle::set_group(int members, int newcomers) {
  const double needed = kFollow * newcomers / (2.0 * std::max(members - 1, 1));
  result_share_ = std::clamp(needed, options_.share, 1.0);
}

void StateThrottle::on_round_received(TimePoint now) { round_moves(now); }

void StateThrottle::on_round_over(TimePoint now) {
  if (!exchanging_) return;
  exchanging_ = false;
  gap_begun_ = now;
}

double StateThrottle::backlog(TimePoint now) const {
  return std::max(0.0, backlog_ - to_seconds(now - backlog_at_) * rate_);
}

Duration StateThrottle::drain(std::size_t more, TimePoint now) const {
  return from_seconds((backlog(now) + static_cast<double>(more)) / rate_);
}

TimePoint StateThrottle::foreseen_end() const {
  return gap_begun_ + from_seconds(to_seconds(std::min(last_gap_, gap_before_)) * kGapUsed);
}

TimePoint StateThrottle::longer_from() const {
  return foreseen_end() + (foreseen_end() - gap_begun_) + kLonger;
}

bool StateThrottle::may_send(StateKind kind, std::size_t bytes, TimePoint now) const {
  return credit(kind) >= static_cast<double>(bytes) || line_is_free(bytes, now);
}

bool StateThrottle::line_is_free(std::size_t bytes, TimePoint now) const {
  if (busy(now)) return false;
  const bool none_under_way = backlog(now) < 1;
  if (exchanging_) return none_under_way;
  if (!rounds_ || now + drain(bytes, now) <= foreseen_end()) return true;
  if (now >= longer_from() + options_.idle_after) return true;
  if (now >= longer_from()) return none_under_way;
  return none_under_way && may_overrun(bytes, now);
}

// One overrun spends all that was saved up: a long time without newcomers must not end in many.
bool StateThrottle::may_overrun(std::size_t bytes, TimePoint now) const {
  const Duration over = std::min(now + drain(bytes, now) - foreseen_end(), kOverrunMost);
  return to_seconds(over) <= to_seconds(now - overran_at_) * options_.overrun;
}

void StateThrottle::on_state_sent(StateKind kind, std::size_t bytes, TimePoint now) {
  if (!line_is_free(bytes, now)) {
    (kind == StateKind::kBlock ? block_credit_ : result_credit_) -= static_cast<double>(bytes);
  } else if (rounds_ && !exchanging_ && now < longer_from() &&
             now + drain(bytes, now) > foreseen_end()) {
    overran_at_ = now;
  }
  backlog_ = backlog(now) + static_cast<double>(bytes);
  backlog_at_ = now;
}

void StateThrottle::on_state_delivered(std::size_t bytes, TimePoint sent, TimePoint now) {
  // What was under way before it had the line first.
  const Duration took = now - std::max(sent, std::min(delivered_at_, now));
  delivered_at_ = now;
  const double measured = static_cast<double>(bytes) / std::max(to_seconds(took), 1e-6);
  backlog_ = backlog(now);
  backlog_at_ = now;
  double weight = measured < rate_ ? kLowerRate : kHigherRate;
  if (sent == overran_at_) weight = kAloneRate;
  rate_ += (measured - rate_) * weight;
}

TimePoint StateThrottle::next_change(StateKind kind, std::size_t bytes, TimePoint now) const {
  if (may_send(kind, bytes, now)) return TimePoint::max();
  if (busy(now)) return moved_ + options_.quiet_after;
  const TimePoint emptied = now + std::max(drain(0, now), Duration(1));
  if (exchanging_) return emptied;
  const TimePoint longer = longer_from();
  return now < longer ? longer : std::min(emptied, longer + options_.idle_after);
}

}  // namespace weft
