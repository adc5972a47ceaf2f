#include "weft/aggregate/distances.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/aggregate/math/aggregate_loops.h"

namespace weft {
namespace {

constexpr double kInfinitelyFar = std::numeric_limits<double>::infinity();
// So that a block of all updates stays in the cache while its pairs are measured.
constexpr std::size_t kBlockElements = 1024;
constexpr int kTogether = static_cast<int>(kMeasuredTogether);

// Squares of f32 may have left its range in sums that are not finite, or as small as these: a
// machine that flushes such squares to 0 errs by at most kBlockElements * 2^-126.
constexpr double kSumMin = 0x1p-90;

// How many times as long as the median norm an update within reach may be.
constexpr double kNormsApart = 1e8;

using Table = std::array<double, kMeasuredTogether * kMeasuredTogether>;

// From the points a to a + 3, by row, to the points b to b + 3; those behind the last one are the
// last, measured for nothing.
Table distances_between(std::span<const float* const> points, int a, int b, std::size_t count) {
  const auto last = static_cast<int>(points.size()) - 1;
  std::array<const float*, kMeasuredTogether> from{};
  std::array<const float*, kMeasuredTogether> to{};
  for (int k = 0; k < kTogether; ++k) {
    from[static_cast<std::size_t>(k)] = points[static_cast<std::size_t>(std::min(a + k, last))];
    to[static_cast<std::size_t>(k)] = points[static_cast<std::size_t>(std::min(b + k, last))];
  }
  Table sums{};
  aggregate_loops().distances(from.data(), to.data(), count, sums.data());
  return sums;
}

double wide(std::span<const float* const> points, int a, int b, std::size_t count) {
  return aggregate_loops().wide_distance(points[static_cast<std::size_t>(a)],
                                         points[static_cast<std::size_t>(b)], count);
}

}  // namespace

Distances::Distances(int members)
    : members_(members), values_(static_cast<std::size_t>(members * (members + 1) / 2)) {}

std::size_t Distances::index(int a, int b) const {
  const auto [low, high] = std::minmax(a, b);
  const auto row = static_cast<std::size_t>(high);
  return row * (row - 1) / 2 + static_cast<std::size_t>(low);
}

void Distances::measure(std::span<const std::span<const float>> inputs) {
  const std::size_t elements = inputs.empty() ? 0 : inputs.front().size();
  const std::vector<float> origin(std::min(kBlockElements, elements));
  std::vector<const float*> points(inputs.size() + 1);
  for (std::size_t at = 0; at < elements; at += kBlockElements) {
    std::ranges::transform(inputs, points.begin(), [at](auto input) { return input.data() + at; });
    points.back() = origin.data();
    const std::size_t count = std::min(kBlockElements, elements - at);
    for (int a = 0; a < members_; a += kTogether) {
      for (int b = a + 1; b <= members_; b += kTogether) {
        const Table some = distances_between(points, a, b, count);
        for (int pair = 0; pair < kTogether * kTogether; ++pair) {
          const int from = a + pair / kTogether;
          const int to = b + pair % kTogether;
          if (from >= to || to > members_) continue;
          const double sum = some[static_cast<std::size_t>(pair)];
          const bool in_range = sum >= kSumMin && sum < kInfinitelyFar;
          values_[index(from, to)] += in_range ? sum : wide(points, from, to, count);
        }
      }
    }
  }
}

void Distances::add(const Distances& other) {
  for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
}

double Distances::between(int a, int b) const {
  if (a == b) return a == members_ || std::isfinite(norm(a)) ? 0 : kInfinitelyFar;
  const double value = values_[index(a, b)];
  if (value >= 0) return value;  // not so for NaN
  return kInfinitelyFar;
}

// For coefficients that add up to 0, the square of sum c_i x_i is -1/2 sum c_i c_j |x_i - x_j|^2;
// the origin takes what is missing to 0.
double Distances::of_sum(std::span<const double> coefficients) const {
  std::vector<double> all(coefficients.begin(), coefficients.end());
  double rest = 0;
  for (const double coefficient : coefficients) rest -= coefficient;
  all.push_back(rest);
  double sum = 0;
  for (int a = 0; a <= members_; ++a) {
    for (int b = a + 1; b <= members_; ++b) {
      const double weight = all[static_cast<std::size_t>(a)] * all[static_cast<std::size_t>(b)];
      if (weight != 0) sum -= weight * between(a, b);
    }
  }
  return std::max(sum, 0.0);
}

// For coefficients c_i that add up to 1, the origin's among them, the square of sum c_i x_i - x_k
// is sum c_i |x_i - x_k|^2 - 1/2 sum c_i c_j |x_i - x_j|^2.
std::vector<double> Distances::from_sum(std::span<const double> coefficients) const {
  std::vector<double> all(coefficients.begin(), coefficients.end());
  double rest = 1;
  for (const double coefficient : coefficients) rest -= coefficient;
  all.push_back(rest);
  std::vector<double> result(static_cast<std::size_t>(members_) + 1);
  double within = 0;  // 1/2 sum c_i c_j |x_i - x_j|^2
  for (int to = 0; to <= members_; ++to) {
    double sum = 0;
    for (int i = 0; i <= members_; ++i) {
      const double coefficient = all[static_cast<std::size_t>(i)];
      if (coefficient != 0 && i != to) sum += coefficient * between(i, to);
    }
    result[static_cast<std::size_t>(to)] = sum;
    const double own = all[static_cast<std::size_t>(to)];
    if (own != 0) within += 0.5 * own * sum;
  }
  result.pop_back();  // the distance to the origin
  for (int to = 0; to < members_; ++to) {
    double& distance = result[static_cast<std::size_t>(to)];
    distance = std::isfinite(norm(to)) ? std::max(distance - within, 0.0) : kInfinitelyFar;
  }
  return result;
}

std::vector<double> Distances::within_reach() const {
  std::vector<double> norms;
  norms.reserve(static_cast<std::size_t>(members_));
  for (int i = 0; i < members_; ++i) norms.push_back(std::sqrt(norm(i)));
  std::vector<double> sorted = norms;
  std::ranges::sort(sorted);
  const double longest = kNormsApart * sorted[(sorted.size() - 1) / 2];
  for (double& norm : norms) norm = norm <= longest ? 1 : 0;
  return norms;
}

Distances Distances::of(const WeightMatrix& weights) const {
  Distances result(weights.rows());
  const auto finite = [&](int row) {
    for (int member = 0; member < members_; ++member) {
      if (weights.at(row, member) != 0 && !std::isfinite(norm(member))) return false;
    }
    return true;
  };
  std::vector<double> difference(static_cast<std::size_t>(members_));
  for (int a = 0; a < weights.rows(); ++a) {
    for (int b = a + 1; b <= weights.rows(); ++b) {
      const bool origin = b == weights.rows();
      for (int member = 0; member < members_; ++member) {
        difference[static_cast<std::size_t>(member)] =
            weights.at(a, member) - (origin ? 0 : weights.at(b, member));
      }
      const bool known = finite(a) && (origin || finite(b));
      result.values_[result.index(a, b)] = known ? of_sum(difference) : kInfinitelyFar;
    }
  }
  return result;
}

}  // namespace weft
