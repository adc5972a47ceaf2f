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

void medians_of(ColumnRows rows, std::span<float> out) {
  const std::size_t middle = rows.size() / 2;
  const SortedTable table{rows.data(), rows.size(), out.size()};
  if (rows.size() % 2 == 1) {
    sort_loops().sort(table, {middle, middle + 1}, out.data(), out.size());
    return;
  }
  std::vector<float> both(2 * out.size());
  sort_loops().sort(table, {middle - 1, middle + 1}, both.data(), out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double below = both[i];
    const double above = both[out.size() + i];
    out[i] = static_cast<float>(below == -above ? 0 : below / 2 + above / 2);
  }
}

void trimmed_means_of(ColumnRows rows, std::size_t cut, std::span<float> out) {
  sort_loops().means({rows.data(), rows.size(), out.size()}, {cut, rows.size() - cut}, out.data());
}

void means_of_rows(ColumnRows rows, std::span<float> out) {
  std::vector<double> sums(out.size());
  for (const float* const row : rows) aggregate_loops().add(sums.data(), row, 1, out.size());
  std::ranges::transform(sums, out.begin(), [count = rows.size()](double sum) {
    return static_cast<float>(sum / static_cast<double>(count));
  });
}

}  // namespace weft
