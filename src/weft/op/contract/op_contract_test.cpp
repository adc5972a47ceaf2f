// Every entry of the op table: values against its reference, first and second gradients against
// differences, and all of it again with inputs in other memory orders and of every type that the
// operation takes; sizes that every operation must have samples of; what it says to wrong inputs.
//
// What an operation cannot do stands in a list here, with the reason.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/check/gradcheck.h"
#include "weft/base/parallel.h"
#include "weft/op/contract/test_exceptions.h"
#include "weft/op/contract/test_memory_orders.h"
#include "weft/op/core/op_def.h"

namespace weft {
// The operation that docs/ops.md adds.
extern const OpDef cubic_op;
}  // namespace weft

namespace weft::op_contract_test {
namespace {

// Inputs with more elements are not moved one by one for the second gradient.
constexpr std::int64_t kMovesMax = 300;

using Reasons = std::map<std::string, std::string>;

// Without samples that have no elements, or no odd sizes.
const Reasons& without_empty_samples() {
  static const Reasons reasons = {
      {"ctc_loss", "a sequence has at least one step"},
      {"unfold", "a window has at least one value"},
  };
  return reasons;
}

// That take f32 and f64 alone.
const Reasons& without_halves() {
  static const Reasons reasons = {};
  return reasons;
}

// Whose samples say nothing about whole numbers.
const Reasons& without_whole_samples() {
  static const Reasons reasons = {
      {"power", "its whole powers overflow, and negative exponents are refused elsewhere"},
      {"round", "the reference of its ties is a list of fractions"},
  };
  return reasons;
}

// A view with the values of `x` and other strides.
using Relayout = Array (*)(const Array& x);

std::vector<Array> map_floats(std::span<const Array> inputs, const std::function<Array(Array)>& f) {
  std::vector<Array> result;
  for (const Array& x : inputs) result.push_back(x.dtype() == DType::kF64 ? f(x) : x);
  return result;
}

template <class Map>
std::vector<Array> map_type(std::span<const Array> inputs, DType dtype, const Map& f) {
  std::vector<Array> result;
  for (const Array& x : inputs) result.push_back(x.dtype() == dtype ? f(x) : x);
  return result;
}

// f64 values that `dtype` holds: some of -8 ... 8, without negative ones for u8.
Array whole_values(const Array& x, DType dtype) {
  Array result = x.clone();
  for (double& value : result.flat<double>()) {
    value = std::clamp(std::floor(value * 4.0), -8.0, 8.0);
    if (dtype == DType::kU8) value = std::abs(value);
  }
  return result;
}

std::vector<Tensor> leaves_of(std::span<const Array> inputs) {
  std::vector<Tensor> leaves;
  for (const Array& x : inputs) {
    leaves.emplace_back(x, x.defined() && is_floating(x.dtype()));
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
  // Whole numbers and truth values are exact.
  if (!is_floating(got.dtype())) tolerance = 0;
  const std::vector<double> a = got.strided().to(DType::kF64).to_vector<double>();
  const std::vector<double> b = want.strided().to(DType::kF64).to_vector<double>();
  const double scale = largest_of(b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
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
    if (!leaf.requires_grad()) continue;
    // No gradient at all means zeros.
    result.gradients.push_back(leaf.grad().defined() ? leaf.grad()
                                                     : Array::zeros(leaf.shape(), leaf.dtype()));
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

// Whether the operation refuses these inputs; what it says must name an operation.
bool refuses(const OpSample& sample, std::span<const Array> inputs) {
  try {
    sample.apply(leaves_of(inputs));
    return false;
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('['), 0U) << text;
    EXPECT_NE(text.find("] "), std::string::npos) << text;
    EXPECT_GT(text.size(), 20U) << text;
    return true;
  }
}

TEST_P(OpContract, HasSamplesOfEdgeCases) {
  bool has_one_element = false;
  bool has_gradient = false;
  bool takes_gradient = false;
  bool has_empty = false;
  bool has_odd = false;
  bool has_oblong = false;
  bool has_matrix = false;
  int count = 0;
  each_sample([&](const OpSample& sample) {
    ++count;
    const Tensor output = sample.apply(leaves_of(sample.inputs));
    has_one_element = has_one_element || output.size() == 1;
    has_gradient = has_gradient || (sample.check_gradient && output.requires_grad());
    takes_gradient = takes_gradient || output.requires_grad();
    for (const Array& x : sample.inputs) {
      has_empty = has_empty || x.size() == 0;
      for (int axis = 0; axis < x.ndim(); ++axis) {
        has_odd = has_odd || (x.dim(axis) > 1 && x.dim(axis) % 2 == 1);
      }
      has_matrix = has_matrix || x.ndim() >= 2;
      has_oblong = has_oblong || (x.ndim() >= 2 && x.dim(-1) != x.dim(-2) && x.size() > 0);
    }
  });
  EXPECT_GE(count, 3);
  EXPECT_TRUE(has_one_element);
  EXPECT_EQ(has_gradient, takes_gradient);
  EXPECT_EQ(has_oblong, has_matrix);
  if (without_empty_samples().contains(GetParam()->name)) return;
  EXPECT_TRUE(has_empty);
  EXPECT_TRUE(has_odd);
}

TEST_P(OpContract, AgreesWithTheReferenceInF64) {
  each_sample([](const OpSample& sample) {
    const NoGrad no_grad;
    const Tensor got = sample.apply(leaves_of(sample.inputs));
    EXPECT_TRUE(!is_floating(got.dtype()) || got.dtype() == DType::kF64);
    EXPECT_TRUE(got.is_leaf());
    expect_close(got.array(), sample.reference(sample.inputs), 1e-12);
  });
}

TEST_P(OpContract, AgreesWithTheReferenceInF32) {
  each_sample([](const OpSample& sample) {
    const std::vector<Array> inputs =
        map_floats(sample.inputs, [](const Array& x) { return x.to(DType::kF32); });
    const Tensor got = sample.apply(leaves_of(inputs));
    if (is_floating(got.dtype()) && inputs[0].dtype() == DType::kF32) {
      EXPECT_EQ(got.dtype(), DType::kF32);
    }
    // Whole numbers are decided by the values that the operation was given.
    const std::vector<Array> rounded =
        map_type(inputs, DType::kF32, [](const Array& x) { return x.to(DType::kF64); });
    expect_close(got.array(), sample.reference(is_floating(got.dtype()) ? sample.inputs : rounded),
                 sample.f32_tolerance);
  });
}

// Operations that save nothing may take another way to the output.
TEST_P(OpContract, GivesTheSameBitsWithoutAHistory) {
  const auto same = [](const Array& x) { return x; };
  each_sample([&](const OpSample& sample) {
    for (const Relayout layout : {Relayout(same), Relayout(transposed), Relayout(every_second)}) {
      for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
        const std::vector<Array> inputs =
            map_floats(sample.inputs, [&](const Array& x) { return layout(x.to(dtype)); });
        if (refuses(sample, inputs)) continue;
        const Array with = sample.apply(leaves_of(inputs)).array();
        const NoGrad no_grad;
        const Array without = sample.apply(leaves_of(inputs)).array();
        ASSERT_EQ(without.dtype(), with.dtype());
        expect_close(without, with, 0);
      }
    }
  });
}

// Against the reference at the rounded inputs: a few roundings of the result.
TEST_P(OpContract, AgreesWithTheReferenceInHalfPrecision) {
  bool refused = false;
  each_sample([&](const OpSample& sample) {
    for (const DType dtype : {DType::kBF16, DType::kF16}) {
      SCOPED_TRACE(std::string(to_string(dtype)));
      const double tolerance = dtype == DType::kBF16 ? 0x1p-6 : 0x1p-9;
      const std::vector<Array> inputs =
          map_floats(sample.inputs, [dtype](const Array& x) { return x.to(dtype); });
      const std::vector<Array> rounded =
          map_type(inputs, dtype, [](const Array& x) { return x.to(DType::kF64); });
      if (refuses(sample, inputs)) {
        refused = true;
        continue;
      }
      const Sweep got = sweep(sample, inputs);
      expect_close(got.output, sample.reference(rounded), tolerance);
      if (!sample.check_gradient) continue;
      const Sweep want = sweep(sample, rounded);
      expect_same_sweep({want.output, got.gradients}, want, 4 * tolerance);
    }
  });
  EXPECT_EQ(refused, without_halves().contains(GetParam()->name));
}

bool is_finite(const Array& x) {
  if (x.dtype() != DType::kF64) return true;
  const std::vector<double> values = x.to_vector<double>();
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

// Whole values of every integer type; an operation may refuse them. (Samples that add the outcome
// of a test to a value say nothing in bool.)
TEST_P(OpContract, AgreesWithTheReferenceInWholeNumbers) {
  if (without_whole_samples().contains(GetParam()->name)) return;
  each_sample([](const OpSample& sample) {
    if (!std::all_of(sample.inputs.begin(), sample.inputs.end(), is_finite)) return;
    for (const DType dtype : {DType::kI64, DType::kI32, DType::kI8, DType::kU8}) {
      SCOPED_TRACE(std::string(to_string(dtype)));
      const std::vector<Array> whole =
          map_floats(sample.inputs, [dtype](const Array& x) { return whole_values(x, dtype); });
      const std::vector<Array> inputs =
          map_floats(whole, [dtype](const Array& x) { return x.to(dtype); });
      if (refuses(sample, inputs)) continue;
      const Array got = sample.apply(leaves_of(inputs)).array();
      const Array want = sample.reference(whole);
      if (is_floating(got.dtype())) {
        expect_close(got, want, sample.f32_tolerance);
      } else if (got.dtype() == DType::kBool) {
        expect_close(got, want.to(DType::kBool), 0.0);
      } else {
        // Integers wrap around.
        expect_close(got, want.to(DType::kI64).to(got.dtype()), 0.0);
      }
    }
  });
}

TEST_P(OpContract, GradientsAgreeWithDifferences) {
  each_sample([](const OpSample& sample) {
    if (!sample.check_gradient) return;
    if (!sample.apply(leaves_of(sample.inputs)).requires_grad()) return;
    EXPECT_EQ(gradcheck(sample.apply, sample.inputs), "");
  });
}

TEST_P(OpContract, SecondGradientsAgreeWithDifferences) {
  const bool has_none = without_second_gradient().contains(GetParam()->name);
  bool has_gradient = false;
  int checked = 0;
  each_sample([&](const OpSample& sample) {
    if (!sample.check_gradient || !sample.apply(leaves_of(sample.inputs)).requires_grad()) return;
    has_gradient = true;
    std::int64_t moves = 0;
    for (const Array& x : sample.inputs) moves += x.dtype() == DType::kF64 ? x.size() : 0;
    if (moves == 0 || moves > kMovesMax) return;
    ++checked;
    if (!has_none) {
      EXPECT_EQ(
          gradgradcheck(sample.apply, sample.inputs,
                        {.eps = 1e-5, .relative_tolerance = 1e-5, .absolute_tolerance = 1e-6}),
          "");
      return;
    }
    try {
      gradgradcheck(sample.apply, sample.inputs);
      ADD_FAILURE() << "has a second gradient after all";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find("which has none"), std::string::npos);
    }
  });
  EXPECT_EQ(checked > 0, has_gradient) << "no sample is small enough";
}

// Refuses the inputs in words, or computes from them: then every gradient fits its input.
void expect_refused_or_computed(const OpSample& sample, std::span<const Array> inputs) {
  if (refuses(sample, inputs)) return;
  const Sweep got = sweep(sample, inputs);
  ASSERT_TRUE(got.output.defined());
  std::size_t next = 0;
  for (const Array& x : inputs) {
    if (got.gradients.empty() || !x.defined() || !is_floating(x.dtype())) continue;
    ASSERT_LT(next, got.gradients.size());
    EXPECT_EQ(to_string(got.gradients[next++].shape()), to_string(x.shape()));
  }
}

// Inputs of another number of axes, another size, undefined. The first input of every operation
// must be there.
TEST_P(OpContract, SaysWhatIsWrong) {
  each_sample([&](const OpSample& sample) {
    for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "input " << i);
      std::vector<Array> inputs = sample.inputs;
      const Array right = inputs[i];
      if (right.ndim() < Dims::kDimsMax) {
        inputs[i] = right.unsqueeze(0).clone();
        expect_refused_or_computed(sample, inputs);
      }
      inputs[i] = Array();
      if (i == 0) {
        EXPECT_TRUE(refuses(sample, inputs)) << "an undefined first input";
      } else {
        expect_refused_or_computed(sample, inputs);
      }
      if (right.ndim() > 0 && right.size() > 0) {
        Shape shape = right.shape();
        shape[shape.size() - 1] += 2;
        inputs[i] = Array::zeros(shape, right.dtype());
        expect_refused_or_computed(sample, inputs);
      }
    }
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

// Positions and masks among them.
TEST_P(OpContract, TakesAnyMemoryOrderInEveryType) {
  each_sample([](const OpSample& sample) {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
      SCOPED_TRACE(std::string(to_string(dtype)));
      const double tolerance = dtype == DType::kF32    ? 2e-6
                               : dtype == DType::kBF16 ? 0x1p-6
                                                       : 0x1p-9;
      const std::vector<Array> inputs =
          map_floats(sample.inputs, [dtype](const Array& x) { return x.to(dtype); });
      if (refuses(sample, inputs)) continue;
      const Sweep want = sweep(sample, inputs);
      for (const Relayout relayout : {transposed, every_second, reversed}) {
        std::vector<Array> moved;
        moved.reserve(inputs.size());
        for (const Array& x : inputs) moved.push_back(x.defined() ? relayout(x) : x);
        expect_same_sweep(sweep(sample, moved), want, tolerance);
      }
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
INSTANTIATE_TEST_SUITE_P(Documented, OpContract, testing::Values(&cubic_op), name_of);

TEST(OpTable, HasDistinctSortedNames) {
  std::vector<std::string> names;
  for (const OpDef* op : op_table()) names.emplace_back(op->name);
  EXPECT_GE(names.size(), 30U);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

}  // namespace
}  // namespace weft::op_contract_test
