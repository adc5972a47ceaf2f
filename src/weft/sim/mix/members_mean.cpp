#include "weft/sim/mix/members_mean.h"

#include <algorithm>
#include <cmath>

namespace weft::sim {

std::vector<float> members_mean(const MemberModels& models, std::size_t elements) {
  std::vector<double> sum(elements);
  for (const std::span<const float> model : models) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(model[i]);
  }
  std::vector<float> mean(elements);
  if (models.empty()) return mean;
  const auto count = static_cast<double>(models.size());
  std::ranges::transform(sum, mean.begin(),
                         [count](double value) { return static_cast<float>(value / count); });
  return mean;
}

double members_distance(const MemberModels& models, std::span<const float> mean) {
  double moved = 0;
  double norm = 0;
  for (const std::span<const float> model : models) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double difference = static_cast<double>(model[i]) - static_cast<double>(mean[i]);
      moved += difference * difference;
    }
  }
  for (const float value : mean) norm += static_cast<double>(value) * static_cast<double>(value);
  return norm > 0 ? std::sqrt(moved / static_cast<double>(models.size()) / norm) : 0.0;
}

}  // namespace weft::sim
