// Functions of rules for the values of one coordinate. For this folder. Threads: pure.
#pragma once

#include <span>

namespace weft {

// The middle value; the mean of the middle two where their number is even. Reorders. REQUIRES: not
// empty; no NaN.
double median_of(std::span<float> values);
// Without the `cut` smallest and the `cut` largest. Reorders. REQUIRES: 2 cut < size; no NaN.
double trimmed_mean_of(std::span<float> values, int cut);
// The mean of the `keep` values nearest to `centre`; of equally near ones the first. REQUIRES: no
// NaN; 0 < keep <= size.
double mean_of_nearest(std::span<const float> values, double centre, int keep);

}  // namespace weft
