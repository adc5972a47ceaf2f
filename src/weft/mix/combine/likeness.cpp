// IMPLEMENTATION: Fung, Yoon and Beschastnikh, "The limitations of federated learning in Sybil
// settings", RAID 2020, algorithm 1. All elements count, not those of an output layer alone.
#include "weft/mix/combine/likeness.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// Keeps ratios of likenesses finite.
constexpr double kLikenessMin = 1e-5;
constexpr double kSurest = 0.99;

double inner_product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

// 0 on the diagonal.
std::vector<std::vector<double>> cosines(std::span<const std::span<const float>> histories) {
  std::vector<double> lengths;
  for (const std::span<const float> each : histories) {
    lengths.push_back(std::sqrt(inner_product(each, each)));
  }
  std::vector<std::vector<double>> table(histories.size(), std::vector<double>(histories.size()));
  for (std::size_t i = 0; i < histories.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double lengths_of_both = lengths[i] * lengths[j];
      if (!(lengths_of_both > 0)) continue;
      table[i][j] = table[j][i] = inner_product(histories[i], histories[j]) / lengths_of_both;
    }
  }
  return table;
}

// The logit, so that members are either in or out.
double sharpened(double trust, double most) {
  if (!(most > 0)) return 0;
  const double share = std::min(trust / most, kSurest);
  if (share == 0) return 0;
  return std::clamp(std::log(share / (1 - share)) + 0.5, 0.0, 1.0);
}

}  // namespace

bool has_finite_length(std::span<const float> history) {
  return std::isfinite(inner_product(history, history));
}

std::vector<double> trust_by_likeness(std::span<const std::span<const float>> histories) {
  std::vector<std::vector<double>> alike = cosines(histories);
  std::vector<double> largest;
  largest.reserve(alike.size());
  for (const std::vector<double>& row : alike) {
    largest.push_back(std::ranges::max(row) + kLikenessMin);
  }
  std::vector<double> trust;
  for (std::size_t i = 0; i < alike.size(); ++i) {
    for (std::size_t j = 0; j < alike.size(); ++j) {
      if (largest[i] < largest[j]) alike[i][j] *= largest[i] / largest[j];
    }
    trust.push_back(std::clamp(1 - std::ranges::max(alike[i]), 0.0, 1.0));
  }
  const double most = trust.empty() ? 0 : std::ranges::max(trust);
  for (double& each : trust) each = sharpened(each, most);
  return trust;
}

}  // namespace weft
