// RoundVector: the f32 vector that a round sums: all gradients, then a tail of metrics.
//
// element 0 .. layout.num_elements() - 1   the gradient buffer of the arena, gaps (zeros) included
// then kMetricsElements                    loss, correct, samples, labels, and the seconds each
// member
//                                          computed, in the slot of its rank
// An evaluation round has the tail alone. Every element is contributed exactly once.
//
// Where it stands: autograd's sink -> RoundVector -> Exchange. Threads: the training thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/array/parameter_arena.h"
#include "weft/train/exchange.h"

namespace weft {

inline constexpr std::int64_t kMetricsElements = 64;
inline constexpr std::int64_t kComputeSlots = kMetricsElements - 8;

// One member's part of the metrics of a round; sums over the members are the group's.
struct RoundMetrics {
  double loss = 0;     // already divided by the global batch
  double correct = 0;  // labels that were predicted right; NaN where they are values
  double samples = 0;
  double labels = 0;  // one a sample, or one a token
  double accuracy() const { return labels > 0 ? correct / labels : 0.0; }
  // Seconds of computing by rank; only the own one is set before the exchange. Empty where the
  // group has more members than slots.
  std::vector<double> compute_seconds;
};

std::array<float, kMetricsElements> encode_metrics(const RoundMetrics& own, int rank);
RoundMetrics decode_metrics(std::span<const float> tail, int members);

class RoundVector {
 public:
  // Borrows both, which must outlive this.
  RoundVector(ParameterArena& arena, Exchange& exchange);

  std::int64_t elements() const { return gradient_elements_ + kMetricsElements; }
  // Opens the round: nothing is contributed yet.
  Status begin();
  // The gradient of parameter `id` stands in the arena, complete.
  void add(ParameterId id);
  // Contributes what no add() has (as zeros), and the metrics.
  void add_rest(const RoundMetrics& own, int rank);
  // Waits for the sums: gradients and tail.
  Result<std::span<const float>> finish();

 private:
  void contribute(int index);

  ParameterArena& arena_;
  Exchange& exchange_;
  const std::int64_t gradient_elements_;
  std::vector<bool> contributed_;
  std::array<float, kMetricsElements> tail_{};
};

}  // namespace weft
