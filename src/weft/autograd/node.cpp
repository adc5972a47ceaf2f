// Building and taking down graphs, and how the gradients of one tensor come together.
#include "weft/autograd/node.h"

#include "weft/autograd/node_access.h"
#include "weft/base/check.h"
#include "weft/kernel/elementwise.h"

namespace weft {
namespace {

// No one else sees the memory of `array`, so it may be added to in place.
bool is_sole_owner(const Array& array) {
  return array.is_contiguous() && array.storage().use_count() == 1;
}

}  // namespace

void Node::destroy(Node* node) {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static thread_local Node* waiting = nullptr;
  static thread_local bool draining = false;
  node->next_to_destroy_ = waiting;
  waiting = node;
  if (draining) return;
  draining = true;
  while (waiting != nullptr) {
    const std::unique_ptr<Node> first(waiting);  // its inputs come back here and join the list
    waiting = first->next_to_destroy_;
  }
  draining = false;
}

bool InputGradients::needs(int index) const { return static_cast<bool>(node_.input(index)); }

GradientTarget InputGradients::target(int index) const {
  Node& node = *node_.input(index);
  const bool holds = node.gradient_.defined();
  if (node.leaf_) {
    const bool replace = overwrite_ && !node.touched_;
    node.touched_ = true;
    if (!holds || (replace && !node.has_grad_storage_)) {
      node.gradient_ = Array::empty(node.shape_, node.dtype_);
      return {node.gradient_, false};
    }
    return {node.gradient_, !replace};
  }
  if (!holds) {
    node.gradient_ = Array::empty(node.shape_, node.dtype_);
  } else if (!is_sole_owner(node.gradient_)) {
    node.gradient_ =
        node.gradient_.is_strided() ? node.gradient_.clone() : node.gradient_.strided();
  }
  return {node.gradient_, holds};
}

void InputGradients::add(int index, Array gradient) const {
  Node& node = *node_.input(index);
  WEFT_CHECK(gradient.defined() && gradient.shape() == node.shape_ &&
             gradient.dtype() == node.dtype_);
  if (!node.leaf_ && !node.gradient_.defined()) {
    node.gradient_ = std::move(gradient);
    return;
  }
  if (node.leaf_ && !node.has_grad_storage_ && (!node.gradient_.defined() || overwrite_) &&
      !node.touched_ && is_sole_owner(gradient)) {
    node.touched_ = true;
    node.gradient_ = std::move(gradient);
    return;
  }
  const Array plain = gradient.strided();
  GradientTarget into = target(index);
  if (into.accumulate) {
    accumulate(plain, into.array);
  } else {
    into.array.copy_from(plain);
  }
}

namespace internal {

bool any_requires_grad(std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs) {
    if (input->requires_grad()) return true;
  }
  return false;
}

Tensor attach(Array output, std::unique_ptr<Node> node, const char* name,
              std::span<const Tensor* const> inputs) {
  IntrusivePtr<Node> owner(node.release());
  NodeAccess::describe(*owner, output);
  NodeAccess::set_inputs(*owner, name, inputs);
  Tensor result(std::move(output));
  NodeAccess::set_node(result, std::move(owner));
  return result;
}

}  // namespace internal
}  // namespace weft
