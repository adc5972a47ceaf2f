// Tensor: the handle, and what leaves hold. The graph itself is in node.cpp and backward.cpp.
#include "weft/autograd/tensor.h"

#include <memory>
#include <stdexcept>
#include <string>

#include "weft/autograd/node.h"
#include "weft/autograd/node_access.h"

namespace weft {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local bool grad_is_enabled = true;

class LeafNode final : public Node {
  void run(const Array&, const InputGradients&) override {}
  void release() override {}
};

const Array& undefined_array() {
  static const Array undefined;
  return undefined;
}

}  // namespace

Tensor::Tensor() = default;
Tensor::Tensor(const Tensor&) = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(const Tensor&) = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;
Tensor::~Tensor() = default;

Tensor::Tensor(Array value, bool requires_grad) : array_(std::move(value)) {
  if (!requires_grad) return;
  if (!array_.defined() || (array_.dtype() != DType::kF32 && array_.dtype() != DType::kF64)) {
    throw std::invalid_argument(
        "[tensor] expected f32 or f64 values for a tensor that requires a gradient, got " +
        (array_.defined() ? std::string(to_string(array_.dtype())) : "an undefined array"));
  }
  node_ = IntrusivePtr<Node>(std::make_unique<LeafNode>().release());
  NodeAccess::make_leaf(*node_, array_);
}

bool Tensor::is_leaf() const { return !node_ || NodeAccess::is_leaf(*node_); }

Tensor Tensor::detach() const { return Tensor(array_); }

const Array& Tensor::grad() const {
  return node_ && NodeAccess::is_leaf(*node_) ? NodeAccess::gradient(*node_) : undefined_array();
}

void Tensor::zero_grad() {
  if (!node_ || !NodeAccess::is_leaf(*node_)) return;
  Array& gradient = NodeAccess::gradient(*node_);
  if (NodeAccess::has_grad_storage(*node_)) {
    gradient.fill(0);
  } else {
    gradient = Array();
  }
}

void Tensor::set_grad_storage(Array gradient) {
  if (!node_ || !is_leaf()) {
    throw std::invalid_argument(
        "[set_grad_storage] expected a leaf that requires a gradient, got another tensor");
  }
  if (!gradient.defined() || gradient.shape() != shape() || gradient.dtype() != dtype() ||
      !gradient.is_contiguous()) {
    throw std::invalid_argument("[set_grad_storage] expected a contiguous array of shape " +
                                to_string(shape()) + " and type " +
                                std::string(to_string(dtype())));
  }
  NodeAccess::gradient(*node_) = std::move(gradient);
  NodeAccess::has_grad_storage(*node_) = true;
}

void Tensor::set_parameter_id(ParameterId id) {
  if (!node_ || !is_leaf()) {
    throw std::invalid_argument(
        "[set_parameter_id] expected a leaf that requires a gradient, got another tensor");
  }
  NodeAccess::parameter_id(*node_) = id;
}

ParameterId Tensor::parameter_id() const {
  return node_ ? NodeAccess::parameter_id(*node_) : kNoParameter;
}

NoGrad::NoGrad() : before_(grad_is_enabled) { grad_is_enabled = false; }
NoGrad::~NoGrad() { grad_is_enabled = before_; }

bool grad_enabled() { return grad_is_enabled; }

}  // namespace weft
