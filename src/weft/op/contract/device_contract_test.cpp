// Every entry of the op table on a second device: output and gradients have the bits of the CPU,
// and stay on the device. Its memory faults when the host touches it (array/test_device.h), so an
// operation that reads values outside of a launch, or makes an array where its operands are not,
// ends here. No operation is excepted.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/array/print.h"
#include "weft/array/test_device.h"
#include "weft/autograd/backward.h"
#include "weft/op/contract/test_exceptions.h"
#include "weft/op/core/op_def.h"

namespace weft {
// The operation that docs/ops.md adds.
extern const OpDef cubic_op;
}  // namespace weft

namespace weft::device_contract_test {
namespace {

struct Swept {
  Array output;
  std::vector<Array> gradients;
};

Swept swept(const OpSample& sample, const std::vector<Array>& inputs, bool create_graph) {
  std::vector<Tensor> leaves;
  leaves.reserve(inputs.size());
  for (const Array& x : inputs) leaves.emplace_back(x, x.defined() && is_floating(x.dtype()));
  const Tensor output = sample.apply(leaves);
  Swept result{output.array(), {}};
  if (!output.requires_grad()) return result;
  Array weights = Array::empty(output.shape(), DType::kF64);
  for (std::int64_t i = 0; i < weights.size(); ++i) {
    weights.data<double>()[i] = 0.5 + 0.1 * static_cast<double>(i % 11);
  }
  BackwardOptions options;
  options.gradient = weights.to(output.dtype()).to(output.device());
  options.create_graph = create_graph;
  backward(output, GradientSink(), options);
  for (Tensor& leaf : leaves) {
    if (!leaf.requires_grad()) continue;
    result.gradients.push_back(leaf.grad());
    // With create_graph a leaf's gradient keeps the graph that keeps the leaf.
    leaf.zero_grad();
  }
  return result;
}

// `there` is on the device and has the bits of `here`.
void expect_bits(const Array& there, const Array& here, Device device) {
  ASSERT_EQ(there.defined(), here.defined());
  if (!here.defined()) return;
  EXPECT_EQ(to_string(there.device()), to_string(device));
  ASSERT_EQ(to_string(there.shape()), to_string(here.shape()));
  ASSERT_EQ(there.dtype(), here.dtype());
  const Array got = there.contiguous().to(Device::cpu());
  const Array want = here.contiguous();
  EXPECT_EQ(std::memcmp(got.raw_data(), want.raw_data(), want.size_bytes()), 0)
      << to_string(got) << "\nin place of\n"
      << to_string(want);
}

class DeviceContract : public testing::TestWithParam<const OpDef*> {
 protected:
  // Compares a sample with inputs of this type.
  void compare(const OpSample& sample, DType dtype, Device device, bool create_graph) const {
    std::vector<Array> here;
    std::vector<Array> there;
    for (const Array& x : sample.inputs) {
      here.push_back(x.dtype() == DType::kF64 ? x.to(dtype) : x);
      there.push_back(here.back().to(device));
    }
    const Swept want = swept(sample, here, create_graph);
    const Swept got = swept(sample, there, create_graph);
    expect_bits(got.output, want.output, device);
    ASSERT_EQ(got.gradients.size(), want.gradients.size());
    for (std::size_t i = 0; i < got.gradients.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "gradient " << i);
      expect_bits(got.gradients[i], want.gradients[i], device);
    }
  }

  void compare_all(const TestDevice& test, bool create_graph) const {
    for (const OpSample& sample : GetParam()->samples()) {
      for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16}) {
        SCOPED_TRACE(sample.name + " in " + std::string(to_string(dtype)));
        ASSERT_NO_THROW(compare(sample, dtype, test.device(), create_graph));
      }
    }
  }
};

TEST_P(DeviceContract, HasTheBitsOfTheCpu) {
  ASSERT_FALSE(GetParam()->samples().empty());
  const TestDevice test;
  compare_all(test, false);
}

// What a new device begins with: the row for everything that computes on the host.
TEST_P(DeviceContract, HasTheBitsOfTheCpuByTheFallback) {
  const TestDevice test(run_on_host);
  compare_all(test, false);
}

// Gradients that can be differentiated again are computed in another way.
TEST_P(DeviceContract, HasTheBitsOfTheCpuInGradientsWithAGraph) {
  if (without_second_gradient().contains(GetParam()->name)) {
    GTEST_SKIP() << "has no second gradient";
  }
  const TestDevice test;
  compare_all(test, true);
}

std::vector<const OpDef*> all_operations() {
  std::vector<const OpDef*> all(op_table().begin(), op_table().end());
  all.push_back(&cubic_op);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Table, DeviceContract, testing::ValuesIn(all_operations()),
                         [](const auto& entry) { return std::string(entry.param->name); });

}  // namespace
}  // namespace weft::device_contract_test
