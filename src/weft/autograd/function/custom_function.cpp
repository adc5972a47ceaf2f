#include "weft/autograd/function/custom_function.h"

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/autograd/in_place_history.h"
#include "weft/autograd/node_access.h"

namespace weft {
namespace {

bool same_value(const Array& a, const Array& b) {
  return a.defined() && b.defined() && a.storage() == b.storage() && a.offset() == b.offset() &&
         a.shape() == b.shape() && a.strides() == b.strides();
}

void check_gradients(const char* name, std::span<const Tensor> gradients, std::size_t inputs) {
  if (gradients.size() == inputs) return;
  throw std::invalid_argument(std::string("[") + name + "] expected " + std::to_string(inputs) +
                              " gradients from its backward, got " +
                              std::to_string(gradients.size()));
}

void check_gradient(const char* name, const Tensor& gradient, const Shape& shape, DType dtype,
                    int index) {
  if (gradient.shape() == shape && gradient.dtype() == dtype) return;
  throw std::invalid_argument(
      std::string("[") + name + "] expected a gradient " + to_string(shape) + " " +
      std::string(to_string(dtype)) + " of input " + std::to_string(index) + ", got " +
      to_string(gradient.shape()) + " " + std::string(to_string(gradient.dtype())));
}

}  // namespace

void FunctionContext::save(const Tensor& tensor) { saved_.push_back({tensor, kOther, 0, {}}); }

// Which of the saved tensors are inputs and which outputs.
void FunctionContext::relate(std::span<const Array> outputs,
                             std::span<const Tensor* const> inputs) {
  for (Saved& saved : saved_) {
    if (!saved.tensor.defined()) continue;
    for (std::size_t i = 0; i < inputs.size() && saved.input == kOther; ++i) {
      if (same_value(saved.tensor.array(), inputs[i]->array())) saved.input = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < outputs.size() && saved.input == kOther; ++i) {
      if (!same_value(saved.tensor.array(), outputs[i])) continue;
      saved.input = kOutput;
      saved.output = static_cast<int>(i);
    }
    if (saved.input != kOther) saved.tensor = saved.tensor.detach();
    saved.mark = internal::mark_saved(saved.tensor.array(), saved.input);
  }
}

Tensor FunctionContext::saved(std::size_t index) const {
  const Saved& saved = saved_.at(index);
  if (tensor_gradients_ == nullptr || saved.input == kOther) return saved.tensor;
  return saved.input == kOutput ? tensor_gradients_->output(saved.tensor.array(), saved.output)
                                : tensor_gradients_->input(saved.input, saved.tensor.array());
}

bool FunctionContext::needs(int index) const {
  return tensor_gradients_ != nullptr ? tensor_gradients_->needs(index) : gradients_->needs(index);
}

// One call of a function: what its history keeps.
class FunctionCall {
 public:
  FunctionCall(const char* name, const std::shared_ptr<FunctionContext>& context,
               std::span<const Array> outputs, const std::vector<const Tensor*>& inputs)
      : name_(name), context_(context) {
    context->relate(outputs, inputs);
    likes_.reserve(inputs.size());
    for (const Tensor* input : inputs) {
      likes_.push_back(input->defined() ? Like{input->shape(), input->dtype()} : Like{});
    }
  }

  // Hands what `backward` gives, which is called with the context set, on to `dx`.
  template <class Backward, class Gradients>
  void run(const Backward& backward, const Gradients& dx) const {
    constexpr bool kTensors = std::is_same_v<Gradients, TensorGradients>;
    for (const auto& saved : context_->saved_) {
      if (saved.tensor.defined()) internal::check_saved(saved.mark, name_);
    }
    FunctionContext now = *context_;
    if constexpr (kTensors) {
      now.tensor_gradients_ = &dx;
    } else {
      now.gradients_ = &dx;
    }
    const std::vector<Tensor> gradients = backward(now);
    check_gradients(name_, gradients, likes_.size());
    for (std::size_t i = 0; i < likes_.size(); ++i) {
      const int index = static_cast<int>(i);
      if (!dx.needs(index) || !gradients[i].defined()) continue;
      check_gradient(name_, gradients[i], likes_[i].shape, likes_[i].dtype, index);
      if constexpr (kTensors) {
        dx.add(index, gradients[i]);
      } else {
        dx.add(index, gradients[i].array());
      }
    }
  }

 private:
  // What a gradient of an input has to be like.
  struct Like {
    Shape shape;
    DType dtype = DType::kF32;
  };
  const char* name_;
  std::shared_ptr<FunctionContext> context_;
  std::vector<Like> likes_;
};

Tensor apply_context(
    const char* name, const std::shared_ptr<FunctionContext>& context, const Tensor& output,
    const std::vector<const Tensor*>& inputs,
    const std::function<std::vector<Tensor>(const FunctionContext&, const Tensor&)>& backward) {
  const FunctionCall call(name, context, {&output.array(), 1}, inputs);
  const auto run = [call, backward](const Tensor& dy, const auto& dx) {
    call.run([&](const FunctionContext& now) { return backward(now, dy); }, dx);
  };
  Tensor result = record(
      name, output.array(), inputs,
      [run](const Array& dy, const InputGradients& dx) {
        const NoGrad no_grad;
        run(Tensor(dy), dx);
      },
      [run](const Tensor& dy, const TensorGradients& dx) { run(dy, dx); });
  forbid_following(result);
  return result;
}

std::vector<Tensor> apply_context_many(
    const char* name, const std::shared_ptr<FunctionContext>& context,
    const std::vector<Tensor>& outputs, const std::vector<const Tensor*>& inputs,
    const std::function<std::vector<Tensor>(const FunctionContext&, std::span<const Tensor>)>&
        backward) {
  std::vector<Array> arrays;
  arrays.reserve(outputs.size());
  for (const Tensor& output : outputs) arrays.push_back(output.array());
  const FunctionCall call(name, context, arrays, inputs);
  const auto run = [call, backward](std::span<const Tensor> dy, const auto& dx) {
    call.run([&](const FunctionContext& now) { return backward(now, dy); }, dx);
  };
  std::vector<Tensor> results = record_many(
      name, std::move(arrays), inputs,
      [run](std::span<const Array> dy, const InputGradients& dx) {
        const NoGrad no_grad;
        std::vector<Tensor> gradients;
        gradients.reserve(dy.size());
        for (const Array& each : dy) gradients.push_back(each.defined() ? Tensor(each) : Tensor());
        run(std::span<const Tensor>(gradients), dx);
      },
      [run](std::span<const Tensor> dy, const TensorGradients& dx) { run(dy, dx); });
  for (const Tensor& result : results) forbid_following(result);
  return results;
}

Tensor custom_function(
    const char* name, const std::vector<Tensor>& inputs,
    const std::function<Tensor(std::span<const Tensor>)>& forward,
    const std::function<std::vector<Tensor>(const CustomBackward&, const Tensor&)>& backward) {
  auto context = std::make_shared<FunctionContext>();
  Tensor output;
  {
    const NoGrad no_grad;
    output = forward(inputs);
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) {
    context->save(input);
    pointers.push_back(&input);
  }
  context->save(output);
  return apply_context(
      name, context, output, pointers,
      [backward, count = inputs.size()](const FunctionContext& saved, const Tensor& dy) {
        CustomBackward values;
        for (std::size_t i = 0; i < count; ++i) {
          values.inputs.push_back(saved.saved(i));
        }
        values.output = saved.saved(count);
        return backward(values, dy);
      });
}

}  // namespace weft
