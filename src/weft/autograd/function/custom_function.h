// User-defined operations, with a gradient written as operations on Tensors; such a gradient can
// be differentiated again. (Ops of the library use node.h: gradients on Arrays, nothing kept that
// is not needed.)
//
// In one call, which keeps the inputs and the output:
//
//   Tensor y = custom_function(
//       "cube", {x}, [](std::span<const Tensor> in) { return in[0] * in[0] * in[0]; },
//       [](const CustomBackward& saved, const Tensor& dy) {
//         return std::vector<Tensor>{dy * 3.0 * saved.inputs[0] * saved.inputs[0]};
//       });
//
// As a type, which chooses the values to keep:
//
//   struct Cube {
//     static constexpr const char* kName = "cube";
//     static Tensor forward(FunctionContext& context, const Tensor& x) {
//       context.save(x);
//       return x * x * x;
//     }
//     static std::vector<Tensor> backward(const FunctionContext& context, const Tensor& dy) {
//       return {dy * 3.0 * context.saved(0) * context.saved(0)};
//     }
//   };
//   Tensor y = apply<Cube>(x);
//
// The forward runs without history. The backward gives one gradient for each Tensor of the
// arguments, undefined where there is none. Names must be literals.
// Threads: as record().
// Fails: std::invalid_argument at the backward if the gradients do not fit the inputs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "weft/autograd/node.h"

namespace weft {

class FunctionContext {
 public:
  // Keeps `tensor` (an argument, the result or any other) for the backward.
  void save(const Tensor& tensor);
  // In the order of the saves; in a backward with create_graph with history.
  Tensor saved(std::size_t index) const;
  // Whether Tensor argument `index` takes a gradient.
  bool needs(int index) const;

 private:
  friend class FunctionCall;
  static constexpr int kOutput = -1;
  static constexpr int kOther = -2;
  struct Saved {
    Tensor tensor;  // without history unless kOther
    int input = kOther;
    int output = 0;  // kOutput: which
    internal::SavedMark mark;
  };
  void relate(std::span<const Array> outputs, std::span<const Tensor* const> inputs);
  std::vector<Saved> saved_;
  // During the backward.
  const InputGradients* gradients_ = nullptr;
  const TensorGradients* tensor_gradients_ = nullptr;
};

// For apply(): gives `output` a history that calls `backward`.
Tensor apply_context(
    const char* name, const std::shared_ptr<FunctionContext>& context, const Tensor& output,
    const std::vector<const Tensor*>& inputs,
    const std::function<std::vector<Tensor>(const FunctionContext&, const Tensor&)>& backward);

// The same for several outputs. `backward` gets one gradient for each, undefined where that output
// got none. Outputs of integer types have no history.
std::vector<Tensor> apply_context_many(
    const char* name, const std::shared_ptr<FunctionContext>& context,
    const std::vector<Tensor>& outputs, const std::vector<const Tensor*>& inputs,
    const std::function<std::vector<Tensor>(const FunctionContext&, std::span<const Tensor>)>&
        backward);

namespace internal {
inline void collect_tensor(std::vector<const Tensor*>& tensors, const Tensor& tensor) {
  tensors.push_back(&tensor);
}
template <class Other>
void collect_tensor(std::vector<const Tensor*>&, const Other&) {}
}  // namespace internal

// The arguments that are Tensors are the inputs, in their order; others are passed on.
template <class Function, class... Arguments>
Tensor apply(const Arguments&... arguments) {
  auto context = std::make_shared<FunctionContext>();
  Tensor output;
  {
    const NoGrad no_grad;
    output = Function::forward(*context, arguments...);
  }
  std::vector<const Tensor*> inputs;
  (internal::collect_tensor(inputs, arguments), ...);
  return apply_context(Function::kName, context, output, inputs, Function::backward);
}

// The argument of the backward of custom_function().
struct CustomBackward {
  std::vector<Tensor> inputs;
  Tensor output;
};

Tensor custom_function(
    const char* name, const std::vector<Tensor>& inputs,
    const std::function<Tensor(std::span<const Tensor>)>& forward,
    const std::function<std::vector<Tensor>(const CustomBackward&, const Tensor&)>& backward);

}  // namespace weft
