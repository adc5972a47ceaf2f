// RoundMeter: speed, remaining time and shares of the time, over the last rounds.
//
// compute: forward, backward, optimizer. wait: how much longer the slowest member computed than
// this one. send: the rest of the exchange.
// A pause, which is a round of more than five times the usual length, does not describe the speed:
// it counts only for the shares and the mean over all.
// Threads: a value of the training thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace weft {

struct RoundTiming {
  double seconds = 0;           // all of the round, reruns included
  double compute_seconds = 0;   // own
  double exchange_seconds = 0;  // inside finish()
  double slowest_seconds = 0;   // the largest compute time among the members
  std::int64_t samples = 0;     // of the whole group
};

struct RoundShares {
  double compute = 0;
  double wait = 0;
  double send = 0;
};

class RoundMeter {
 public:
  void add(const RoundTiming& timing);

  double samples_per_second() const;
  double seconds_per_round() const;
  RoundShares shares() const;
  // Over everything added.
  double mean_samples_per_second() const;

 private:
  static constexpr std::size_t kRecentMax = 32;
  static constexpr double kPauseMedians = 5;
  // The recent rounds without pauses.
  struct Usual {
    double seconds = 0;
    std::int64_t samples = 0;
    std::int64_t rounds = 0;
  };
  Usual usual() const;

  std::deque<RoundTiming> recent_;
  double seconds_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace weft
