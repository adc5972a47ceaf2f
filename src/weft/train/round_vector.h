// RoundVector: the f32 vector that a round sums: all gradients, then a tail of metrics.
//
// element 0 .. layout.num_elements() - 1   the gradient buffer of the arena, gaps (zeros) included
// then kMetricsElements                    loss, correct, samples, labels; the sums of ValueErrors;
//                                          the first four of the test set, where it is measured;
//                                          then for each rank the seconds that it computed and its
//                                          report
// An evaluation round has the tail alone. Every element is contributed exactly once.
//
// Where it stands: autograd's sink -> RoundVector -> Exchange. Threads: the training thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/collective/shares.h"
#include "weft/train/exchange.h"

namespace weft {

inline constexpr std::int64_t kMemberSlots = 256;
inline constexpr std::int64_t kMetricsElements =
    12 + kMemberSlots * static_cast<std::int64_t>(kReportElements);

// What a round measured on the test set, with the parameters that it began with; all zeros where it
// measured nothing.
struct ValidationSums {
  double loss = 0;  // already divided by the labels of the whole test set
  double correct = 0;
  double samples = 0;
  double labels = 0;
};

// How far predicted values are off, as sums over labels, of an evaluation. All but `absolute` are
// in units of each target's deviation, so that targets count alike.
struct ValueErrors {
  double absolute = 0;  // |value - predicted|, in the units of the targets
  double squared = 0;   // (value - predicted)^2
  double values = 0;
  double value_squares = 0;

  // Means over `labels` of them: the absolute error, and the share of the variance that the model
  // explains (1: all of it, 0: no better than the mean). NaN where nothing was measured, R2 also
  // where the values do not vary.
  double mean_absolute(double labels) const;
  double r2(double labels) const;
};

// One member's part of the metrics of a round; sums over the members are the group's.
struct RoundMetrics {
  double loss = 0;     // already divided by the global batch
  double correct = 0;  // labels that were predicted right; NaN where they are values
  double samples = 0;
  double labels = 0;  // one a sample, or one a token
  ValidationSums validation;
  std::optional<ValueErrors> errors = {};  // evaluations, where labels are values
  double accuracy() const { return labels > 0 ? correct / labels : 0.0; }
  // Seconds of computing by rank; only the own one is set before the exchange. Empty where the
  // group has more members than slots.
  std::vector<double> compute_seconds;
  // What members tell of themselves where shares or deadlines need it; by rank, up to the last that
  // told something; only the own one is set before the exchange.
  std::vector<MemberReport> reports;
};

std::array<float, kMetricsElements> encode_metrics(const RoundMetrics& own, int rank);
RoundMetrics decode_metrics(std::span<const float> tail, int members);

class RoundVector {
 public:
  // Borrows both, which must outlive this. With `whole` nothing is handed over before add_whole().
  RoundVector(ParameterArena& arena, Exchange& exchange, bool whole = false);

  std::int64_t elements() const { return gradient_elements_ + kMetricsElements; }
  // Opens the round: nothing is contributed yet.
  Status begin();
  // The gradient of parameter `id` stands in the arena, complete.
  void add(ParameterId id);
  // Contributes what no add() has (as zeros), and the metrics.
  void add_rest(const RoundMetrics& own, int rank);
  // Completes the arena's gradients, as add_rest() does, and hands over nothing.
  std::span<const float> complete();
  // Contributes everything: these gradients and the metrics. Borrows the gradients until finish().
  void add_whole(std::span<const float> gradients, const RoundMetrics& own, int rank);
  // Waits for the sums: gradients and tail.
  Result<std::span<const float>> finish();

 private:
  void contribute(int index);

  ParameterArena& arena_;
  Exchange& exchange_;
  const bool whole_;
  const std::int64_t gradient_elements_;
  std::vector<bool> contributed_;
  std::array<float, kMetricsElements> tail_{};
};

}  // namespace weft
