// Functions of rules for the values of one coordinate, or of many at once. For aggregate.
// Threads: pure.
#pragma once

#include <cstddef>
#include <span>

namespace weft {

// The values of some coordinates, which may be reordered: that of row r at coordinate i is
// values[r * stride + i]. No NaN, no -0.
struct ColumnBlock {
  float* values = nullptr;
  std::size_t rows = 0;
  std::size_t stride = 0;
};

// The middle value; the mean of the middle two where their number is even. Reorders. REQUIRES: not
// empty; no NaN.
double median_of(std::span<float> values);
// Without the `cut` smallest and the `cut` largest. Reorders. REQUIRES: 2 cut < size; no NaN.
double trimmed_mean_of(std::span<float> values, int cut);
// The mean of the `keep` values nearest to `centre`; of equally near ones the first. REQUIRES: no
// NaN; 0 < keep <= size.
double mean_of_nearest(std::span<const float> values, double centre, int keep);

// The same bits for each coordinate of a block, as many as `out` has.
void medians_of(const ColumnBlock& block, std::span<float> out);
void trimmed_means_of(const ColumnBlock& block, std::size_t cut, std::span<float> out);
// The means of `count` rows from `first` on, added in their order. REQUIRES: count > 0.
void means_of_rows(const ColumnBlock& block, std::size_t first, std::size_t count,
                   std::span<float> out);

}  // namespace weft
