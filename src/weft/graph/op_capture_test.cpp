// Every sample of the op table: forward and backward captured and replayed give eager's bits.
#include <cstring>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/graph/graph.h"
#include "weft/op/op_def.h"

namespace weft::op_capture_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const Array& array) {
  if (!array.defined()) return {};
  const Array dense = array.contiguous();
  Bytes bytes(dense.size_bytes());
  if (!bytes.empty()) std::memcpy(bytes.data(), dense.raw_data(), bytes.size());
  return bytes;
}

// The values and gradients of one run.
struct Results {
  Tensor y;
  std::vector<Array> gradients;

  std::vector<Bytes> bytes() const {
    std::vector<Bytes> all = {bytes_of(y.array())};
    for (const Array& gradient : gradients) all.push_back(bytes_of(gradient));
    return all;
  }
};

Results run(const OpSample& sample, std::span<const Array> inputs, const Array& seed) {
  std::vector<Tensor> leaves;
  for (const Array& x : inputs) leaves.emplace_back(x, is_floating(x.dtype()));
  Results results;
  results.y = sample.apply(leaves);
  if (results.y.requires_grad()) {
    BackwardOptions options;
    options.gradient = seed;
    backward(results.y, {}, options);
  }
  for (const Tensor& leaf : leaves) results.gradients.push_back(leaf.grad());
  return results;
}

Array like_floats(const Array& x, DType dtype) {
  return x.dtype() == DType::kF64 ? x.to(dtype) : x;
}

// What the second replay sees: other floats, the same integers in another order.
Array changed(const Array& x) {
  if (!is_floating(x.dtype())) {
    return x.reshape({x.size()}).slice(0, {}, {}, -1).clone().reshape(x.shape());
  }
  Array y = x.to(DType::kF64).clone();
  for (double& value : y.flat<double>()) value = value * 0.75;
  return y.to(x.dtype()).clone();
}

// Whether the operation takes these values: labels in another order may be none.
bool accepts(const OpSample& sample, std::span<const Array> inputs) {
  const NoGrad guard;
  try {
    const std::vector<Tensor> plain(inputs.begin(), inputs.end());
    sample.apply(plain);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::string check(const OpSample& sample, DType dtype) {
  std::vector<Array> first;
  std::vector<Array> second;
  for (const Array& x : sample.inputs) {
    first.push_back(like_floats(x, dtype).clone());
    second.push_back(changed(first.back()));
  }
  const bool reordered = accepts(sample, second);
  for (std::size_t i = 0; !reordered && i < first.size(); ++i) {
    if (!is_floating(first[i].dtype())) second[i] = first[i];
  }
  std::vector<Array> inputs;
  for (const Array& x : first) inputs.push_back(x.clone());
  Array seed;
  {
    const NoGrad guard;
    std::vector<Tensor> plain(inputs.begin(), inputs.end());
    const Tensor y = sample.apply(plain);
    if (is_floating(y.dtype())) seed = Array::full(y.shape(), 0.5, y.dtype());
  }
  Results captured;
  Graph graph = capture([&] { captured = run(sample, inputs, seed); });
  for (const std::vector<Array>* const values : {&first, &second, &first}) {
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i].copy_from((*values)[i]);
    const std::vector<Bytes> want = run(sample, *values, seed).bytes();
    graph.replay();
    if (captured.bytes() != want) return "a replay differs from eager";
  }
  return "";
}

class OpCapture : public testing::TestWithParam<const OpDef*> {};

TEST_P(OpCapture, ReplaysGiveEagersBits) {
  for (const OpSample& sample : GetParam()->samples()) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      try {
        EXPECT_EQ(check(sample, dtype), "") << sample.name << " " << to_string(dtype);
      } catch (const std::invalid_argument& error) {
        // What decides on the host by its nature says so.
        const std::string text = error.what();
        EXPECT_NE(text.find("reads values on the host"), std::string::npos)
            << sample.name << ": " << text;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, OpCapture, testing::ValuesIn(op_table().begin(), op_table().end()),
                         [](const auto& entry) { return std::string(entry.param->name); });

}  // namespace
}  // namespace weft::op_capture_test
