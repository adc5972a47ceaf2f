// Random tensors, without history. The same numbers on every device and for any thread count:
// kernel/random/random.h describes how a Generator makes them.
//
//   Generator generator(42);
//   const Tensor noise = randn({64, 100}, generator);
//
// There is no global generator: the caller passes one.
// All throw std::invalid_argument on arguments that do not fit.
#pragma once

#include <cstdint>

#include "weft/autograd/tensor.h"
#include "weft/kernel/random/random.h"

namespace weft {

// Uniform in [0, 1); standard normal. Floating types.
Tensor rand(const Shape& shape, Generator& generator, DType dtype = DType::kF32);
Tensor randn(const Shape& shape, Generator& generator, DType dtype = DType::kF32);
// Uniform between low and high (below high but for rounding); normal with this mean and deviation.
Tensor uniform(const Shape& shape, double low, double high, Generator& generator,
               DType dtype = DType::kF32);
Tensor normal(const Shape& shape, double mean, double deviation, Generator& generator,
              DType dtype = DType::kF32);
// Integers in [low, high).
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator& generator,
               DType dtype = DType::kI64);
// 0 .. count - 1 in random order, i64.
Tensor randperm(std::int64_t count, Generator& generator);
// 1 with `probability`, else 0; bool by default, of which the others are made.
Tensor bernoulli(const Shape& shape, double probability, Generator& generator,
                 DType dtype = DType::kBool);
// 1 with the probability at each place; type of `probabilities`.
Tensor bernoulli(const Tensor& probabilities, Generator& generator);

// `count` positions along the last axis of `weights` [..., n], each drawn with a probability in
// proportion to its weight (not negative, not all 0), with replacement: i64 [..., count].
Tensor categorical(const Tensor& weights, std::int64_t count, Generator& generator);

}  // namespace weft
