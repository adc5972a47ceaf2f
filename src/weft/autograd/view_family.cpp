// IMPLEMENTATION: PyTorch's CopySlices and AsStridedBackward do the same. Here the written part has
// the history of its own write, so that no operation is run again on the base.
#include "weft/autograd/view_family.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "weft/array/reach.h"
#include "weft/autograd/in_place_history.h"
#include "weft/autograd/node_access.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/kernel/reduce/reduce.h"

namespace weft {
namespace {

Array without_storage(const Array& array) { return array.rebound(nullptr, array.offset()); }

bool same_place(const Array& a, const Array& b) {
  return a.offset() == b.offset() && a.shape() == b.shape() && a.strides() == b.strides();
}

// target += values, one axis after the other where elements of the target overlap.
void add_apart(Array target, const Array& values) {
  if (!overlaps(target)) {
    target.copy_from(binary(BinaryOp::kAdd, target, values));
    return;
  }
  for (std::int64_t i = 0; i < target.dim(0); ++i) {
    add_apart(target.select(0, i), values.select(0, i));
  }
}

// Where a part lies in a base: takes gradients from one to the other and back. Without storage.
struct Place {
  Array base;
  Array part;

  bool lies_as_base(const Array& x) const {
    return x.is_strided() && x.strides() == base.strides();
  }
  // The part of `whole`, which lies as the base does.
  Array part_of(const Array& whole) const {
    return part.rebound(whole.storage(), whole.offset() + part.offset() - base.offset());
  }
  // Zeros that lie as the base does, in memory of their own.
  Array zeros(Device device) const {
    if (base.size() == 0) return Array::zeros(base.shape(), base.dtype(), device);
    std::int64_t low = 0;
    std::int64_t high = 0;
    for (int axis = 0; axis < base.ndim(); ++axis) {
      const std::int64_t reach = (base.shape()[axis] - 1) * base.strides()[axis];
      (reach < 0 ? low : high) += reach;
    }
    const Array memory = Array::zeros({high - low + 1}, base.dtype(), device);
    return base.rebound(memory.storage(), -low);
  }
  Array copy(const Array& x) const {
    Array whole = zeros(x.device());
    whole.copy_from(x.strided());
    return whole;
  }

