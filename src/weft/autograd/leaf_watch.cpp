#include "weft/autograd/leaf_watch.h"

#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

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

bool depends_on_others(std::span<const Tensor> outputs, std::span<const Tensor> inputs) {
  std::unordered_set<Node*> seen{nullptr};
  for (const Tensor& input : inputs) seen.insert(NodeAccess::raw_node(input));
  std::vector<Node*> waiting;
  const auto visit = [&](Node* node) {
    if (seen.insert(node).second) waiting.push_back(node);
  };
  for (const Tensor& output : outputs) visit(NodeAccess::raw_node(output));
  while (!waiting.empty()) {
    Node* const node = waiting.back();
    waiting.pop_back();
    if (NodeAccess::is_leaf(*node)) return true;
    for (int i = 0; i < NodeAccess::input_count(*node); ++i) visit(NodeAccess::input(*node, i));
  }
  return false;
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
