// Every entry of the op table: values against its reference, gradients against differences, and
// all of it again with inputs in other memory orders and in f32.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/gradcheck.h"
#include "weft/base/parallel.h"
#include "weft/op/op_def.h"

namespace weft {
namespace {

// A view with the values of `x` and other strides.
using Relayout = Array (*)(const Array& x);

// The memory of the transpose.
Array transposed(const Array& x) {
  return x.ndim() < 2 ? x : x.transpose(0, -1).clone().transpose(0, -1);
}

// Every second element, from the second on, of a larger array whose other elements are NaN.
Array every_second(const Array& x) {
  if (x.ndim() == 0) return x;
  Shape larger = x.shape();
  for (std::int64_t& size : larger) size = 2 * size + 1;
  Array view = Array::full(larger, std::nan(""), x.dtype());
  for (int axis = 0; axis < x.ndim(); ++axis) view = view.slice(axis, 1, 2 * x.dim(axis), 2);
  view.copy_from(x);
  return view;
}

Array reversed(const Array& x) {
  if (x.ndim() == 0) return x;
  Array view = x.slice(-1, {}, {}, -1).clone();
  return view.slice(-1, {}, {}, -1);
}

std::vector<Array> map_floats(std::span<const Array> inputs, const std::function<Array(Array)>& f) {
  std::vector<Array> result;
  for (const Array& x : inputs) result.push_back(x.dtype() == DType::kF64 ? f(x) : x);
  return result;
}

std::vector<Tensor> leaves_of(std::span<const Array> inputs) {
  std::vector<Tensor> leaves;
  for (const Array& x : inputs) {
    leaves.emplace_back(x, x.dtype() == DType::kF64 || x.dtype() == DType::kF32);
  }
  return leaves;
}

double largest_of(const std::vector<double>& values) {
  double largest = 1;
  for (const double value : values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return largest;
}

void expect_close(const Array& got, const Array& want, double tolerance) {
  ASSERT_EQ(to_string(got.shape()), to_string(want.shape()));
  const std::vector<double> a = got.strided().to(DType::kF64).to_vector<double>();
  const std::vector<double> b = want.strided().to(DType::kF64).to_vector<double>();
  const double scale = largest_of(b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_NEAR(a[i], b[i], tolerance * scale) << "element " << i;
  }
}

// Output and the gradients of all inputs, for fixed different weights of the output's elements.
struct Sweep {
  Array output;
  std::vector<Array> gradients;
};

Sweep sweep(const OpSample& sample, std::span<const Array> inputs) {
  const std::vector<Tensor> leaves = leaves_of(inputs);
  const Tensor output = sample.apply(leaves);
  Sweep result{output.array(), {}};
  if (!output.requires_grad()) return result;
  Array weights = Array::empty(output.shape(), DType::kF64);
  for (std::int64_t i = 0; i < weights.size(); ++i) {
    weights.data<double>()[i] = 0.5 + 0.1 * static_cast<double>(i % 11);
  }
  BackwardOptions options;
  options.gradient = weights.to(output.dtype());
  backward(output, GradientSink(), options);
  for (const Tensor& leaf : leaves) {
    if (leaf.requires_grad()) result.gradients.push_back(leaf.grad());
  }
  return result;
}

void expect_same_sweep(const Sweep& got, const Sweep& want, double tolerance) {
  expect_close(got.output, want.output, tolerance);
  ASSERT_EQ(got.gradients.size(), want.gradients.size());
  for (std::size_t i = 0; i < got.gradients.size(); ++i) {
    SCOPED_TRACE("gradient of input " + std::to_string(i));
    ASSERT_TRUE(got.gradients[i].defined());
    expect_close(got.gradients[i], want.gradients[i], tolerance);
  }
}

class OpContract : public testing::TestWithParam<const OpDef*> {
 protected:
  template <class Body>
  void each_sample(const Body& body) {
    for (const OpSample& sample : GetParam()->samples()) {
      SCOPED_TRACE(sample.name);
      body(sample);
    }
  }
};

TEST_P(OpContract, HasSamplesOfEdgeCases) {
  bool has_one_element = false;
  bool has_gradient = false;
  int count = 0;
  each_sample([&](const OpSample& sample) {
    ++count;
    has_one_element = has_one_element || sample.apply(leaves_of(sample.inputs)).size() == 1;
    has_gradient = has_gradient || sample.check_gradient;
  });
  EXPECT_GE(count, 3);
  EXPECT_TRUE(has_one_element);
  EXPECT_TRUE(has_gradient);
}

TEST_P(OpContract, AgreesWithTheReferenceInF64) {
  each_sample([](const OpSample& sample) {
    const NoGrad no_grad;
    const Tensor got = sample.apply(leaves_of(sample.inputs));
    EXPECT_EQ(got.dtype(), DType::kF64);
    EXPECT_FALSE(got.requires_grad());
    expect_close(got.array(), sample.reference(sample.inputs), 1e-12);
  });
}

TEST_P(OpContract, AgreesWithTheReferenceInF32) {
  each_sample([](const OpSample& sample) {
    const std::vector<Array> inputs =
        map_floats(sample.inputs, [](const Array& x) { return x.to(DType::kF32); });
    const Tensor got = sample.apply(leaves_of(inputs));
    EXPECT_EQ(got.dtype(), DType::kF32);
    expect_close(got.array(), sample.reference(sample.inputs), sample.f32_tolerance);
  });
}

TEST_P(OpContract, GradientsAgreeWithDifferences) {
  each_sample([](const OpSample& sample) {
    if (!sample.check_gradient) return;
    EXPECT_EQ(gradcheck(sample.apply, sample.inputs), "");
  });
}

TEST_P(OpContract, GradientsAgreeInF32) {
  each_sample([](const OpSample& sample) {
    if (!sample.check_gradient) return;
    const std::vector<Array> inputs =
        map_floats(sample.inputs, [](const Array& x) { return x.to(DType::kF32); });
    expect_same_sweep(sweep(sample, inputs), sweep(sample, sample.inputs),
                      std::max(1e-4, 10 * sample.f32_tolerance));
  });
}

TEST_P(OpContract, TakesInputsInAnyMemoryOrder) {
  each_sample([](const OpSample& sample) {
    const Sweep want = sweep(sample, sample.inputs);
    for (const Relayout relayout : {transposed, every_second, reversed}) {
      const std::vector<Array> inputs = map_floats(sample.inputs, relayout);
      expect_same_sweep(sweep(sample, inputs), want, 1e-12);
    }
  });
}

TEST_P(OpContract, GivesTheSameBitsForAnyThreadCount) {
  each_sample([](const OpSample& sample) {
    const std::vector<Array> inputs =
        map_floats(sample.inputs, [](const Array& x) { return x.to(DType::kF32); });
    const Sweep one = sweep(sample, inputs);
    set_thread_count(3);
    const Sweep three = sweep(sample, inputs);
    set_thread_count(1);
    expect_same_sweep(three, one, 0.0);
  });
}

TEST_P(OpContract, LeavesItsInputsAlone) {
  each_sample([](const OpSample& sample) {
    const std::vector<Array> before =
        map_floats(sample.inputs, [](const Array& x) { return x.clone(); });
    sweep(sample, sample.inputs);
    for (std::size_t i = 0; i < before.size(); ++i) {
      expect_close(sample.inputs[i], before[i], 0.0);
    }
  });
}

std::string name_of(const testing::TestParamInfo<const OpDef*>& entry) { return entry.param->name; }

INSTANTIATE_TEST_SUITE_P(Table, OpContract, testing::ValuesIn(op_table().begin(), op_table().end()),
                         name_of);

TEST(OpTable, HasDistinctSortedNames) {
  std::vector<std::string> names;
  for (const OpDef* op : op_table()) names.emplace_back(op->name);
  EXPECT_GE(names.size(), 30U);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

}  // namespace
}  // namespace weft
