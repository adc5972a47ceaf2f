#include "weft/aggregate/columns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

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

}  // namespace weft
