// NodeAccess: the one way from a Tensor to its Node's fields; for autograd/*.cpp alone.
#pragma once

#include "weft/autograd/node.h"

namespace weft {

struct NodeAccess {
  static const IntrusivePtr<Node>& node(const Tensor& tensor) { return tensor.node_; }
  static void set_node(Tensor& tensor, IntrusivePtr<Node> node) { tensor.node_ = std::move(node); }
  static void describe(Node& node, const Array& value) {
    node.shape_ = value.shape();
    node.dtype_ = value.dtype();
  }
  static void make_leaf(Node& node, const Array& value) {
    describe(node, value);
    node.leaf_ = true;
  }
  static void set_inputs(Node& node, const char* name, std::span<const Tensor* const> inputs) {
    node.name_ = name;
    node.input_count_ = static_cast<int>(inputs.size());
    if (node.input_count_ > Node::kInlineInputs) {
      node.more_inputs_.resize(inputs.size() - std::size_t{Node::kInlineInputs});
    }
    for (int i = 0; i < node.input_count_; ++i) {
      node.input(i) = inputs[static_cast<std::size_t>(i)]->node_;
    }
  }
  static bool is_leaf(const Node& node) { return node.leaf_; }
  static Array& gradient(Node& node) { return node.gradient_; }
  static bool& has_grad_storage(Node& node) { return node.has_grad_storage_; }
  static ParameterId& parameter_id(Node& node) { return node.parameter_id_; }
};

}  // namespace weft
