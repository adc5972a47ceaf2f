// Initialisers: the first values of parameters, the same bits on every peer.
//
// Each fills a contiguous f32 array in order from an Rng, so a value depends on the seed, the
// parameter's index and its position alone. Fans follow PyTorch: for a weight [out, in, ...] the
// fan in is in * (product of the rest), the fan out is out * (product of the rest). Fails:
// std::invalid_argument if a fan needs at least two dimensions.
#pragma once

#include <cstdint>
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

// The gain that keeps the size of values through an activation, with PyTorch's values: 1, 5/3 for
// tanh,
// sqrt(2) for ReLU, sqrt(2 / (1 + slope^2)) for a leaky one, 3/4 for SELU.
enum class Nonlinearity : std::uint8_t { kLinear, kSigmoid, kTanh, kRelu, kLeakyRelu, kSelu };
double gain_of(Nonlinearity nonlinearity, double slope = 0.01);

struct UniformRange {
  double low = 0;
  double high = 1;
};
void fill_uniform(Array& values, Rng& rng, double bound);               // in [-bound, bound)
void fill_uniform(Array& values, Rng& rng, const UniformRange& range);  // in [low, high)
void fill_normal(Array& values, Rng& rng, double deviation);            // mean 0

struct TruncatedNormal {
  double mean = 0;
  double deviation = 1;
  double low = -2;  // values, not deviations
  double high = 2;
};
// A normal distribution under the condition that values are in [low, high], which must have a
// probability of at least a thousandth.
void fill_truncated_normal(Array& values, Rng& rng, const TruncatedNormal& distribution);

// He et al., "Delving deep into rectifiers", ICCV 2015, for a leaky ReLU of slope `a`:
// deviation = sqrt(2 / ((1 + a^2) fan_in)); the uniform bound is sqrt(3) times that.
void kaiming_uniform(Array& values, Rng& rng, double a = 0.0);
void kaiming_normal(Array& values, Rng& rng, double a = 0.0);
enum class FanMode : std::uint8_t { kIn, kOut };
struct KaimingOptions {
  FanMode mode = FanMode::kIn;
  Nonlinearity nonlinearity = Nonlinearity::kLeakyRelu;
  double slope = 0;
};
// deviation = gain / sqrt(fan).
void kaiming_uniform(Array& values, Rng& rng, const KaimingOptions& options);
void kaiming_normal(Array& values, Rng& rng, const KaimingOptions& options);

// Glorot, Bengio, "Understanding the difficulty of training deep feedforward neural networks",
// AISTATS 2010: deviation = gain * sqrt(2 / (fan_in + fan_out)).
void xavier_uniform(Array& values, Rng& rng, double gain = 1.0);
void xavier_normal(Array& values, Rng& rng, double gain = 1.0);

// LeCun et al., "Efficient backprop", 1998: deviation = 1 / sqrt(fan_in).
void lecun_uniform(Array& values, Rng& rng);
void lecun_normal(Array& values, Rng& rng);

// Saxe, McClelland, Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear
// neural networks", ICLR 2014: with the weight as a matrix [out, rest], the rows (or, if there are
// more of them, the columns) are orthonormal, times `gain`; uniform over all such matrices.
void orthogonal(Array& values, Rng& rng, double gain = 1.0);

// PyTorch's default for Linear and Conv2d: kaiming_uniform with a = sqrt(5) for the weight, and the
// same bound, 1 / sqrt(fan_in), for the bias.
Initializer default_weight_initializer();
Initializer default_bias_initializer(const Shape& weight_shape);
Initializer constant_initializer(double value);
inline Initializer zeros_initializer() { return constant_initializer(0); }
inline Initializer ones_initializer() { return constant_initializer(1); }
// Sets 1 where the two indices of a matrix are equal, and 0 elsewhere.
Initializer eye_initializer();
Initializer uniform_initializer(const UniformRange& range);
Initializer normal_initializer(double deviation);
Initializer truncated_normal_initializer(const TruncatedNormal& distribution);
Initializer kaiming_uniform_initializer(const KaimingOptions& options = {});
Initializer kaiming_normal_initializer(const KaimingOptions& options = {});
Initializer xavier_uniform_initializer(double gain = 1.0);
Initializer xavier_normal_initializer(double gain = 1.0);
Initializer orthogonal_initializer(double gain = 1.0);

}  // namespace weft
