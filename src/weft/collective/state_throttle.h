// StateThrottle: when a member may send state to others without slowing its own rounds.
//
// A member's line carries the data of rounds first. What rounds send earns state a share: blocks of
// a snapshot a small one, the sums of past rounds at least so much that a newcomer can follow. More
// goes when the line is free: in the gap between two exchanges, when members compute, state gets
// the whole line, but only what will have left before the gap ends: the next gap is taken to be as
// long as the shorter of the last two, and how fast state leaves is learned from the requests that
// follow delivered blocks. A gap that lasts longer than foreseen is used a piece at a time. A block
// that no gap has room for goes at a gap's beginning, so seldom that rounds lose a small part of
// their time to it: however slow the line and short the gaps, a newcomer comes nearer.
//
// Where it stands: StateServer owns one; SwarmCore tells it what moves.
// Threads: one owner. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/time.h"

namespace weft {

struct StateThrottleOptions {
  // Bytes of blocks for each byte that a round sends, and of results at least.
  double share = 1.0 / 16;
  // A round of which nothing has come or gone for so long waits for something else than the line.
  Duration quiet_after = std::chrono::milliseconds(250);
  // What may be saved up of the share.
  std::size_t credit_bytes_max = std::size_t{4} << 20;
  // How fast state leaves, until it is known.
  double bytes_per_second = 1e6;
  // Of the time that passes, what blocks may reach over the ends of gaps. Members' gaps are the
  // same, so that what several of them send at once costs a round no more than the longest.
  double overrun = 1.0 / 10;
  // A gap that lasts so much longer than foreseen is the run standing still.
  Duration idle_after = std::chrono::seconds(1);
};

enum class StateKind : std::uint8_t { kBlock, kResult };

class StateThrottle {
 public:
  explicit StateThrottle(StateThrottleOptions options = {})
      : options_(options), result_share_(options.share), rate_(options.bytes_per_second) {}

  // --- What rounds do.
  void on_round_sent(std::size_t bytes, TimePoint now);
  void on_round_received(TimePoint now);
  // This member has received and sent all of the round's data.
  void on_round_over(TimePoint now);
  bool exchanging() const { return exchanging_; }
  // So many members serve so many newcomers, each of which needs the sums of every round from one
  // of them. A member of n sends 2 (n-1)/n times a round's vector.
  void set_group(int members, int newcomers);

  // --- What state does.
  bool may_send(StateKind kind, std::size_t bytes, TimePoint now) const;
  void on_state_sent(StateKind kind, std::size_t bytes, TimePoint now);
  // What was sent at `sent` has arrived.
  void on_state_delivered(std::size_t bytes, TimePoint sent, TimePoint now);

  // When may_send() may say otherwise although nothing happens; never if it says yes.
  TimePoint next_change(StateKind kind, std::size_t bytes, TimePoint now) const;

 private:
  void round_moves(TimePoint now);
  bool line_is_free(std::size_t bytes, TimePoint now) const;
  double credit(StateKind kind) const {
    return kind == StateKind::kBlock ? block_credit_ : result_credit_;
  }
  // The round that is open moves.
  bool busy(TimePoint now) const { return exchanging_ && now < moved_ + options_.quiet_after; }
  // What reaches over the gap's end has been saved up.
  bool may_overrun(std::size_t bytes, TimePoint now) const;
  // Bytes of state that have not left yet, and how long they and `more` take.
  double backlog(TimePoint now) const;
  Duration drain(std::size_t more, TimePoint now) const;
  // The gap's end as foreseen.
  TimePoint foreseen_end() const;
  // From then on it is longer than that.
  TimePoint longer_from() const;

  StateThrottleOptions options_;
  bool exchanging_ = false;
  // There has been a round.
  bool rounds_ = false;
  TimePoint moved_{};
  TimePoint gap_begun_{};
  Duration last_gap_{};
  Duration gap_before_{};
  double result_share_;
  double block_credit_ = 0;
  double result_credit_ = 0;
  double backlog_ = 0;
  TimePoint backlog_at_{};
  double rate_;
  // From then on time is saved up for the next overrun.
  TimePoint overran_at_{};
  TimePoint delivered_at_{};
};

}  // namespace weft
