// record(): how an operation gives its output a history. What the author of an op includes.
//
//   Tensor exp(const Tensor& x) {
//     Array y = ...;
//     return record("exp", y, {&x}, [y](const Array& dy, const InputGradients& dx) {
//       dx.add(0, multiply(dy, y));
//     });
//   }
//
// A vjp captures the Arrays it needs (handles, no copies); never a Tensor. It runs at most once
// unless the graph is kept, then it is destroyed, which frees what it saved. It is skipped where
// the output got no gradient. dy has the output's shape, any strides, and may be blocked:
// .contiguous() gives a plain one. dy is shared with others and must not be written.
// Threads: as backward().
#pragma once

#include <array>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

class Node;
class BackwardSweep;

// Where an input's gradient goes. With `accumulate` it is added to the values of `array`;
// without, these are undefined and every one must be written.
struct GradientTarget {
  Array array;  // contiguous, shape and type of the input
  bool accumulate = false;
};

// The gradients of the inputs of the operation whose vjp runs.
class InputGradients {
 public:
  // Whether input `index` takes a gradient; other calls REQUIRE it. Skip the work otherwise.
  bool needs(int index) const;
  // Hands over a gradient of the input's shape and type, any strides, blocked or not. It may
  // share memory with dy or other gradients; nobody may write to it afterwards.
  void add(int index, Array gradient) const;
  // Memory to write the gradient into: for a parameter its place in the arena, which saves a copy.
  // The caller must write it before it takes another target of the same tensor.
  GradientTarget target(int index) const;

 private:
  friend class BackwardSweep;
  InputGradients(Node& node, bool overwrite) : node_(node), overwrite_(overwrite) {}
  Node& node_;
  bool overwrite_;
};

// One operation of a graph, or a leaf. Only autograd/*.cpp looks inside.
class Node : public RefCounted {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;
  // Takes the graph above this down by a loop: a graph may be deeper than the stack.
  static void destroy(Node* node);

 protected:
  Node() = default;

 private:
  friend struct NodeAccess;
  friend class BackwardSweep;
  friend class InputGradients;

  // Runs the vjp. Leaves have none.
  virtual void run(const Array& gradient, const InputGradients& inputs) = 0;
  // Destroys the vjp and with it the saved buffers.
  virtual void release() = 0;

  static constexpr int kInlineInputs = 3;
  IntrusivePtr<Node>& input(int index) {
    return index < kInlineInputs ? inline_inputs_[static_cast<std::size_t>(index)]
                                 : more_inputs_[static_cast<std::size_t>(index - kInlineInputs)];
  }

  const char* name_ = "leaf";
  Shape shape_;
  DType dtype_ = DType::kF32;
  bool leaf_ = false;
  // The graph behind this was used up by a backward.
  bool released_ = false;
  // Of leaves: gradient_ was given by set_grad_storage.
  bool has_grad_storage_ = false;
  // A gradient has arrived in this sweep.
  bool touched_ = false;
  int input_count_ = 0;
  ParameterId parameter_id_ = kNoParameter;
  // An input that takes no gradient is null.
  std::array<IntrusivePtr<Node>, kInlineInputs> inline_inputs_;
  std::vector<IntrusivePtr<Node>> more_inputs_;

  // The gradient so far; undefined if none. A leaf keeps it from sweep to sweep.
  Array gradient_;
  // The sweep that visits this, and how many uses of the output it has still to count.
  std::uint64_t sweep_ = 0;
  std::int64_t uses_left_ = 0;
  Node* next_to_destroy_ = nullptr;
};

namespace internal {

template <class Vjp>
class OperationNode final : public Node {
 public:
  explicit OperationNode(Vjp vjp) : vjp_(std::move(vjp)) {}

 private:
  void run(const Array& gradient, const InputGradients& inputs) override {
    (*vjp_)(gradient, inputs);
  }
  void release() override { vjp_.reset(); }
  std::optional<Vjp> vjp_;
};

bool any_requires_grad(std::span<const Tensor* const> inputs);
Tensor attach(Array output, std::unique_ptr<Node> node, const char* name,
              std::span<const Tensor* const> inputs);

}  // namespace internal

// Whether record() would record these inputs: ask before computing what only a vjp needs.
inline bool recording(std::initializer_list<const Tensor*> inputs) {
  return grad_enabled() && internal::any_requires_grad({inputs.begin(), inputs.size()});
}

// The Tensor of `output`, with a history if recording(inputs). `name` must be a literal. Undefined
// inputs are allowed and take no gradient. The vjp is called as vjp(const Array& dy, const
// InputGradients&).
template <class Vjp>
Tensor record(const char* name, Array output, std::span<const Tensor* const> inputs, Vjp vjp) {
  if (!grad_enabled() || !internal::any_requires_grad(inputs)) return Tensor(std::move(output));
  return internal::attach(std::move(output),
                          std::make_unique<internal::OperationNode<Vjp>>(std::move(vjp)), name,
                          inputs);
}
template <class Vjp>
Tensor record(const char* name, Array output, std::initializer_list<const Tensor*> inputs,
              Vjp vjp) {
  return record(name, std::move(output), std::span(inputs.begin(), inputs.size()), std::move(vjp));
}

}  // namespace weft
