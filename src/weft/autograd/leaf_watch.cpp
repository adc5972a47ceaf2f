#include "weft/autograd/leaf_watch.h"

#include <stdexcept>
#include <utility>

#include "weft/autograd/node_access.h"

namespace weft {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit thread_local std::uint64_t hook_count = 0;

}  // namespace

void mark_gradients(const Tensor& leaf, std::shared_ptr<bool> written) {
  if (!leaf.requires_grad() || !leaf.is_leaf()) {
    throw std::invalid_argument(
        "[mark_gradients] expected a leaf that requires a gradient, got another tensor");
  }
  NodeAccess::extras(*NodeAccess::node(leaf)).written = std::move(written);
}

void move_leaf(Tensor& leaf, const Array& place) {
  const IntrusivePtr<Node> node = NodeAccess::node(leaf);
  if (node) {
    if (internal::NodeExtras* const extras = NodeAccess::extras_if_any(*node)) {
      extras->history = Tensor();
    }
    NodeAccess::gradient(*node) = Array();
    NodeAccess::has_grad_storage(*node) = false;
    NodeAccess::describe(*node, place.shape(), place.dtype(), place.device());
  }
  leaf = NodeAccess::with_history(place, node);
}

bool has_hooks(const Tensor& tensor) {
  const IntrusivePtr<Node> node = NodeAccess::node(tensor);
  const internal::NodeExtras* const extras = node ? NodeAccess::extras_if_any(*node) : nullptr;
  if (extras == nullptr) return false;
  const bool before = extras->hooks && !extras->hooks->hooks.empty();
  return before || (extras->accumulated_hooks && !extras->accumulated_hooks->hooks.empty());
}

std::uint64_t hooks_registered() { return hook_count; }

bool operations_are_watched() { return internal::watching; }

void internal::count_hook() { ++hook_count; }

}  // namespace weft
