#include "weft/op/random.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "weft/array/launch.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/operands.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void check_type(const char* op, bool fits, DType dtype) {
  if (!fits) throw_operand(op, "another type", std::string(to_string(dtype)));
}

// The running sums of weights; a negative one lowers them, and what is no number stays.
void check_sums(std::span<const double> sums) {
  double before = 0;
  for (const double now : sums) {
    if (!(now >= before)) {
      throw_operand("categorical", "weights that are numbers and not negative",
                    now < before ? std::to_string(now - before) : std::to_string(now));
    }
    before = now;
  }
  if (!(before > 0 && std::isfinite(before))) {
    throw_operand("categorical", "weights with a finite sum above 0", std::to_string(before));
  }
}

// The place i for which the share `draw` of the whole lies between the sums before i and i's.
std::int64_t place_of(double draw, std::span<const double> sums) {
  const auto found = std::upper_bound(sums.begin(), sums.end(), draw * sums.back());
  // Rounded up to the whole: the last place that has a weight.
  const auto last = std::lower_bound(sums.begin(), sums.end(), sums.back());
  return std::min(found, last) - sums.begin();
}

}  // namespace

Tensor rand(const Shape& shape, Generator& generator, DType dtype) {
  check_type("rand", is_floating(dtype), dtype);
  Array y = Array::empty(shape, dtype);
  fill_uniform(y, generator);
  return Tensor(std::move(y));
}

Tensor randn(const Shape& shape, Generator& generator, DType dtype) {
  check_type("randn", is_floating(dtype), dtype);
  Array y = Array::empty(shape, dtype);
  fill_normal(y, generator);
  return Tensor(std::move(y));
}

Tensor uniform(const Shape& shape, double low, double high, Generator& generator, DType dtype) {
  if (!(low <= high)) {
    throw_operand("uniform", "low <= high", std::to_string(low) + " and " + std::to_string(high));
  }
  return add(mul(rand(shape, generator, dtype), high - low), low);
}

Tensor normal(const Shape& shape, double mean, double deviation, Generator& generator,
              DType dtype) {
  if (!(deviation >= 0)) {
    throw_operand("normal", "a deviation of at least 0", std::to_string(deviation));
  }
  return add(mul(randn(shape, generator, dtype), deviation), mean);
}

Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator& generator,
               DType dtype) {
  check_type("randint", dtype != DType::kBool, dtype);
  if (low >= high) {
    throw_operand("randint", "low < high", std::to_string(low) + " and " + std::to_string(high));
  }
  Array y = Array::empty(shape, dtype);
  fill_integers(y, low, high, generator);
  return Tensor(std::move(y));
}

Tensor randperm(std::int64_t count, Generator& generator) {
  if (count < 0) throw_operand("randperm", "a count of at least 0", std::to_string(count));
  Array y = Array::empty({count}, DType::kI64);
  fill_permutation(y, generator);
  return Tensor(std::move(y));
}

Tensor bernoulli(const Shape& shape, double probability, Generator& generator, DType dtype) {
  if (!(probability >= 0 && probability <= 1)) {
    throw_operand("bernoulli", "a probability in [0, 1]", std::to_string(probability));
  }
  Array y = Array::empty(shape, dtype);
  fill_bernoulli(y, probability, generator);
  return Tensor(std::move(y));
}

Tensor bernoulli(const Tensor& probabilities, Generator& generator) {
  check_floating("bernoulli", probabilities);
  const Array all = probabilities.array().strided().to(DType::kF64).contiguous().to(Device::cpu());
  for (const double each : all.flat<double>()) {
    if (!(each >= 0 && each <= 1)) {
      throw_operand("bernoulli", "probabilities in [0, 1]", std::to_string(each));
    }
  }
  Array y = Array::empty(probabilities.shape(), probabilities.dtype(), probabilities.device());
  fill_bernoulli(y, probabilities.array(), generator);
  return Tensor(std::move(y));
}

Tensor categorical(const Tensor& weights, std::int64_t count, Generator& generator) {
  check_floating("categorical", weights);
  if (weights.ndim() == 0 || weights.dim(-1) == 0) {
    throw_operand("categorical", "weights along a last axis", to_string(weights.shape()));
  }
  const NoGrad no_grad;
  const Tensor sums = cumsum(cast(weights.detach(), DType::kF64), -1);
  Shape shape = weights.shape();
  shape[shape.size() - 1] = count;
  const Tensor draws = rand(shape, generator, DType::kF64);
  Array places = Array::empty(shape, DType::kI64);
  launch("categorical", {&sums.array(), &draws.array()}, {&places},
         [classes = weights.dim(-1)](LaunchArrays in, LaunchArrays out) {
           const std::span<const double> all = in[0].flat<double>();
           const std::int64_t draws_each = in[1].dim(-1);
           for (std::int64_t row = 0; row * classes < in[0].size(); ++row) {
             const auto whole = all.subspan(static_cast<std::size_t>(row * classes),
                                            static_cast<std::size_t>(classes));
             check_sums(whole);
             for (std::int64_t i = row * draws_each; i < (row + 1) * draws_each; ++i) {
               out[0].data<std::int64_t>()[i] = place_of(in[1].data<double>()[i], whole);
             }
           }
         });
  return Tensor(std::move(places));
}

}  // namespace weft
