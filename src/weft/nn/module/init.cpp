#include "weft/nn/init.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

namespace weft {

Fans fans_of(const Shape& shape) {
  if (shape.size() < 2) {
    throw std::invalid_argument(fmt::format(
        "[init] expected a weight with at least 2 dimensions, got {}", to_string(shape)));
  }
  std::int64_t window = 1;
  for (int axis = 2; axis < shape.size(); ++axis) window *= shape[axis];
  return {shape[1] * window, shape[0] * window};
}

void fill_uniform(Array& values, Rng& rng, double bound) {
  for (float& value : values.flat<float>()) {
    value = static_cast<float>((2.0 * rng.uniform() - 1.0) * bound);
  }
}

void fill_normal(Array& values, Rng& rng, double deviation) {
  for (float& value : values.flat<float>()) value = static_cast<float>(rng.normal() * deviation);
}

void fill_uniform(Array& values, Rng& rng, const UniformRange& range) {
  for (float& value : values.flat<float>()) {
    value = static_cast<float>(range.low + (range.high - range.low) * rng.uniform());
  }
}

void fill_truncated_normal(Array& values, Rng& rng, const TruncatedNormal& distribution) {
  const auto below = [&](double value) {
    return 0.5 * std::erfc((distribution.mean - value) / (distribution.deviation * std::sqrt(2.0)));
  };
  if (!(distribution.deviation > 0) ||
      !(below(distribution.high) - below(distribution.low) > 1e-3)) {
    throw std::invalid_argument(fmt::format(
        "[truncated_normal] expected limits with a thousandth of the distribution between them, "
        "got [{}, {}]",
        distribution.low, distribution.high));
  }
  for (float& value : values.flat<float>()) {
    double drawn = 0;
    do {
      drawn = distribution.mean + distribution.deviation * rng.normal();
    } while (drawn < distribution.low || drawn > distribution.high);
    value = static_cast<float>(drawn);
  }
}

double gain_of(Nonlinearity nonlinearity, double slope) {
  switch (nonlinearity) {
    case Nonlinearity::kTanh:
      return 5.0 / 3.0;
    case Nonlinearity::kRelu:
      return std::sqrt(2.0);
    case Nonlinearity::kLeakyRelu:
      return std::sqrt(2.0 / (1.0 + slope * slope));
    case Nonlinearity::kSelu:
      return 0.75;
    case Nonlinearity::kLinear:
    case Nonlinearity::kSigmoid:
      break;
  }
  return 1.0;
}

namespace {

double kaiming_deviation(const Array& values, const KaimingOptions& options) {
  const Fans fans = fans_of(values.shape());
  const std::int64_t fan = options.mode == FanMode::kIn ? fans.in : fans.out;
  return gain_of(options.nonlinearity, options.slope) / std::sqrt(static_cast<double>(fan));
}

double lecun_deviation(const Array& values) {
  return 1.0 / std::sqrt(static_cast<double>(fans_of(values.shape()).in));
}

// Makes `count` vectors of `length`, one after another, orthonormal; twice, for the rounding.
// Those of a normal distribution end uniformly distributed: no sign is preferred.
void orthonormalize(std::vector<double>& vectors, std::int64_t count, std::int64_t length) {
  const auto vector = [&](std::int64_t i) { return vectors.data() + i * length; };
  for (std::int64_t i = 0; i < count; ++i) {
    double* const own = vector(i);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t j = 0; j < i; ++j) {
        const double* const other = vector(j);
        double product = 0;
        for (std::int64_t k = 0; k < length; ++k) product += own[k] * other[k];
        for (std::int64_t k = 0; k < length; ++k) own[k] -= product * other[k];
      }
    }
    double norm = 0;
    for (std::int64_t k = 0; k < length; ++k) norm += own[k] * own[k];
    for (std::int64_t k = 0; k < length; ++k) own[k] /= std::sqrt(norm);
  }
}

double kaiming_deviation(const Array& values, double a) {
  return std::sqrt(2.0 / ((1.0 + a * a) * static_cast<double>(fans_of(values.shape()).in)));
}

double xavier_deviation(const Array& values, double gain) {
  const Fans fans = fans_of(values.shape());
  return gain * std::sqrt(2.0 / static_cast<double>(fans.in + fans.out));
}

}  // namespace

