// Building and taking down graphs, and how the gradients of one tensor come together.
#include "weft/autograd/node.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "weft/array/reach.h"
#include "weft/autograd/anomaly_check.h"
#include "weft/autograd/node_access.h"
#include "weft/autograd/view_family.h"
#include "weft/base/check.h"
#include "weft/kernel/conv/residual.h"
#include "weft/kernel/elementwise/elementwise.h"

namespace weft {
namespace {

[[noreturn]] void throw_vjp_gradient(Node& operation, int index, const Array& gradient) {
  const Node& input = *NodeAccess::input(operation, index);
  const auto described = [](const Shape& shape, DType dtype) {
    return to_string(shape) + " " + std::string(to_string(dtype));
  };
  throw std::invalid_argument(
      std::string("[backward] expected a gradient ") +
      described(NodeAccess::shape(input), NodeAccess::dtype(input)) + " for input " +
      std::to_string(index) + " of \"" + NodeAccess::name(operation) + "\", got " +
      (gradient.defined() ? described(gradient.shape(), gradient.dtype()) : "an undefined one"));
}

// What the vjp of `operation` gives for its input `index`.
void check_vjp_gradient(Node& operation, int index, const Array& gradient) {
  const Node& input = *NodeAccess::input(operation, index);
  if (gradient.defined() && gradient.shape() == NodeAccess::shape(input) &&
      gradient.dtype() == NodeAccess::dtype(input)) {
    return;
  }
  throw_vjp_gradient(operation, index, gradient);
}

// No one else sees the memory of `array`, so it may be added to in place.
bool is_sole_owner(const Array& array) {
  return array.is_contiguous() && array.storage().use_count() == 1;
}

}  // namespace

Node::Node() = default;
Node::~Node() = default;

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

IntrusivePtr<Node> Node::output_node(int) { return IntrusivePtr<Node>(this); }

bool InputGradients::needs(int index) const {
  const Node* const input = node_.input(index).get();
  return input != nullptr && !input->skip_;
}

GradientTarget InputGradients::target(int index) const {
  Node& node = *node_.input(index);
  const bool holds = node.gradient_.defined();
  if (node.leaf_) {
    const bool replace = overwrite_ && !node.touched_;
    node.touched_ = true;
    if (!holds || (replace && !node.has_grad_storage_)) {
      node.gradient_ = Array::empty(node.shape_, node.dtype_, node.device_);
      return {node.gradient_, false};
    }
    return {node.gradient_, !replace};
  }
  if (!holds) {
    node.gradient_ = Array::empty(node.shape_, node.dtype_, node.device_);
  } else if (!is_sole_owner(node.gradient_)) {
    node.gradient_ =
        node.gradient_.is_strided() ? node.gradient_.clone() : node.gradient_.strided();
  }
  return {node.gradient_, holds};
}

void InputGradients::add(int index, Array gradient) const {
  Node& node = *node_.input(index);
  check_vjp_gradient(node_, index, gradient);
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
  if (!node.leaf_ && !(node.gradient_.is_strided() && gradient.is_strided())) {
    node.gradient_ = add_in_order(node.gradient_, gradient);
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

bool TensorGradients::needs(int index) const {
  const Node* const input = node_.input(index).get();
  return input != nullptr && !input->skip_;
}

void TensorGradients::add(int index, const Tensor& gradient) const {
  Node& node = *node_.input(index);
  check_vjp_gradient(node_, index, gradient.array());
  Tensor& sum = NodeAccess::extras(node).gradient;
  sum = sum.defined() ? internal::add_tensors(sum, gradient) : gradient;
}

Tensor TensorGradients::input(int index, Array value) const {
  return NodeAccess::with_history(std::move(value), node_.input(index));
}

Tensor TensorGradients::output(Array value, int index) const {
  return NodeAccess::with_history(std::move(value), node_.output_node(index));
}

namespace internal {

// One output of a ManyNode: hands its gradient over to it.
class OutputNode final : public Node {
 public:
  OutputNode(ManyNode& many, int index) : many_(many), index_(static_cast<std::size_t>(index)) {
    const auto& output = many.outputs_[index_];
    NodeAccess::describe(*this, output.shape, output.dtype, output.device);
    NodeAccess::set_input(*this, NodeAccess::name(many), IntrusivePtr<Node>(&many));
  }

 private:
  void run(const Array& gradient, const InputGradients&) override {
    Array& sum = many_.gradients_[index_];
    sum = sum.defined() ? binary(BinaryOp::kAdd, sum.strided(), gradient.strided()) : gradient;
    NodeAccess::gradient(many_) = gradient;  // tells the sweep that there is one
  }
  void run_tensors(const Tensor& gradient, const TensorGradients&) override {
    many_.tensors_.resize(many_.outputs_.size());
    Tensor& sum = many_.tensors_[index_];
    sum = sum.defined() ? add_tensors(sum, gradient) : gradient;
    NodeAccess::extras(many_).gradient = gradient;
  }
  void release() override {}
  ManyNode& many_;  // its input, alive while it runs
  std::size_t index_;
};

ManyNode::ManyNode(std::span<const Array> outputs) : gradients_(outputs.size()) {
  for (const Array& output : outputs) {
    outputs_.push_back({output.shape(), output.dtype(), output.device()});
  }
}

std::vector<Tensor> ManyNode::take_tensors() {
  std::vector<Tensor> taken = std::exchange(tensors_, {});
  taken.resize(outputs_.size());
  return taken;
}

IntrusivePtr<Node> ManyNode::output_node(int index) {
  if (!is_floating(outputs_[static_cast<std::size_t>(index)].dtype)) return {};
  return IntrusivePtr<Node>(std::make_unique<OutputNode>(*this, index).release());
}

SavedMark mark_saved(const Array& array, int input) {
  const ByteRange bytes =
      array.is_strided() ? byte_range(array) : ByteRange{0, array.storage()->size_bytes()};
  return {array.storage().get(), bytes.begin, bytes.end, array.storage()->version(), input};
}

void check_saved(const SavedMark& mark, const char* name) {
  if (mark.storage->version() == mark.version) return;
  const char* writer = mark.storage->writer_since(mark.version, mark.begin, mark.end);
  if (writer == nullptr) {
    // A write that no one has noted is about these bytes for sure only if they are all there is.
    if (mark.end - mark.begin <= mark.storage->versioned_bytes() / 2) return;
    writer = "a write to its Array";
  }
  throw std::invalid_argument(
      std::string("[backward] expected the values that \"") + name +
      "\" needs for its gradient, got " +
      (mark.input < 0 ? "its output" : "its input " + std::to_string(mark.input)) +
      " written in place by \"" + writer +
      "\" since; clone it first, or use the operation that is not in place");
}

bool any_requires_grad(std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs) {
    if (input->requires_grad()) return true;
  }
  return false;
}

// Marks the inputs and the output whose storage the capture holds a handle to. Whole handles are
// looked for, not pointers: padding and numbers may have the bits of one, and what is not held
// would not outlive its mark.
static void mark_captured(Node& node, const Array& output, std::span<const Tensor* const> inputs,
                          std::span<const std::byte> saved) {
  const auto holds = [saved](const std::shared_ptr<Storage>& handle) {
    for (std::size_t at = 0; at + sizeof handle <= saved.size(); at += sizeof(void*)) {
      if (std::memcmp(saved.data() + at, static_cast<const void*>(&handle), sizeof handle) == 0) {
        return true;
      }
    }
    return false;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Array& value = inputs[i]->array();
    if (value.defined() && holds(value.storage())) {
      NodeAccess::add_mark(node, mark_saved(value, static_cast<int>(i)));
    }
  }
  if (holds(output.storage())) NodeAccess::add_mark(node, mark_saved(output, -1));
}

Tensor attach(Array output, std::unique_ptr<Node> node, const char* name,
              std::span<const Tensor* const> inputs, std::span<const std::byte> saved,
              SharedMemory shared) {
  IntrusivePtr<Node> owner(node.release());
  for (const Tensor* input : inputs) bring_up_to_date(*input, name);
  if (!is_floating(output.dtype())) return Tensor(std::move(output));
  NodeAccess::describe(*owner, output.shape(), output.dtype(), output.device());
  NodeAccess::set_inputs(*owner, name, inputs);
  if (watching) note_call_site(*owner);
  mark_captured(*owner, output, inputs, saved);
  NodeAccess::output_version(*owner) = output.storage()->version();
  if (shared == SharedMemory::kView) join_family(*owner, output, inputs);
  return NodeAccess::with_history(std::move(output), owner);
}

std::vector<Tensor> attach_many(std::vector<Array> outputs, std::unique_ptr<ManyNode> node,
                                const char* name, std::span<const Tensor* const> inputs,
                                std::span<const std::byte> saved) {
  ManyNode& many = *node;
  const IntrusivePtr<Node> owner(node.release());
  for (const Tensor* input : inputs) bring_up_to_date(*input, name);
  NodeAccess::set_inputs(many, name, inputs);
  if (watching) note_call_site(many);
  for (const Array& output : outputs) mark_captured(many, output, inputs, saved);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    IntrusivePtr<Node> history = many.output_node(static_cast<int>(i));
    if (history) {
      NodeAccess::output_version(*history) = outputs[i].storage()->version();
      join_family(*history, outputs[i], inputs);
    }
    results.push_back(NodeAccess::with_history(std::move(outputs[i]), history));
  }
  return results;
}

void throw_no_second_gradient(const char* name) {
  throw std::invalid_argument(
      std::string(
          "[backward] expected operations with a second gradient for create_graph, got \"") +
      name + "\", which has none");
}

Tensor add_tensors(const Tensor& a, const Tensor& b) {
  return record(
      "add_gradients", binary(BinaryOp::kAdd, a.array().strided(), b.array().strided()), {&a, &b},
      [](const Array& dy, const InputGradients& dx) {
        for (int i = 0; i < 2; ++i) {
          if (dx.needs(i)) dx.add(i, dy);
        }
      },
      [](const Tensor& dy, const TensorGradients& dx) {
        for (int i = 0; i < 2; ++i) {
          if (dx.needs(i)) dx.add(i, dy);
        }
      });
}

}  // namespace internal
}  // namespace weft
