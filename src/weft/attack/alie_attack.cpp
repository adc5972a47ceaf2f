// alie: a little is enough. Each coordinate is as far from the honest members' mean as some of them
// are, so that a rule cannot tell which of them lie.
//
// The deviation is that of a sample (divided by n - 1), as in published code. Without a given
// number of deviations it is the largest with which the attackers and the honest members beyond
// them are a majority, if values are normally distributed.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/attack/attack_def.h"

namespace weft {
namespace {

constexpr Option kAlieOptions[] = {
    {.name = "z",
     .min = -1e30,
     .max = 1e30,
     .help = "Standard deviations from the mean; 0: what the numbers of members allow."},
};

// The z below which a normally distributed value is with this probability, from 0 for 1/2 on.
double normal_quantile(double probability) {
  double low = 0;
  double high = 8;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    const double below = 0.5 * std::erfc(-middle / std::numbers::sqrt2);
    (below < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

double deviations_allowed(std::size_t honest, int liars) {
  const auto members = static_cast<double>(honest) + liars;
  const double needed = std::max(0.0, std::floor(members / 2 + 1) - liars);
  const auto among = static_cast<double>(honest);
  return normal_quantile(std::clamp((among - needed) / among, 0.5, 0.999));
}

double honest_deviation(const AttackView& view, std::size_t at, double mean) {
  if (view.honest.size() < 2) return 0;
  double sum = 0;
  for (const std::span<const float> vector : view.honest) {
    const double difference = static_cast<double>(vector[at]) - mean;
    sum += difference * difference;
  }
  return std::sqrt(sum / static_cast<double>(view.honest.size() - 1));
}

void forge_alie(const AttackView& view, std::span<const double> options, AttackMemory& /*memory*/,
                std::span<float> out) {
  const double z =
      options[0] == 0 ? deviations_allowed(view.honest.size(), view.liars) : options[0];
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double mean = honest_mean(view, i);
    out[i] = static_cast<float>(mean + z * honest_deviation(view, i, mean));
  }
}

}  // namespace

extern const AttackDef alie_attack = {
    .name = "alie",
    .summary = "The honest members' mean and some standard deviations (Baruch et al. 2019).",
    .options = kAlieOptions,
    .forge = forge_alie,
};

}  // namespace weft
