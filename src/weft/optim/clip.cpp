#include "weft/optim/clip.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "weft/array/bad_argument.h"
#include "weft/base/parallel.h"

namespace weft {
namespace {

constexpr std::int64_t kGrain = 32 * 1024;  // values that are worth a second thread
constexpr std::size_t kBlock = 4096;  // values summed by one thread; fixes the order of the sum

double sum_of_squares(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

}  // namespace

double global_norm(std::span<const float> values) {
  std::vector<double> sums((values.size() + kBlock - 1) / kBlock);
  parallel_for(
      static_cast<std::int64_t>(sums.size()), 4, [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          const std::size_t first = i * kBlock;
          sums[i] = sum_of_squares(values.subspan(first, std::min(kBlock, values.size() - first)));
        }
      });
  double sum = 0.0;
  for (const double part : sums) sum += part;
  return std::sqrt(sum);
}

double clip_by_global_norm(std::span<float> gradients, double norm_max) {
  if (!(norm_max > 0.0)) {
    throw_bad_argument("clip_by_global_norm", "a largest norm above 0",
                       fmt::format("{}", norm_max));
  }
  const double norm = global_norm(gradients);
  if (!std::isfinite(norm) || norm <= norm_max) return norm;
  const auto scale = static_cast<float>(norm_max / norm);
  float* const values = gradients.data();
  parallel_for(static_cast<std::int64_t>(gradients.size()), kGrain,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) values[i] *= scale;
               });
  return norm;
}

void clip_by_value(std::span<float> gradients, double value_max) {
  if (!(value_max > 0.0)) {
    throw_bad_argument("clip_by_value", "a largest value above 0", fmt::format("{}", value_max));
  }
  const auto high = static_cast<float>(value_max);
  float* const values = gradients.data();
  parallel_for(static_cast<std::int64_t>(gradients.size()), kGrain,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const float value = values[i] > high ? high : values[i];
                   values[i] = value < -high ? -high : value;
                 }
               });
}

}  // namespace weft
