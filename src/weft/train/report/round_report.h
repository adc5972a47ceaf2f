// RoundReport: what one member says of its part of a round, beside the vector that is summed.
//
// It travels as bytes of its own and is committed with the round (collective/round_core.h): all
// members hold the same reports of a round, by rank, however they learned of it. What is done to
// the vector on its way, a median, a mask, noise or fewer bytes, cannot touch it, and there is no
// bound on members. Who is absent, or was too late and had nothing to say, has an empty report.
//
//   report     := version u8 = 1, flags u8 (1: errors, 2: member), sums, compute seconds f64,
//                 validation: sums [, errors] [, member]
//   sums       := loss number, correct number, samples count, labels count
//   errors     := absolute, squared, values, value_squares: number each
//   number     := u64, the bits of an f64 of any value: a loss may be infinite or none at all
//   count      := f64, 0 to 2^53
//   member     := as collective/report/shares.h writes it
//
// A report has 74 to 136 bytes, of the kReportBytesMax that a group takes. It is its sender's word:
// decode() refuses what no member would write, and fold_reports() takes that for an empty report,
// at all members alike.
//
// Where it stands: the step fills in its own, RoundExchange carries it, fold_reports() makes
// RoundMetrics. Threads: values. Fails: decode() with kCorrupt.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/collective/report/shares.h"

namespace weft {

// What a round measured on the test set, with the parameters that it began with; all zeros where it
// measured nothing.
struct ValidationSums {
  double loss = 0;  // already divided by the labels of the whole test set
  double correct = 0;
  double samples = 0;
  double labels = 0;
  friend bool operator==(const ValidationSums&, const ValidationSums&) = default;
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
  friend bool operator==(const ValueErrors&, const ValueErrors&) = default;
};

// What was computed, by one member or by all.
struct ComputedSums {
  double loss = 0;     // already divided by the global batch
  double correct = 0;  // labels that were predicted right; NaN where they are values
  double samples = 0;
  double labels = 0;  // one a sample, or one a token
  ValidationSums validation;
  std::optional<ValueErrors> errors = {};  // evaluations, where labels are values
  double accuracy() const { return labels > 0 ? correct / labels : 0.0; }
};

struct RoundReport : ComputedSums {
  double compute_seconds = 0;  // of this round, by the member's own clock
  // Where shares or deadlines need it: what the member says of itself. Its compute_seconds are
  // those above.
  std::optional<MemberReport> member;

  Bytes encode() const;
  static Result<RoundReport> decode(ByteSpan bytes);
};

// The reports of a round's members, added up in the order of their ranks, in double.
struct RoundMetrics : ComputedSums {
  // By rank; 0 where nothing was said.
  std::vector<double> compute_seconds;
  // By rank; without a name where nothing was said.
  std::vector<MemberReport> members;
};
RoundMetrics fold_reports(std::span<const Bytes> reports);

// The lower median of the members' mean losses, each over its own samples of a batch of `batch`:
// less than half of the members cannot move it beyond what the others say. What is no number counts
// as infinite. NaN where nobody has computed anything.
double median_loss(std::span<const Bytes> reports, double batch);

}  // namespace weft
