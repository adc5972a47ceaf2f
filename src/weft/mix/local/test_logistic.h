// Members with l2-regularised logistic regressions of their own, which are smooth and strongly
// convex, and the minimum of their mean. For tests.
//
// Each member has points from a normal distribution and labels of a plane of its own, so that what
// is best for one is not for all. Threads: one owner. Fails: never.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/mix/local/mix_learner.h"

namespace weft {

struct LogisticOptions {
  std::uint32_t members = 10;
  std::size_t points = 50;
  std::size_t elements = 8;
  double l2 = 0.1;
  double spread = 2;  // of the points
  float rate = 0.1F;  // of update()
};

class LogisticLearner final : public MixLearner {
 public:
  explicit LogisticLearner(const LogisticOptions& options, std::uint64_t seed = 1)
      : options_(options), points_(options.members) {
    for (std::uint32_t member = 0; member < options.members; ++member) {
      Rng draws(seed, member);
      std::vector<double> plane(options.elements);
      for (double& value : plane) value = draws.normal();
      for (std::size_t p = 0; p < options.points; ++p) {
        std::vector<double> point(options.elements);
        double product = 0.5 * draws.normal();
        for (std::size_t i = 0; i < point.size(); ++i) {
          point[i] = options.spread * draws.normal();
          product += point[i] * plane[i];
        }
        // With the sign of the label.
        for (double& value : point) value = product > 0 ? value : -value;
        points_[member].push_back(std::move(point));
      }
    }
  }

  std::size_t elements() const override { return options_.elements; }
  Result<MixLoss> gradient(std::uint32_t member, std::uint64_t /*step*/, std::span<float> model,
                           std::span<float> gradient) override {
    const std::vector<double> exact = gradient_at(member, {model.begin(), model.end()});
    std::ranges::transform(exact, gradient.begin(),
                           [](double value) { return static_cast<float>(value); });
    return MixLoss{1, 0, 1, 1};
  }
  Result<MixLoss> loss(std::uint32_t member, std::uint64_t /*step*/,
                       std::span<const float> model) override {
    const std::vector<double> x(model.begin(), model.end());
    double sum = options_.l2 / 2 * dot(x, x);
    for (const std::vector<double>& point : points_[member]) {
      sum += std::log1p(std::exp(-dot(point, x))) / static_cast<double>(options_.points);
    }
    return MixLoss{sum, 0, 1, 1};
  }
  Status update(std::uint32_t /*member*/, std::uint64_t /*step*/, std::span<const float> gradient,
                std::span<float> model) override {
    for (std::size_t i = 0; i < model.size(); ++i) model[i] -= options_.rate * gradient[i];
    return {};
  }

  // No member's curvature is larger: a quarter of the mean square of its points, by power
  // iteration, and l2.
  double smoothness() const {
    double largest = 0;
    for (const auto& points : points_) {
      std::vector<double> v(elements(), 1.0);
      double value = 0;
      for (int i = 0; i < 200; ++i) {
        std::vector<double> next(elements());
        for (const std::vector<double>& point : points) {
          const double share = dot(point, v) / (4 * static_cast<double>(points.size()));
          for (std::size_t j = 0; j < next.size(); ++j) next[j] += share * point[j];
        }
        value = std::sqrt(dot(next, next));
        for (std::size_t j = 0; j < next.size(); ++j) v[j] = next[j] / value;
      }
      largest = std::max(largest, value);
    }
    return largest + options_.l2;
  }

  // By plain gradient descent, until the mean gradient is zero to rounding.
  std::vector<double> minimum() const {
    std::vector<double> x(elements());
    const double step = 1 / smoothness();
    for (int i = 0; i < 20000; ++i) {
      std::vector<double> mean(elements());
      for (std::uint32_t member = 0; member < options_.members; ++member) {
        const std::vector<double> own = gradient_at(member, x);
        for (std::size_t j = 0; j < x.size(); ++j) mean[j] += own[j] / options_.members;
      }
      for (std::size_t j = 0; j < x.size(); ++j) x[j] -= step * mean[j];
      if (dot(mean, mean) < 1e-30) break;
    }
    return x;
  }

 private:
  static double dot(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  std::vector<double> gradient_at(std::uint32_t member, const std::vector<double>& x) const {
    std::vector<double> sum(x.size());
    for (const std::vector<double>& point : points_[member]) {
      const double share = -1 / (1 + std::exp(dot(point, x)));
      for (std::size_t i = 0; i < x.size(); ++i) {
        sum[i] += share * point[i] / static_cast<double>(options_.points);
      }
    }
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += options_.l2 * x[i];
    return sum;
  }

  const LogisticOptions options_;
  std::vector<std::vector<std::vector<double>>> points_;
};

}  // namespace weft
