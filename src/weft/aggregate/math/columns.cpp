#include "weft/aggregate/math/columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "weft/aggregate/math/aggregate_loops.h"
#include "weft/aggregate/math/sort_loops.h"

namespace weft {

double median_of(std::span<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double upper = *middle;
  if (values.size() % 2 == 1) return upper;
  const double lower = *std::max_element(values.begin(), middle);
  // Two infinities of different sign have no mean.
  return lower == -upper ? 0 : lower / 2 + upper / 2;
}

double trimmed_mean_of(std::span<float> values, int cut) {
  std::sort(values.begin(), values.end());
  const auto dropped = static_cast<std::size_t>(cut);
  const std::span<const float> kept = values.subspan(dropped, values.size() - 2 * dropped);
  return std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
}

double mean_of_nearest(std::span<const float> values, double centre, int keep) {
  struct Near {
    double distance;
    float value;
  };
  std::vector<Near> order;
  order.reserve(values.size());
  for (const float value : values) {
    const double distance = std::abs(value - centre);
    // Infinity minus infinity.
    order.push_back({std::isnan(distance) ? 0 : distance, value});
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Near& a, const Near& b) { return a.distance < b.distance; });
  double sum = 0;
  for (int i = 0; i < keep; ++i) sum += order[static_cast<std::size_t>(i)].value;
  return sum / keep;
}

void medians_of(const ColumnBlock& block, std::span<float> out) {
  const std::size_t middle = block.rows / 2;
  sort_loops().sort(block.values, block.rows, block.stride, out.size(),
                    {middle - (block.rows + 1) % 2, middle + 1});
  const float* const upper = block.values + middle * block.stride;
  if (block.rows % 2 == 1) {
    std::copy_n(upper, out.size(), out.begin());
    return;
  }
  const float* const lower = upper - block.stride;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double below = lower[i];
    const double above = upper[i];
    out[i] = static_cast<float>(below == -above ? 0 : below / 2 + above / 2);
  }
}

void trimmed_means_of(const ColumnBlock& block, std::size_t cut, std::span<float> out) {
  sort_loops().sort(block.values, block.rows, block.stride, out.size(), {cut, block.rows - cut});
  means_of_rows(block, cut, block.rows - 2 * cut, out);
}

void means_of_rows(const ColumnBlock& block, std::size_t first, std::size_t count,
                   std::span<float> out) {
  std::vector<double> sums(out.size());
  for (std::size_t row = first; row < first + count; ++row) {
    aggregate_loops().add(sums.data(), block.values + row * block.stride, 1, out.size());
  }
  std::ranges::transform(sums, out.begin(), [count](double sum) {
    return static_cast<float>(sum / static_cast<double>(count));
  });
}

}  // namespace weft
