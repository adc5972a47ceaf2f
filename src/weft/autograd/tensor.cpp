// Tensor: the handle, and what leaves hold. The graph itself is in node.cpp and backward.cpp.
#include "weft/autograd/tensor.h"

#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

#include "weft/array/print.h"
#include "weft/autograd/in_place_history.h"
#include "weft/autograd/leaf_watch.h"
#include "weft/autograd/node.h"
#include "weft/autograd/node_access.h"

namespace weft {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local bool grad_is_enabled = true;

class LeafNode final : public Node {
  void run(const Array&, const InputGradients&) override {}
  void run_tensors(const Tensor&, const TensorGradients&) override {}
  void release() override {}
};

const Array& undefined_array() {
  static const Array undefined;
  return undefined;
}

// Gives what takes the hook away again.
template <class Hook>
std::function<void()> add_hook(std::shared_ptr<internal::HookList<Hook>>& list, Hook hook) {
  internal::count_hook();
  if (!list) list = std::make_shared<internal::HookList<Hook>>();
  const std::uint64_t id = list->next_id++;
  list->hooks.emplace_back(id, std::move(hook));
  return [weak = std::weak_ptr(list), id] {
    if (const auto alive = weak.lock()) {
      std::erase_if(alive->hooks, [id](const auto& entry) { return entry.first == id; });
    }
  };
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
  if (!array_.defined() || !is_floating(array_.dtype())) {
    throw std::invalid_argument(
        "[tensor] expected floating values for a tensor that requires a gradient, got " +
        (array_.defined() ? std::string(to_string(array_.dtype())) : "an undefined array"));
  }
  node_ = HandlePtr<Node>(std::make_unique<LeafNode>().release());
  NodeAccess::make_leaf(*node_, array_);
}

bool Tensor::is_leaf() const { return !node_ || NodeAccess::is_leaf(*node_); }

Tensor Tensor::detach() const { return Tensor(array_); }

const Array& Tensor::grad() const {
  if (!node_) return undefined_array();
  if (NodeAccess::is_leaf(*node_)) return NodeAccess::gradient(*node_);
  const internal::NodeExtras* const extras = NodeAccess::extras_if_any(*node_);
  return extras == nullptr ? undefined_array() : extras->kept.array();
}

Tensor Tensor::grad_tensor() const {
  if (!node_) return {};
  const internal::NodeExtras* const extras = NodeAccess::extras_if_any(*node_);
  if (!NodeAccess::is_leaf(*node_)) return extras == nullptr ? Tensor() : extras->kept;
  if (extras != nullptr && extras->history.defined()) return extras->history;
  return grad().defined() ? Tensor(grad()) : Tensor();
}

void Tensor::retain_grad() {
  require_gradient("retain_grad", false);
  update_history(*this, "retain_grad");
  if (!is_leaf()) NodeAccess::extras(*node_).retains = true;
}

void Tensor::zero_grad() {
  if (!node_ || !NodeAccess::is_leaf(*node_)) return;
  if (internal::NodeExtras* const extras = NodeAccess::extras_if_any(*node_)) {
    extras->history = Tensor();
  }
  Array& gradient = NodeAccess::gradient(*node_);
  if (NodeAccess::has_grad_storage(*node_)) {
    gradient.fill(0);
  } else {
    gradient = Array();
  }
}

void Tensor::set_grad_storage(Array gradient) {
  require_gradient("set_grad_storage", true);
  if (!gradient.defined() || gradient.shape() != shape() || gradient.dtype() != dtype() ||
      gradient.device() != device() || !gradient.is_contiguous()) {
    throw std::invalid_argument("[set_grad_storage] expected a contiguous array of shape " +
                                to_string(shape()) + " and type " +
                                std::string(to_string(dtype())) + " on " + to_string(device()));
  }
  NodeAccess::gradient(*node_) = std::move(gradient);
  NodeAccess::has_grad_storage(*node_) = true;
}

void Tensor::set_parameter_id(ParameterId id) {
  require_gradient("set_parameter_id", true);
  NodeAccess::parameter_id(*node_) = id;
}

ParameterId Tensor::parameter_id() const {
  return node_ ? NodeAccess::parameter_id(*node_) : kNoParameter;
}

void Tensor::require_gradient(const char* call, bool of_leaf) const {
  if (node_ && (!of_leaf || is_leaf())) return;
  throw std::invalid_argument(std::string("[") + call + "] expected a " +
                              (of_leaf ? "leaf" : "tensor") +
                              " that requires a gradient, got another tensor");
}

HookHandle Tensor::register_hook(GradientHook hook) const {
  require_gradient("register_hook", false);
  update_history(*this, "register_hook");
  return HookHandle(add_hook(NodeAccess::extras(*node_).hooks, std::move(hook)));
}

HookHandle Tensor::register_post_accumulate_hook(AccumulatedHook hook) const {
  require_gradient("register_post_accumulate_hook", true);
  return HookHandle(add_hook(NodeAccess::extras(*node_).accumulated_hooks, std::move(hook)));
}

std::string to_string(const Tensor& tensor) { return to_string(tensor.array()); }

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << tensor.array(); }

NoGrad::NoGrad() : before_(std::exchange(grad_is_enabled, false)) {}
NoGrad::~NoGrad() { grad_is_enabled = before_; }

EnableGrad::EnableGrad() : before_(std::exchange(grad_is_enabled, true)) {}
EnableGrad::~EnableGrad() { grad_is_enabled = before_; }

bool grad_enabled() { return grad_is_enabled; }

}  // namespace weft
