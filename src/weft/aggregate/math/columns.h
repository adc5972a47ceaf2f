// Functions of rules for the values of one coordinate, or of many at once. For aggregate.
// Threads: pure.
#pragma once

#include <cstddef>
#include <span>

namespace weft {

// The values of some coordinates: that of row r at coordinate i is rows[r][i]. NaN counts as
// infinity and -0 as 0.
using ColumnRows = std::span<const float* const>;

// The middle value; the mean of the middle two where their number is even. Reorders. REQUIRES: not
// empty; no NaN.
double median_of(std::span<float> values);
// Without the `cut` smallest and the `cut` largest. Reorders. REQUIRES: 2 cut < size; no NaN.
double trimmed_mean_of(std::span<float> values, int cut);
// The mean of the `keep` values nearest to `centre`; of equally near ones the first. REQUIRES: no
// NaN; 0 < keep <= size.
double mean_of_nearest(std::span<const float> values, double centre, int keep);

// The same bits for each coordinate, as many as `out` has.
void medians_of(ColumnRows rows, std::span<float> out);
void trimmed_means_of(ColumnRows rows, std::size_t cut, std::span<float> out);
// The means of the rows, added in their order, with NaN as NaN. REQUIRES: not empty.
void means_of_rows(ColumnRows rows, std::span<float> out);

}  // namespace weft