  // The part of a gradient of the base; may share its memory.
  Array cut(const Array& whole) const { return part_of(lies_as_base(whole) ? whole : copy(whole)); }
  // A gradient of the part as one of the base. Elements that repeat gather what all get.
  Array spread(const Array& gradient) const {
    Array whole = zeros(gradient.device());
    if (part.size() == 0) return whole;
    Array target = part_of(whole);
    Shape once = part.shape();
    for (int axis = 0; axis < part.ndim(); ++axis) {
      if (part.strides()[axis] != 0) continue;
      once[axis] = 1;
      target = target.slice(axis, 0, 1);
    }
    add_apart(target, sum_to_shape(gradient.strided(), once));
    return whole;
  }
  // A gradient of the base without the part. Takes the memory of `whole` if no one else holds it.
  Array rest(const Array& whole) const {
    Array result = whole.storage().use_count() == 1 && lies_as_base(whole) ? whole : copy(whole);
    part_of(result).fill(0);
    return result;
  }
};

Tensor spread(const Place& place, const Tensor& gradient);

Tensor cut(const Place& place, const Tensor& whole) {
  return record(
      "part_of_gradient", place.cut(whole.array()), {&whole},
      [place](const Array& dy, const InputGradients& dx) { dx.add(0, place.spread(dy)); },
      [place](const Tensor& dy, const TensorGradients& dx) { dx.add(0, spread(place, dy)); });
}

Tensor spread(const Place& place, const Tensor& gradient) {
  return record(
      "gradient_of_part", place.spread(gradient.array()), {&gradient},
      [place](const Array& dy, const InputGradients& dx) { dx.add(0, place.cut(dy)); },
      [place](const Tensor& dy, const TensorGradients& dx) { dx.add(0, cut(place, dy)); });
}

Tensor rest(const Place& place, const Tensor& whole) {
  Array without = place.copy(whole.array());
  place.part_of(without).fill(0);
  return record(
      "rest_of_gradient", std::move(without), {&whole},
      [place](const Array& dy, const InputGradients& dx) { dx.add(0, place.rest(dy)); },
      [place](const Tensor& dy, const TensorGradients& dx) { dx.add(0, rest(place, dy)); });
}

[[noreturn]] void throw_stale(const char* name, const Node& node, const char* writer) {
  throw std::invalid_argument(std::string("[") + name +
                              "] expected a tensor with its own history, got the output of \"" +
                              NodeAccess::name(node) + "\" whose values \"" + writer +
                              "\" has written in place through another handle, and which cannot "
                              "follow since it is not just "
                              "a view; make it after the write");
}

// Gives `tensor`, which shows a part of the base's memory, the base's history.
void take_part_of(const ViewFamily& family, const Tensor& tensor, const char* name) {
  const Array& array = tensor.array();
  const Tensor base = NodeAccess::with_history(
      family.base().rebound(array.storage(), family.base().offset()), family.current());
  const Place place{family.base(), without_storage(array)};
  const Tensor part = internal::make_written(
      name, array, {&base},
      [place](const Array& dy, const InputGradients& dx) { dx.add(0, place.spread(dy)); },
      [place](const Tensor& dy, const TensorGradients& dx) { dx.add(0, spread(place, dy)); });
  NodeAccess::set_node(tensor, NodeAccess::raw_node(part));
}

}  // namespace

ViewFamily::ViewFamily(const Array& base, IntrusivePtr<Node> current)
    : base_(without_storage(base)),
      storage_id_(base.storage()->id()),
      current_(std::move(current)) {}

void ViewFamily::replace(IntrusivePtr<Node> current) {
  current_ = std::move(current);
  ++generation_;
}

void Node::handles_gone() { family_ = {}; }

namespace internal {

void enter_family(const Tensor& tensor, const IntrusivePtr<ViewFamily>& family) {
  Node& node = *NodeAccess::raw_node(tensor);
  NodeAccess::family(node) = family;
  NodeAccess::generation(node) = family->generation();
}

IntrusivePtr<ViewFamily> family_of(const Tensor& tensor) {
  Node& node = *NodeAccess::raw_node(tensor);
  if (!NodeAccess::family(node) && node.handles() > 1) {
    auto family = std::make_unique<ViewFamily>(tensor.array(), IntrusivePtr<Node>(&node));
    enter_family(tensor, IntrusivePtr<ViewFamily>(family.release()));
  }
  return NodeAccess::family(node);
}

void join_family(Node& node, const Array& output, std::span<const Tensor* const> inputs) {
  for (const Tensor* input : inputs) {
    if (!input->defined() || input->array().storage() != output.storage()) continue;
    Node* const from = NodeAccess::raw_node(*input);
    if (from == nullptr) {
      NodeAccess::opaque(node) = true;  // the input would not learn of a history
      continue;
    }
    if (NodeAccess::is_leaf(*from) || NodeAccess::shows_leaf(*from)) {
      NodeAccess::shows_leaf(node) = true;
      continue;
    }
    if (!NodeAccess::family(*from)) {
      auto family = std::make_unique<ViewFamily>(input->array(), IntrusivePtr<Node>(from));
      enter_family(*input, IntrusivePtr<ViewFamily>(family.release()));
    }
    const IntrusivePtr<ViewFamily>& family = NodeAccess::family(*from);
    NodeAccess::family(node) = family;
    NodeAccess::generation(node) = family->generation();
    NodeAccess::opaque(node) = NodeAccess::opaque(node) || NodeAccess::opaque(*from) ||
                               output.dtype() != family->base().dtype();
  }
}

void bring_up_to_date(const Tensor& tensor, const char* name) {
  Node* const node = NodeAccess::raw_node(tensor);
  if (node == nullptr || !NodeAccess::family(*node)) return;
  const IntrusivePtr<ViewFamily> family = NodeAccess::family(*node);
  const Array& array = tensor.array();
  if (NodeAccess::generation(*node) == family->generation() || !family->holds(array)) return;
  const SavedMark mark = mark_saved(array, -1);
  const char* const writer =
      mark.storage->writer_since(NodeAccess::output_version(*node), mark.begin, mark.end);
  if (writer == nullptr) {
    NodeAccess::generation(*node) = family->generation();
    NodeAccess::output_version(*node) = mark.version;
    return;
  }
  if (NodeAccess::opaque(*node)) {
    if (name != nullptr) throw_stale(name, *node, writer);
    return;
  }
  if (same_place(array, family->base())) {
    NodeAccess::set_node(tensor, family->current().get());
  } else {
    take_part_of(*family, tensor, NodeAccess::name(*node));
  }
  enter_family(tensor, family);
}

void found_family(std::span<const Tensor* const> members) {
  const Tensor& base = *members.front();
  const Tensor whole = make_written(
      "buffer", base.array(), {}, [](const Array&, const InputGradients&) {},
      [](const Tensor&, const TensorGradients&) {});
  NodeAccess::set_node(base, NodeAccess::raw_node(whole));
  const IntrusivePtr<ViewFamily> family(
      std::make_unique<ViewFamily>(base.array(), NodeAccess::node(base)).release());
  enter_family(base, family);
  for (const Tensor* view : members.subspan(1)) {
    take_part_of(*family, *view, "view");
    enter_family(*view, family);
  }
}

Tensor with_part(const Array& base, const IntrusivePtr<Node>& history, const Tensor& part) {
  const Tensor whole = NodeAccess::with_history(base, history);
  const Place place{without_storage(base), without_storage(part.array())};
  return make_written(
      "write_part", base, {&whole, &part},
      [place](const Array& dy, const InputGradients& dx) {
        if (dx.needs(1)) {
          const Array cut = place.cut(dy);
          // What is left of dy may take its memory.
          dx.add(1, dx.needs(0) && cut.storage() == dy.storage() ? cut.clone() : cut);
        }
        if (dx.needs(0)) dx.add(0, place.rest(dy));
      },
      [place](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(1)) dx.add(1, cut(place, dy));
        if (dx.needs(0)) dx.add(0, rest(place, dy));
      });
}

}  // namespace internal
}  // namespace weft