void kaiming_uniform(Array& values, Rng& rng, double a) {
  fill_uniform(values, rng, std::sqrt(3.0) * kaiming_deviation(values, a));
}

void kaiming_normal(Array& values, Rng& rng, double a) {
  fill_normal(values, rng, kaiming_deviation(values, a));
}

void kaiming_uniform(Array& values, Rng& rng, const KaimingOptions& options) {
  fill_uniform(values, rng, std::sqrt(3.0) * kaiming_deviation(values, options));
}

void kaiming_normal(Array& values, Rng& rng, const KaimingOptions& options) {
  fill_normal(values, rng, kaiming_deviation(values, options));
}

void lecun_uniform(Array& values, Rng& rng) {
  fill_uniform(values, rng, std::sqrt(3.0) * lecun_deviation(values));
}

void lecun_normal(Array& values, Rng& rng) { fill_normal(values, rng, lecun_deviation(values)); }

void orthogonal(Array& values, Rng& rng, double gain) {
  if (values.ndim() < 2) {
    throw std::invalid_argument(
        fmt::format("[orthogonal] expected a weight with at least 2 dimensions, got {}",
                    to_string(values.shape())));
  }
  if (values.size() == 0) return;
  const std::int64_t rows = values.dim(0);
  const std::int64_t columns = values.size() / rows;
  const bool by_row = rows <= columns;
  const std::int64_t count = by_row ? rows : columns;
  const std::int64_t length = by_row ? columns : rows;
  std::vector<double> vectors(static_cast<std::size_t>(values.size()));
  for (double& value : vectors) value = rng.normal();
  orthonormalize(vectors, count, length);
  float* const to = values.flat<float>().data();
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t at = by_row ? i * length + j : j * length + i;
      to[i * columns + j] = static_cast<float>(gain * vectors[static_cast<std::size_t>(at)]);
    }
  }
}

void xavier_uniform(Array& values, Rng& rng, double gain) {
  fill_uniform(values, rng, std::sqrt(3.0) * xavier_deviation(values, gain));
}

void xavier_normal(Array& values, Rng& rng, double gain) {
  fill_normal(values, rng, xavier_deviation(values, gain));
}

Initializer default_weight_initializer() {
  return [](Array& values, Rng& rng) { kaiming_uniform(values, rng, std::sqrt(5.0)); };
}

Initializer default_bias_initializer(const Shape& weight_shape) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(fans_of(weight_shape).in));
  return [bound](Array& values, Rng& rng) { fill_uniform(values, rng, bound); };
}

Initializer constant_initializer(double value) {
  return [value](Array& values, Rng& /*rng*/) { values.fill(value); };
}

Initializer eye_initializer() {
  return [](Array& values, Rng& /*rng*/) {
    if (values.ndim() != 2) {
      throw std::invalid_argument(
          fmt::format("[eye] expected a matrix, got {}", to_string(values.shape())));
    }
    values.fill(0.0);
    for (std::int64_t i = 0; i < std::min(values.dim(0), values.dim(1)); ++i) {
      values.flat<float>()[static_cast<std::size_t>(i * values.dim(1) + i)] = 1.0F;
    }
  };
}

Initializer uniform_initializer(const UniformRange& range) {
  return [range](Array& values, Rng& rng) { fill_uniform(values, rng, range); };
}

Initializer normal_initializer(double deviation) {
  return [deviation](Array& values, Rng& rng) { fill_normal(values, rng, deviation); };
}

Initializer truncated_normal_initializer(const TruncatedNormal& distribution) {
  return
      [distribution](Array& values, Rng& rng) { fill_truncated_normal(values, rng, distribution); };
}

Initializer kaiming_uniform_initializer(const KaimingOptions& options) {
  return [options](Array& values, Rng& rng) { kaiming_uniform(values, rng, options); };
}

Initializer kaiming_normal_initializer(const KaimingOptions& options) {
  return [options](Array& values, Rng& rng) { kaiming_normal(values, rng, options); };
}

Initializer xavier_uniform_initializer(double gain) {
  return [gain](Array& values, Rng& rng) { xavier_uniform(values, rng, gain); };
}

Initializer xavier_normal_initializer(double gain) {
  return [gain](Array& values, Rng& rng) { xavier_normal(values, rng, gain); };
}

Initializer orthogonal_initializer(double gain) {
  return [gain](Array& values, Rng& rng) { orthogonal(values, rng, gain); };
}

}  // namespace weft
