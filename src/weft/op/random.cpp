#include "weft/op/random.h"

#include <string>

#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/operands.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void check_type(const char* op, bool fits, DType dtype) {
  if (!fits) throw_operand(op, "another type", std::string(to_string(dtype)));
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
  Array y = Array::empty(probabilities.shape(), probabilities.dtype());
  fill_bernoulli(y, probabilities.array(), generator);
  return Tensor(std::move(y));
}

Tensor categorical(const Tensor& weights, std::int64_t count, Generator& generator) {
  check_floating("categorical", weights);
  if (weights.ndim() == 0 || weights.dim(-1) == 0) {
    throw_operand("categorical", "weights along a last axis", to_string(weights.shape()));
  }
  const NoGrad no_grad;
  // A draw u of the total falls into place i if it reaches the running sums before i and not i's.
  const Tensor sums = cumsum(cast(weights.detach(), DType::kF64), -1);
  const Tensor total = slice(sums, -1, -1, {});
  Shape shape = weights.shape();
  shape[shape.size() - 1] = count;
  const Tensor draws = mul(rand(shape, generator, DType::kF64), total);
  return sum(ge(unsqueeze(draws, -1), unsqueeze(sums, -2)), {-1});
}

}  // namespace weft
