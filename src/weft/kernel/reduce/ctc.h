// Connectionist temporal classification: minus the log-probability that a sequence of labels comes
// out when paths of frames lose repeats and blanks.
//
// IMPLEMENTATION: Graves, Fernandez, Gomez, Schmidhuber, "Connectionist temporal classification",
// ICML 2006, section 4.1, in logarithms and f64 (no rescaling). T (2 S + 1) steps a sample; samples
// are split over the threads.
// Fails: labels or lengths out of range throw std::invalid_argument "[ctc_loss] ...".
#pragma once

#include "weft/array/array.h"

namespace weft {

struct CtcRows {
  Array losses;      // [N], type of the log-probabilities; infinite where no path exists
  Array posteriors;  // [T, N, C]: minus the derivative; undefined if not asked for
};

struct CtcRule {
  std::int64_t blank = 0;
  bool zero_infinity = false;  // such losses are 0, and their derivatives
};

// `log_probabilities` [T, N, C], f32 or f64; `targets` [N, S], lengths [N]: contiguous i64.
struct CtcInput {
  Array log_probabilities;
  Array targets;
  Array input_lengths;
  Array target_lengths;
};
CtcRows ctc_rows(const CtcInput& input, const CtcRule& rule, bool with_posteriors);

}  // namespace weft
