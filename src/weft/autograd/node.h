// record(): how an operation gives its output a history. Authors of ops include this header.
//
//   Tensor exp(const Tensor& x) {
//     Array y = ...;
//     return record("exp", y, {&x},
//                   [y](const Array& dy, const InputGradients& dx) { dx.add(0, multiply(dy, y)); },
//                   [y](const Tensor& dy, const TensorGradients& dx) {
//                     dx.add(0, dy * dx.output(y));
//                   });
//   }
//
// The vjp captures the Arrays it needs (handles, no copies); never a Tensor. It runs at most once
// unless the graph is kept, then it is destroyed, which frees what it saved. It is skipped if the
// output got no gradient. dy has the output's shape, any strides, and may be blocked: .contiguous()
// gives a plain one. dy is shared with others and must not be written.
//
// The tensor vjp computes the same by operations on Tensors. It runs instead of the vjp if the
// graph of the gradient is needed (create_graph). dx.input(i, x) and dx.output(y) turn a saved
// Array back into the Tensor it was, history included; an input may also be captured as a Tensor,
// the output never (it would own itself). It must keep no memory alive that the vjp does not. An
// operation without one cannot be differentiated twice; an error names it.
//
// An operation with several outputs: record_many().
// Saved inputs and outputs are found in the capture by their storage, so that a write in place
// before the backward is detected; Arrays behind a pointer or in a vector are not found. Threads:
// as backward().
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/array/launch_watch.h"
#include "weft/autograd/tensor.h"

namespace weft {

class Node;
class BackwardSweep;
class ViewFamily;

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
  // Hands over a gradient of the input's shape and type, any strides, blocked or not. It may share
  // memory with dy or other gradients; it must not be written afterwards.
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

// The same while the graph of the gradient is made.
class TensorGradients {
 public:
  // Whether input `index` takes a gradient; other calls but input() and output() REQUIRE it.
  bool needs(int index) const;
  // Adds a gradient of the input's shape and type.
  void add(int index, const Tensor& gradient) const;
  // Input `index`, whose value is `value`, with its history.
  Tensor input(int index, Array value) const;
  // The operation's own output (`index` counts those of record_many), whose value is `value`.
  Tensor output(Array value, int index = 0) const;

 private:
  friend class BackwardSweep;
  explicit TensorGradients(Node& node) : node_(node) {}
  Node& node_;
};

namespace internal {

// A value that a graph needs: the bytes, and the version of the storage when they were seen.
struct SavedMark {
  const Storage* storage = nullptr;  // kept alive by the marked value
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint64_t version = 0;
  int input = 0;  // -1: the operation's output
};
SavedMark mark_saved(const Array& array, int input);
// Throws if the bytes were written since.
void check_saved(const SavedMark& mark, const char* name);

struct NodeExtras;

}  // namespace internal

// One operation of a graph, or a leaf. Only autograd/*.cpp looks inside.
class Node : public RefCounted {
 public:
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node();
  // Takes the graph above this down by a loop: a graph may be deeper than the stack.
  static void destroy(Node* node);
  // For HandlePtr: without a handle no one asks for the history of the family's memory.
  bool watches_handles() const { return static_cast<bool>(family_); }
  void handles_gone();

 protected:
  Node();
  const char* name() const { return name_; }

 private:
  friend struct NodeAccess;
  friend class BackwardSweep;
  friend class InputGradients;
  friend class TensorGradients;

  // Runs the vjp. Leaves have none.
  virtual void run(const Array& gradient, const InputGradients& inputs) = 0;
  virtual void run_tensors(const Tensor& gradient, const TensorGradients& inputs) = 0;
  // Destroys the vjp and with it the saved buffers.
  virtual void release() = 0;
  // The history of output `index`, for which `self` owns this.
  virtual IntrusivePtr<Node> output_node(int index);

  static constexpr int kInlineInputs = 3;
  IntrusivePtr<Node>& input(int index) {
    return index < kInlineInputs ? inline_inputs_[static_cast<std::size_t>(index)]
                                 : more_inputs_[static_cast<std::size_t>(index - kInlineInputs)];
  }

  const char* name_ = "leaf";
  Shape shape_;
  Device device_;
  DType dtype_ = DType::kF32;
  bool leaf_ = false;
  // The graph behind this was used up by a backward.
  bool released_ = false;
  // For leaves: gradient_ was set by set_grad_storage.
  bool has_grad_storage_ = false;
  // A gradient has arrived in this sweep.
  bool touched_ = false;
  // This sweep needs no gradient of this.
  bool skip_ = false;
  // The output shows the memory of a leaf that takes a gradient.
  bool shows_leaf_ = false;
  // The output shows another tensor's memory by an operation that is not just a view.
  bool opaque_ = false;
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

