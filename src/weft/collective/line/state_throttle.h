// StateThrottle: when a member may send state to others without slowing its own rounds.
//
// A member's line carries the data of rounds first. While none of it moves, state has the line; a
// small piece at a time, so that what a round then sends waits behind little. What rounds lose all
// the same is counted as time: what is under way when a round's data moves again, and pieces that
// go in between it. Of all time that passes, rounds lose at most `share` to state. Where that is
// used up, state goes only in what is foreseen to be a long enough gap: the next one is taken to
// be as long as the shorter of the last two. Members' gaps are the same, so what several of them
// send at once costs a round no more than the longest.
//
// How fast the line is, is learned from what arrives in rounds: all lines of a ring carry the same.
// A newcomer must also get the sums of rounds as fast as they are made; where they are overdue,
// they get a part of what the rounds send.
//
// Where it stands: StateServer owns one; SwarmCore tells it what moves.
// Threads: one owner. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/time.h"

namespace weft {

struct StateThrottleOptions {
  // Of the time that passes, what rounds may lose; and what of it may be saved up.
  double share = 1.0 / 20;
  Duration saved_max = std::chrono::milliseconds(50);
  // Data of a round moves on and on: a pause of so many usual ones between two pieces of it, and
  // within these bounds, says that the line is free.
  double quiet_pauses = 4;
  Duration quiet_min = std::chrono::milliseconds(2);
  Duration quiet_max = std::chrono::milliseconds(250);
  // Of overdue sums, what may be saved up.
  std::size_t credit_bytes_max = std::size_t{512} << 10;
  // How fast the line is, until rounds have shown it.
  double bytes_per_second = 1e6;
};

enum class StateKind : std::uint8_t {
  kBlock,
  kResult,
  kOverdueResult,  // rounds have passed since it was asked for
};

class StateThrottle {
 public:
  explicit StateThrottle(StateThrottleOptions options = {})
      : options_(options), rate_(options.bytes_per_second), saved_(to_seconds(options.saved_max)) {}

  // --- What rounds do.
  void on_round_sent(std::size_t bytes, TimePoint now);
  void on_round_received(std::size_t bytes, TimePoint now);
  // This member has received and sent all of the round's data.
  void on_round_over(TimePoint now);
  // Data of a round lies here and waits for the line.
  void set_waiting(bool waiting) { waiting_ = waiting; }
  bool exchanging() const { return exchanging_; }
  // So many members serve so many newcomers, each of which needs the sums of every round from one
  // of them. A member of n sends 2 (n-1)/n times a round's vector.
  void set_group(int members, int newcomers);

  // --- What state does.
  bool may_send(StateKind kind, std::size_t bytes, TimePoint now) const;
  void on_state_sent(StateKind kind, std::size_t bytes, TimePoint now);
  // So many bytes of what was sent have arrived, or are lost.
  void on_state_gone(std::size_t bytes);
  std::size_t in_flight() const { return in_flight_; }

  // When may_send() may say otherwise although nothing happens; never if it says yes.
  TimePoint next_change(StateKind kind, std::size_t bytes, TimePoint now) const;

 private:
  void round_moves(TimePoint now);
  void learn_rate();
  bool line_is_free(TimePoint now) const;
  bool has_credit(StateKind kind, std::size_t bytes) const;
  Duration quiet() const;
  // What rounds may lose now, in seconds.
  double saved(TimePoint now) const;
  void spend(double bytes, TimePoint now);
  double price(double bytes) const;
  double seconds_for(double bytes) const { return bytes / rate_; }
  // Of state that has not left this member's line yet.
  double backlog(TimePoint now) const;
  // The end of the gap as foreseen; and when it has turned out to be much longer than that.
  TimePoint foreseen_end() const;
  TimePoint longer_from() const;

  StateThrottleOptions options_;
  bool exchanging_ = false;
  bool waiting_ = false;
  // There has been a round.
  bool rounds_ = false;
  TimePoint moved_{};
  Duration pause_ = std::chrono::milliseconds(10);
  Duration last_gap_{};
  Duration gap_before_{};
  // Of this round: what has arrived, and for how long its data has moved.
  std::size_t busy_bytes_ = 0;
  Duration busy_time_{};
  double rate_;
  double saved_;
  TimePoint saved_at_{};
  int members_ = 1;
  double result_share_ = 0;
  double result_credit_ = 0;
  std::size_t in_flight_ = 0;
  double backlog_ = 0;
  TimePoint backlog_at_{};
};

}  // namespace weft
