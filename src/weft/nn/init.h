// Initialisers: the first values of parameters, the same bits on every peer.
//
// Each fills a contiguous f32 array in order from an Rng, so a value depends on the seed, the
// parameter's index and its position alone. Fans follow PyTorch: of a weight [out, in, ...] the
// fan in is in * (product of the rest), the fan out is out * (product of the rest).
// Fails: std::invalid_argument where a fan needs at least two dimensions.
#pragma once

#include <functional>

#include "weft/array/array.h"
#include "weft/base/rng.h"

namespace weft {

using Initializer = std::function<void(Array& values, Rng& rng)>;

struct Fans {
  std::int64_t in = 1;
  std::int64_t out = 1;
};
Fans fans_of(const Shape& shape);

void fill_uniform(Array& values, Rng& rng, double bound);     // in [-bound, bound)
void fill_normal(Array& values, Rng& rng, double deviation);  // mean 0

// He et al., "Delving deep into rectifiers", ICCV 2015, for a leaky ReLU of slope `a`:
// deviation = sqrt(2 / ((1 + a^2) fan_in)); the uniform bound is sqrt(3) times that.
void kaiming_uniform(Array& values, Rng& rng, double a = 0.0);
void kaiming_normal(Array& values, Rng& rng, double a = 0.0);

// Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks",
// AISTATS 2010: deviation = gain * sqrt(2 / (fan_in + fan_out)).
void xavier_uniform(Array& values, Rng& rng, double gain = 1.0);
void xavier_normal(Array& values, Rng& rng, double gain = 1.0);

// What PyTorch gives Linear and Conv2d: kaiming_uniform with a = sqrt(5) for the weight, and the
// same bound, 1 / sqrt(fan_in), for the bias.
Initializer default_weight_initializer();
Initializer default_bias_initializer(const Shape& weight_shape);
Initializer constant_initializer(double value);

}  // namespace weft
