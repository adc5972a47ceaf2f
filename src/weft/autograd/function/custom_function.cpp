#include "weft/autograd/function/custom_function.h"

#include <stdexcept>
#include <string>

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

struct Like {
  Shape shape;
  DType dtype = DType::kF32;
};

void check_gradient(const char* name, const Tensor& gradient, const Like& input, int index) {
  if (gradient.shape() == input.shape && gradient.dtype() == input.dtype) return;
  throw std::invalid_argument(
      std::string("[") + name + "] expected a gradient " + to_string(input.shape) + " " +
      std::string(to_string(input.dtype)) + " of input " + std::to_string(index) + ", got " +
      to_string(gradient.shape()) + " " + std::string(to_string(gradient.dtype())));
}

}  // namespace

void FunctionContext::save(const Tensor& tensor) { saved_.push_back({tensor, kOther, {}}); }

// Which of the saved tensors are inputs and which the output.
void FunctionContext::relate(const Array& output, std::span<const Tensor* const> inputs) {
  for (Saved& saved : saved_) {
    if (!saved.tensor.defined()) continue;
    for (std::size_t i = 0; i < inputs.size() && saved.input == kOther; ++i) {
      if (same_value(saved.tensor.array(), inputs[i]->array())) saved.input = static_cast<int>(i);
    }
    if (saved.input == kOther && same_value(saved.tensor.array(), output)) saved.input = kOutput;
    if (saved.input != kOther) saved.tensor = saved.tensor.detach();
    saved.mark = internal::mark_saved(saved.tensor.array(), saved.input);
  }
}

Tensor FunctionContext::saved(std::size_t index) const {
  const Saved& saved = saved_.at(index);
  if (tensor_gradients_ == nullptr || saved.input == kOther) return saved.tensor;
  return saved.input == kOutput ? tensor_gradients_->output(saved.tensor.array())
                                : tensor_gradients_->input(saved.input, saved.tensor.array());
}

bool FunctionContext::needs(int index) const {
  return tensor_gradients_ != nullptr ? tensor_gradients_->needs(index) : gradients_->needs(index);
}

Tensor apply_context(
    const char* name, const std::shared_ptr<FunctionContext>& context, const Tensor& output,
    const std::vector<const Tensor*>& inputs,
    const std::function<std::vector<Tensor>(const FunctionContext&, const Tensor&)>& backward) {
  context->relate(output.array(), inputs);
  std::vector<Like> likes;
  likes.reserve(inputs.size());
  for (const Tensor* input : inputs) {
    likes.push_back(input->defined() ? Like{input->shape(), input->dtype()} : Like{});
  }
  // Calls the backward with the context set and hands each gradient on.
  const auto run = [name, context, backward, likes](const Tensor& dy, const auto& dx,
                                                    const auto& add) {
    for (const auto& saved : context->saved_) {
      if (saved.tensor.defined()) internal::check_saved(saved.mark, name);
    }
    FunctionContext now = *context;
    if constexpr (std::is_same_v<std::decay_t<decltype(dx)>, TensorGradients>) {
      now.tensor_gradients_ = &dx;
    } else {
      now.gradients_ = &dx;
    }
    const std::vector<Tensor> gradients = backward(now, dy);
    check_gradients(name, gradients, likes.size());
    for (std::size_t i = 0; i < likes.size(); ++i) {
      const int index = static_cast<int>(i);
      if (!dx.needs(index) || !gradients[i].defined()) continue;
      check_gradient(name, gradients[i], likes[i], index);
      add(index, gradients[i]);
    }
  };
  Tensor result = record(
      name, output.array(), inputs,
      [run](const Array& dy, const InputGradients& dx) {
        const NoGrad no_grad;
        run(Tensor(dy), dx,
            [&dx](int index, const Tensor& gradient) { dx.add(index, gradient.array()); });
      },
      [run](const Tensor& dy, const TensorGradients& dx) {
        run(dy, dx, [&dx](int index, const Tensor& gradient) { dx.add(index, gradient); });
      });
  forbid_following(result);
  return result;
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