  // The version of the output's storage after the operation ran.
  std::uint64_t output_version_ = 0;
  // The family of tensors that share the output's memory, if there are others, and the count of its
  // histories when this was made. Null while this has no handle.
  IntrusivePtr<ViewFamily> family_;
  std::uint64_t generation_ = 0;
  static constexpr int kMarks = 3;
  int mark_count_ = 0;
  std::array<internal::SavedMark, kMarks> marks_;
  // Data that only few nodes have (node_extras.h); null until needed.
  std::unique_ptr<internal::NodeExtras> extras_;
};

namespace internal {

// True while an AnomalyMode or a checkpoint watches the operations of this thread.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline constinit thread_local bool watching = false;
void watch(const char* name, const Array& output, std::span<const Tensor* const> inputs);

struct NoTensorVjp {};
[[noreturn]] void throw_no_second_gradient(const char* name);

template <class Vjp, class TensorVjp>
class OperationNode final : public Node {
 public:
  OperationNode(Vjp vjp, TensorVjp tensor_vjp)
      : saved_(Saved{std::move(vjp), std::move(tensor_vjp)}) {}
  std::span<const std::byte> saved_bytes() const {
    return std::as_bytes(std::span<const Vjp, 1>(&saved_->vjp, 1));
  }

 private:
  struct Saved {
    Vjp vjp;
    [[no_unique_address]] TensorVjp tensor_vjp;
  };
  void run(const Array& gradient, const InputGradients& inputs) override {
    saved_->vjp(gradient, inputs);
  }
  void run_tensors(const Tensor& gradient, const TensorGradients& inputs) override {
    if constexpr (std::is_same_v<TensorVjp, NoTensorVjp>) {
      throw_no_second_gradient(name());
    } else {
      saved_->tensor_vjp(gradient, inputs);
    }
  }
  void release() override { saved_.reset(); }
  std::optional<Saved> saved_;
};

// The node that the outputs of record_many have as their one input.
class ManyNode : public Node {
 protected:
  explicit ManyNode(std::span<const Array> outputs);
  // By output; undefined where none has arrived.
  std::vector<Array> take_gradients() { return std::exchange(gradients_, empty_gradients()); }
  std::vector<Tensor> take_tensors();

 private:
  friend class OutputNode;
  friend std::vector<Tensor> attach_many(std::vector<Array> outputs, std::unique_ptr<ManyNode> node,
                                         const char* name, std::span<const Tensor* const> inputs,
                                         std::span<const std::byte> saved);
  struct Output {
    Shape shape;
    DType dtype;
    Device device;
  };
  std::vector<Array> empty_gradients() const { return std::vector<Array>(outputs_.size()); }
  IntrusivePtr<Node> output_node(int index) final;
  std::vector<Output> outputs_;
  std::vector<Array> gradients_;
  std::vector<Tensor> tensors_;
};

template <class Vjp, class TensorVjp>
class ManyOperationNode final : public ManyNode {
 public:
  ManyOperationNode(std::span<const Array> outputs, Vjp vjp, TensorVjp tensor_vjp)
      : ManyNode(outputs), saved_(Saved{std::move(vjp), std::move(tensor_vjp)}) {}
  std::span<const std::byte> saved_bytes() const {
    return std::as_bytes(std::span<const Vjp, 1>(&saved_->vjp, 1));
  }

