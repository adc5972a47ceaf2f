// Gradients of gradients as trainings compute them: f32 and bf16, blocked layouts, one and two
// threads, for every entry of the op table, against the same in f64 (which op_contract_test.cpp
// compares with differences). The operation stands alone, so that its own gradient is what grad()
// returns; behind another one; and beside a residual, where a share that is lost changes the value
// and raises nothing.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/base/parallel.h"
#include "weft/op/contract/test_exceptions.h"
#include "weft/op/core/op_def.h"
#include "weft/op/ops.h"

namespace weft::second_gradient_test {
namespace {

enum class Place { kAlone, kBehindAnother, kBesideAResidual };

std::vector<Tensor> leaves_of(std::span<const Array> inputs) {
  std::vector<Tensor> leaves;
  for (const Array& x : inputs) leaves.emplace_back(x, x.defined() && is_floating(x.dtype()));
  return leaves;
}

std::vector<Array> map_f64(std::span<const Array> inputs, DType to) {
  std::vector<Array> result;
  for (const Array& x : inputs) {
    result.push_back(x.defined() && is_floating(x.dtype()) ? x.to(to) : x);
  }
  return result;
}

// Different for each element, so that no two shares cancel.
Tensor weights_like(const Tensor& y) {
  Array weights = Array::empty(y.shape(), DType::kF64);
  for (std::int64_t i = 0; i < weights.size(); ++i) {
    weights.data<double>()[i] = 0.5 + 0.1 * static_cast<double>(i % 11);
  }
  return Tensor(weights.to(y.dtype()));
}

// The gradients, with respect to the floating inputs, of the sum of squares of the first gradients;
// zeros where there is none. Nothing if the output takes no gradient.
std::vector<Array> second_gradients(const OpSample& sample, std::span<const Array> inputs,
                                    Place place) {
  const std::vector<Tensor> leaves = leaves_of(inputs);
  std::vector<Tensor> wanted;
  std::vector<Tensor> arguments;
  Tensor residual;
  for (const Tensor& leaf : leaves) {
    arguments.push_back(leaf.requires_grad() && place == Place::kBehindAnother ? leaf * 1.0 : leaf);
    if (!leaf.requires_grad()) continue;
    wanted.push_back(leaf);
    if (place != Place::kBesideAResidual) continue;
    const Tensor part = cast(sum(leaf * leaf * leaf), wanted[0].dtype());
    residual = residual.defined() ? residual + part : part;
  }
  const Tensor y = sample.apply(arguments);
  if (!y.requires_grad()) return {};
  Tensor loss = sum(y * y * weights_like(y));
  if (residual.defined()) loss = loss + cast(residual, loss.dtype());
  const std::vector<Tensor> first =
      grad({loss}, wanted, {.create_graph = true, .allow_unused = true});
  Tensor penalty;
  for (const Tensor& each : first) {
    if (!each.defined() || !each.requires_grad()) continue;
    const Tensor part = cast(sum(each * each), first[0].defined() ? first[0].dtype() : y.dtype());
    penalty = penalty.defined() ? penalty + part : part;
  }
  std::vector<Tensor> second(wanted.size());
  if (penalty.defined()) second = grad({penalty}, wanted, {.allow_unused = true});
  std::vector<Array> result;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    result.push_back(second[i].defined() ? second[i].array().strided().to(DType::kF64)
                                         : Array::zeros(wanted[i].shape(), DType::kF64));
  }
  return result;
}

// Relative to the largest value: sums of many roundings have no smaller scale.
void expect_close(std::span<const Array> got, std::span<const Array> want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t input = 0; input < got.size(); ++input) {
    SCOPED_TRACE("input " + std::to_string(input));
    ASSERT_EQ(to_string(got[input].shape()), to_string(want[input].shape()));
    const std::vector<double> a = got[input].to_vector<double>();
    const std::vector<double> b = want[input].to_vector<double>();
    double scale = 1;
    for (const double value : b) scale = std::max(scale, std::abs(value));
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], tolerance * scale) << "element " << i;
    }
  }
}

class SecondGradient : public testing::TestWithParam<const OpDef*> {
 protected:
  // Every sample at every place: in `dtype` against f64 at the values that `dtype` holds.
  void compare(DType dtype, double tolerance) {
    for (const OpSample& sample : GetParam()->samples()) {
      if (!sample.check_gradient) continue;
      for (const Place place : {Place::kAlone, Place::kBehindAnother, Place::kBesideAResidual}) {
        SCOPED_TRACE(sample.name + ", place " + std::to_string(static_cast<int>(place)));
        const std::vector<Array> inputs = map_f64(sample.inputs, dtype);
        const std::vector<Array> exact = map_f64(inputs, DType::kF64);
        const std::vector<Array> want = second_gradients(sample, exact, place);
        expect_close(second_gradients(sample, inputs, place), want, tolerance);
      }
    }
  }
};

TEST_P(SecondGradient, InF32IsThatOfF64) { compare(DType::kF32, 2e-4); }

TEST_P(SecondGradient, InBf16IsThatOfF64) { compare(DType::kBF16, 0.1); }

TEST_P(SecondGradient, IsTheSameForEveryNumberOfThreads) {
  const int usual = thread_count();
  for (const OpSample& sample : GetParam()->samples()) {
    if (!sample.check_gradient) continue;
    SCOPED_TRACE(sample.name);
    const std::vector<Array> inputs = map_f64(sample.inputs, DType::kF32);
    set_thread_count(1);
    const std::vector<Array> one = second_gradients(sample, inputs, Place::kAlone);
    set_thread_count(2);
    expect_close(second_gradients(sample, inputs, Place::kAlone), one, 0.0);
    set_thread_count(usual);
  }
}

std::vector<const OpDef*> differentiable_twice() {
  std::vector<const OpDef*> ops(op_table().begin(), op_table().end());
  std::erase_if(ops, [](const OpDef* op) { return without_second_gradient().contains(op->name); });
  return ops;
}

INSTANTIATE_TEST_SUITE_P(Table, SecondGradient, testing::ValuesIn(differentiable_twice()),
                         [](const auto& entry) { return std::string(entry.param->name); });

}  // namespace
}  // namespace weft::second_gradient_test
