// AcceleratedMeeting: accelerated gossip whose edges and gradients have random clocks, for losses
// that are smooth and strongly convex.
//
// Between events six vectors of a member flow by a linear differential equation. Each of two kinds
// of events is a Poisson process: a gradient at the member's own model, once in `unit` seconds on
// average, and an exchange over an edge, with all edges together sqrt(2 chi1 chi2) times in a unit.
// The member to whom an edge belongs asks; both ends move by the same difference of what they sent,
// so that the sum over all members stays zero. A tick that comes while the member still computes
// waits for the end of the work.
//
// Below the rate that the graph asks for the iteration diverges. A member whose model has grown
// beyond all proportion fails with the rates that were planned and those that took place.
//
// IMPLEMENTATION: Nabli and Oyallon, "DADAO: decoupled accelerated decentralized asynchronous
// optimization", ICML 2023, algorithm 1, with the constants of the authors' program. A gradient is
// applied when it has been computed, at the values of that moment. Cost: six vectors of f64, and 36
// multiplications a coordinate for each event.
//
// Where it stands: the plan "accelerated" with the local update "gradient". Threads: one owner.
// Fails: kInvalidArgument on divergence.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "weft/base/rng.h"
#include "weft/mix/meet/edge_graph.h"
#include "weft/mix/meet/mix_meeting.h"
#include "weft/mix/meet/small_matrix.h"

namespace weft {

struct AcceleratedSettings {
  double mu = 0.1;         // the loss's strong convexity
  double smoothness = 10;  // L: the largest curvature
  double rate = 1;         // exchanges, over those that the graph asks for
  std::uint32_t reach = 1;
  double unit_seconds = 1;
};

class AcceleratedMeeting final : public MixMeeting {
 public:
  AcceleratedMeeting(const MixMeetingOptions& options, MixVector first,
                     const AcceleratedSettings& settings);

  void begin(TimePoint now) override;
  // `result.values` is a gradient.
  void worked(const MixWork& done, const MixReturned& result, TimePoint now) override;
  void asked(std::uint32_t from, const MixReturned& message, TimePoint now) override;
  void answered(std::uint32_t from, const MixGiven& message, TimePoint now) override;
  void lost(std::uint32_t member) override;
  void settle(TimePoint now) override;
  std::optional<TimePoint> next_deadline() const override;

 private:
  // x, x~, y, y~, z, z~.
  static constexpr std::size_t kVectors = 6;
  struct Edge {
    std::uint32_t other = 0;
    Rng ticks;
    TimePoint next;
    // What was sent and not answered, oldest first.
    std::deque<MixVector> sent;
  };

  void flow(TimePoint now);
  void exchange(std::span<const float> own, std::span<const float> other);
  MixVector shown() const;  // y + z
  void tick(Edge& edge, TimePoint now);
  void check_size(TimePoint now);
  // The time to the next event of a process with so many events a unit.
  Duration wait(Rng& ticks, double a_unit) const;

  const AcceleratedSettings settings_;
  const EdgeGraph graph_;
  const double nu_;
  const double ratio_;      // sqrt(nu / L)
  const double all_edges_;  // exchanges a unit
  const SmallMatrix<kVectors> drift_;
  std::array<std::vector<double>, kVectors> state_;
  double first_square_ = 0;
  TimePoint begun_;
  TimePoint at_;  // of the state
  Rng ticks_;
  TimePoint next_gradient_;
  bool works_ = false;
  std::vector<Edge> edges_;
  std::uint64_t exchanges_ = 0;
};

}  // namespace weft
