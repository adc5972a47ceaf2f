// NodeAccess: the one way from a Tensor to its Node's fields; for autograd/*.cpp alone.
#pragma once

#include "weft/autograd/node.h"
#include "weft/autograd/node_extras.h"

namespace weft {

struct NodeAccess {
  static IntrusivePtr<Node> node(const Tensor& tensor) { return tensor.node_.pointer(); }
  // The same, borrowed.
  static Node* raw_node(const Tensor& tensor) { return tensor.node_.get(); }
  // Gives a handle another history of the same values.
  static void set_node(const Tensor& tensor, Node* node) { tensor.node_ = HandlePtr<Node>(node); }
  // `value` with the history of `node`, which may be null.
  static Tensor with_history(Array value, const IntrusivePtr<Node>& node) {
    Tensor tensor(std::move(value));
    tensor.node_ = HandlePtr<Node>(node.get());
    return tensor;
  }
  static void describe(Node& node, const Shape& shape, DType dtype, Device device) {
    node.shape_ = shape;
    node.dtype_ = dtype;
    node.device_ = device;
  }
  static void make_leaf(Node& node, const Array& value) {
    describe(node, value.shape(), value.dtype(), value.device());
    node.leaf_ = true;
  }
  static void set_inputs(Node& node, const char* name, std::span<const Tensor* const> inputs) {
    node.name_ = name;
    node.input_count_ = static_cast<int>(inputs.size());
    if (node.input_count_ > Node::kInlineInputs) {
      node.more_inputs_.resize(inputs.size() - std::size_t{Node::kInlineInputs});
    }
    for (int i = 0; i < node.input_count_; ++i) {
      node.input(i) = inputs[static_cast<std::size_t>(i)]->node_.pointer();
    }
  }
  static void set_input(Node& node, const char* name, IntrusivePtr<Node> input) {
    node.name_ = name;
    node.input_count_ = 1;
    node.input(0) = std::move(input);
  }
  static Node* input(Node& node, int index) { return node.input(index).get(); }
  static int input_count(const Node& node) { return node.input_count_; }
  static const char* name(const Node& node) { return node.name_; }
  static const Shape& shape(const Node& node) { return node.shape_; }
  static DType dtype(const Node& node) { return node.dtype_; }
  static bool is_leaf(const Node& node) { return node.leaf_; }
  static Array& gradient(Node& node) { return node.gradient_; }
  static bool& has_grad_storage(Node& node) { return node.has_grad_storage_; }
  static ParameterId& parameter_id(Node& node) { return node.parameter_id_; }
  static std::uint64_t& output_version(Node& node) { return node.output_version_; }
  static IntrusivePtr<ViewFamily>& family(Node& node) { return node.family_; }
  static const IntrusivePtr<ViewFamily>& family(const Node& node) { return node.family_; }
  static std::uint64_t& generation(Node& node) { return node.generation_; }
  static bool& shows_leaf(Node& node) { return node.shows_leaf_; }
  static bool& opaque(Node& node) { return node.opaque_; }
  static void add_mark(Node& node, const internal::SavedMark& mark) {
    if (node.mark_count_ < Node::kMarks) {
      node.marks_[static_cast<std::size_t>(node.mark_count_++)] = mark;
    }
  }
  static internal::NodeExtras& extras(Node& node) {
    if (!node.extras_) node.extras_ = std::make_unique<internal::NodeExtras>();
    return *node.extras_;
  }
  static internal::NodeExtras* extras_if_any(Node& node) { return node.extras_.get(); }
};

namespace internal {

// a + b, recorded.
Tensor add_tensors(const Tensor& a, const Tensor& b);

}  // namespace internal
}  // namespace weft