 private:
  struct Saved {
    Vjp vjp;
    [[no_unique_address]] TensorVjp tensor_vjp;
  };
  void run(const Array&, const InputGradients& inputs) override {
    const std::vector<Array> gradients = take_gradients();
    saved_->vjp(std::span<const Array>(gradients), inputs);
  }
  void run_tensors(const Tensor&, const TensorGradients& inputs) override {
    const std::vector<Tensor> gradients = take_tensors();
    if constexpr (std::is_same_v<TensorVjp, NoTensorVjp>) {
      throw_no_second_gradient(name());
    } else {
      saved_->tensor_vjp(std::span<const Tensor>(gradients), inputs);
    }
  }
  void release() override { saved_.reset(); }
  std::optional<Saved> saved_;
};

bool any_requires_grad(std::span<const Tensor* const> inputs);
// Why an output shares the memory of an input.
enum class SharedMemory : unsigned char { kView, kWritten };
// `saved`: the bytes of the vjp's capture.
Tensor attach(Array output, std::unique_ptr<Node> node, const char* name,
              std::span<const Tensor* const> inputs, std::span<const std::byte> saved,
              SharedMemory shared = SharedMemory::kView);
std::vector<Tensor> attach_many(std::vector<Array> outputs, std::unique_ptr<ManyNode> node,
                                const char* name, std::span<const Tensor* const> inputs,
                                std::span<const std::byte> saved);

// `output` with the history of an operation that has written it, even while recording is off.
template <class Vjp, class TensorVjp>
Tensor make_written(const char* name, Array output, std::initializer_list<const Tensor*> inputs,
                    Vjp vjp, TensorVjp tensor_vjp) {
  auto node =
      std::make_unique<OperationNode<Vjp, TensorVjp>>(std::move(vjp), std::move(tensor_vjp));
  const std::span<const std::byte> saved = node->saved_bytes();
  return attach(std::move(output), std::move(node), name, {inputs.begin(), inputs.size()}, saved,
                SharedMemory::kWritten);
}

}  // namespace internal

// Whether record() would record these inputs: ask before computing what only a vjp needs.
inline bool recording(std::span<const Tensor* const> inputs) {
  return grad_enabled() && internal::any_requires_grad(inputs);
}
inline bool recording(std::initializer_list<const Tensor*> inputs) {
  return recording(std::span(inputs.begin(), inputs.size()));
}

// The Tensor of `output`, with a history if recording(inputs). `name` must be a literal. Undefined
// inputs are allowed and take no gradient. Called as vjp(const Array& dy, const InputGradients&)
// and tensor_vjp(const Tensor& dy, const TensorGradients&).
template <class Vjp, class TensorVjp = internal::NoTensorVjp>
Tensor record(const char* name, Array output, std::span<const Tensor* const> inputs, Vjp vjp,
              TensorVjp tensor_vjp = {}) {
  if (internal::watching) internal::watch(name, output, inputs);
  note_op_done(name);
  if (!grad_enabled() || !internal::any_requires_grad(inputs)) return Tensor(std::move(output));
  auto node = std::make_unique<internal::OperationNode<Vjp, TensorVjp>>(std::move(vjp),
                                                                        std::move(tensor_vjp));
  const std::span<const std::byte> saved = node->saved_bytes();
  return internal::attach(std::move(output), std::move(node), name, inputs, saved);
}
template <class Vjp, class TensorVjp = internal::NoTensorVjp>
Tensor record(const char* name, Array output, std::initializer_list<const Tensor*> inputs, Vjp vjp,
              TensorVjp tensor_vjp = {}) {
  return record(name, std::move(output), std::span(inputs.begin(), inputs.size()), std::move(vjp),
                std::move(tensor_vjp));
}

// record() for inputs that are not recording(): an operation whose vjps capture arrays returns this
// instead, because the copies of these would only take time.
inline Tensor unrecorded(const char* name, Array output,
                         std::initializer_list<const Tensor*> inputs) {
  if (internal::watching) internal::watch(name, output, {inputs.begin(), inputs.size()});
  note_op_done(name);
  return Tensor(std::move(output));
}

// The same for an operation that writes `output`, which is the memory of `x`: the result also has a
// history if x has one and no input has. in_place_history.h describes the effect on x and others.
template <class Vjp, class TensorVjp>
Tensor record_write(const Tensor& x, const char* name, Array output,
                    std::initializer_list<const Tensor*> inputs, Vjp vjp, TensorVjp tensor_vjp) {
  if (internal::watching) internal::watch(name, output, {inputs.begin(), inputs.size()});
  note_op_done(name);
  if (!recording(inputs) && !recording({&x})) return Tensor(std::move(output));
  return internal::make_written(name, std::move(output), inputs, std::move(vjp),
                                std::move(tensor_vjp));
}

// The same for several outputs (split, sort, a recurrent layer). The vjps get one gradient for each
// output, undefined where that output got none: vjp(std::span<const Array> dy, const
// InputGradients&), tensor_vjp(std::span<const Tensor> dy, const TensorGradients&). Outputs of
// integer types have no history.
template <class Vjp, class TensorVjp = internal::NoTensorVjp>
std::vector<Tensor> record_many(const char* name, std::vector<Array> outputs,
                                std::span<const Tensor* const> inputs, Vjp vjp,
                                TensorVjp tensor_vjp = {}) {
  if (internal::watching) {
    for (const Array& output : outputs) internal::watch(name, output, inputs);
  }
  note_op_done(name);
  if (!grad_enabled() || !internal::any_requires_grad(inputs)) {
    std::vector<Tensor> plain;
    plain.reserve(outputs.size());
    for (Array& output : outputs) plain.emplace_back(std::move(output));
    return plain;
  }
  auto node = std::make_unique<internal::ManyOperationNode<Vjp, TensorVjp>>(outputs, std::move(vjp),
                                                                            std::move(tensor_vjp));
  const std::span<const std::byte> saved = node->saved_bytes();
  return internal::attach_many(std::move(outputs), std::move(node), name, inputs, saved);
}
template <class Vjp, class TensorVjp = internal::NoTensorVjp>
std::vector<Tensor> record_many(const char* name, std::vector<Array> outputs,
                                std::initializer_list<const Tensor*> inputs, Vjp vjp,
                                TensorVjp tensor_vjp = {}) {
  return record_many(name, std::move(outputs), std::span(inputs.begin(), inputs.size()),
                     std::move(vjp), std::move(tensor_vjp));
}

}  // namespace weft
