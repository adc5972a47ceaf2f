// StateThrottle: when a member may send state to others without slowing its own rounds.
//
// The data of rounds has priority on a member's network connection. While none of it is sent, state
// is, in small pieces, so that the data of a round waits behind little. The time that rounds lose
// nevertheless is counted: for bytes in flight when a round's data is sent again, and for pieces
// sent between it. Rounds lose at most the part `share` of all time to state. When that is used up,
// state is sent only in gaps that are expected to be long enough: the next one counts as long as
// the shorter of the last two. Members have the same gaps, so pieces that several of them send at
// once cost a round no more than the longest.
//
// The rate is estimated from the data that arrives in rounds: all links of a ring carry the same. A
// newcomer must also get the sums of rounds as fast as they are made; if they are overdue, they get
// a part of the rounds' bandwidth.
//
// Where it stands: StateServer owns one; SwarmCore reports to it what is sent.
// Threads: one owner. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/time.h"

namespace weft {

struct StateThrottleOptions {
  // The share of time that rounds may lose, and how much of it may be saved up.
  double share = 1.0 / 20;
  Duration saved_max = std::chrono::milliseconds(50);
  // A round's data is sent continuously: a pause of this many usual ones between two of its pieces,
  // within these bounds, means that the network is free.
  double quiet_pauses = 4;
  Duration quiet_min = std::chrono::milliseconds(2);
  Duration quiet_max = std::chrono::milliseconds(250);
  // How much of overdue sums may be saved up.
  std::size_t credit_bytes_max = std::size_t{512} << 10;
  // The assumed rate until rounds have shown it.
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
  // Data of a round waits here to be sent.
  void set_waiting(bool waiting) { waiting_ = waiting; }
  bool exchanging() const { return exchanging_; }
  // The number of members that serve, and of newcomers, each of which needs the sums of every round
  // from one of them. A member of n sends 2 (n-1)/n times a round's vector.
  void set_group(int members, int newcomers);

  // --- What state does.
  bool may_send(StateKind kind, std::size_t bytes, TimePoint now) const;
  void on_state_sent(StateKind kind, std::size_t bytes, TimePoint now);
  // This many of the sent bytes have arrived, or are lost.
  void on_state_gone(std::size_t bytes);
  std::size_t in_flight() const { return in_flight_; }

  // When may_send() may change without an event; never if it is true.
  TimePoint next_change(StateKind kind, std::size_t bytes, TimePoint now) const;

 private:
  void round_moves(TimePoint now);
  void learn_rate();
  bool link_is_free(TimePoint now) const;
  bool has_credit(StateKind kind, std::size_t bytes) const;
  Duration quiet() const;
  // The seconds that rounds may lose now.
  double saved(TimePoint now) const;
  void spend(double bytes, TimePoint now);
  double price(double bytes) const;
  double seconds_for(double bytes) const { return bytes / rate_; }
  // The time for state that this member has not sent completely yet.
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
  // In this round: the bytes that have arrived, and for how long its data has been sent.
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
