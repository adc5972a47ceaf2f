#include "weft/nn/init.h"

#include <cmath>
#include <stdexcept>

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

namespace {

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

}  // namespace weft
