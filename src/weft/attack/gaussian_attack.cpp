// gaussian: normally distributed values that know nothing of the model.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/attack/attack_def.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

constexpr Option kGaussianOptions[] = {
    {.name = "sigma",
     .max = 1e30,
     .help = "The standard deviation; 0: such that it is 10 times as long as the honest members' "
             "median."},
    {.name = "mean", .min = -1e30, .max = 1e30, .help = "The mean of each coordinate."},
};
constexpr double kTimesAsLong = 10;

double length_of(std::span<const float> vector) {
  double sum = 0;
  for (const float value : vector) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

double visible_sigma(const AttackView& view) {
  std::vector<double> lengths;
  lengths.reserve(view.honest.size());
  for (const std::span<const float> vector : view.honest) lengths.push_back(length_of(vector));
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return kTimesAsLong * *middle / std::sqrt(static_cast<double>(view.own.size()));
}

void forge_gaussian(const AttackView& view, std::span<const double> options,
                    AttackMemory& /*memory*/, std::span<float> out) {
  const double sigma = options[0] == 0 ? visible_sigma(view) : options[0];
  Rng rng(view.seed);
  for (float& value : out) value = static_cast<float>(options[1] + sigma * rng.normal());
}

}  // namespace

extern const AttackDef gaussian_attack = {
    .name = "gaussian",
    .summary = "Normally distributed values (Blanchard et al. 2017).",
    .options = kGaussianOptions,
    .forge = forge_gaussian,
};

}  // namespace weft
