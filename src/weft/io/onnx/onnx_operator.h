// OnnxOperator: the implementation of one ONNX operator by operations of Weft. For io/onnx/*.cpp.
//
// An operator is a function from a call to its outputs. onnx_operator_table.cpp joins the tables
// (one in each file onnx_NAME_ops.cpp); docs/onnx.md lists them. Where versions differ, all up to
// 18 are supported. Threads: pure functions. Fails: std::invalid_argument "[Conv] expected ..., got
// ...", as the operations do; the runner adds the node's name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/autograd/tensor.h"
#include "weft/io/onnx_model.h"

namespace weft {

// The bound of the values in one output: a few bytes of a file can ask for any shape.
inline constexpr std::int64_t kOnnxValuesMax = std::int64_t{1} << 32U;

class OnnxCall {
 public:
  OnnxCall(const OnnxNode& node, std::int64_t opset, std::vector<Tensor> inputs)
      : node_(node), opset_(opset), inputs_(std::move(inputs)) {}

  const OnnxNode& node() const { return node_; }
  std::int64_t opset() const { return opset_; }
  int size() const { return static_cast<int>(inputs_.size()); }
  const std::vector<Tensor>& inputs() const { return inputs_; }

  // Input `index`; has() is true if it was given, in() throws if it was not.
  bool has(int index) const;
  const Tensor& in(int index) const;
  // The same, undefined if it was not given.
  Tensor optional_in(int index) const { return has(index) ? in(index) : Tensor(); }
  // The values of an input of integers, on the host.
  std::vector<std::int64_t> integers_in(int index) const;
  // True if output `index` is requested.
  bool wants(int index) const;

  // Attributes by name, of the kind that the function names; they throw if the attribute is of
  // another kind.
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integers(std::string_view name) const;
  std::optional<std::vector<float>> numbers(std::string_view name) const;
  const OnnxAttribute& required(std::string_view name, OnnxAttributeKind kind) const;

  // Integers that are an attribute in old versions and input `index` in new ones.
  std::optional<std::vector<std::int64_t>> integers_of(std::string_view name, int index) const;
  // The same as axes of a tensor with `ndim` axes, in [0, ndim), each once.
  std::optional<std::vector<int>> axes_of(std::string_view name, int index, int ndim) const;

  // Throws std::invalid_argument "[Op] expected ..., got ...".
  [[noreturn]] void fail(const std::string& expected, const std::string& got) const;
  // Returns `shape` if it has at most kOnnxValuesMax values and no size below 0.
  Shape bounded(std::span<const std::int64_t> shape) const;
  Shape bounded(const Shape& shape) const { return bounded({shape.begin(), shape.end()}); }
  // Returns `axis` in [0, ndim).
  int axis(std::int64_t axis, int ndim) const;

 private:
  const OnnxAttribute* find(std::string_view name, OnnxAttributeKind kind) const;

  const OnnxNode& node_;
  std::int64_t opset_;
  std::vector<Tensor> inputs_;
};

struct OnnxOperator {
  std::string_view name;
  std::vector<Tensor> (*run)(const OnnxCall& call);
};

// All operators that Weft runs but those with inner graphs (If, Loop), which onnx_import.cpp runs
// itself.
std::span<const OnnxOperator> onnx_operators();
// Returns nullptr if there is none of that name.
const OnnxOperator* find_onnx_operator(std::string_view name);

// The parts of the table.
std::span<const OnnxOperator> onnx_elementwise_ops();
std::span<const OnnxOperator> onnx_shape_ops();
std::span<const OnnxOperator> onnx_index_ops();
std::span<const OnnxOperator> onnx_reduce_ops();
std::span<const OnnxOperator> onnx_window_ops();
std::span<const OnnxOperator> onnx_norm_ops();
std::span<const OnnxOperator> onnx_recurrent_ops();
std::span<const OnnxOperator> onnx_quantize_ops();
std::span<const OnnxOperator> onnx_resize_ops();

}  // namespace weft
