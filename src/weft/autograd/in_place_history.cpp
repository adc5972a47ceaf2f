#include "weft/autograd/in_place_history.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "weft/autograd/node_access.h"
#include "weft/autograd/view_family.h"

namespace weft {
namespace {

[[noreturn]] void throw_write(const char* op, const std::string& expected, const std::string& got) {
  throw std::invalid_argument(std::string("[") + op + "] expected " + expected + ", got " + got);
}

void note_write(const Array& memory, const char* writer) {
  const internal::SavedMark range = internal::mark_saved(memory, 0);
  memory.storage()->note_write(range.begin, range.end, writer);
}

// The base of `family`, in the memory of `member`.
Array base_of(const ViewFamily& family, const Array& member) {
  return family.base().rebound(member.storage(), family.base().offset());
}

bool is_base(const ViewFamily& family, const Array& array) {
  const Array& base = family.base();
  return array.offset() == base.offset() && array.shape() == base.shape() &&
         array.strides() == base.strides();
}

}  // namespace

bool overlaps(const Array& array) {
  if (!array.is_strided() || array.size() == 0 || array.is_contiguous()) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // step, number of steps
  for (int axis = 0; axis < array.ndim(); ++axis) {
    if (array.shape()[axis] == 1) continue;
    axes.emplace_back(std::abs(array.strides()[axis]), array.shape()[axis] - 1);
  }
  // An axis must step over all that shorter steps reach.
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  for (const auto& [step, steps] : axes) {
    if (step <= reach) return true;
    reach += step * steps;
  }
  return false;
}

void check_written(const char* op, const Tensor& x) {
  if (!x.defined()) throw_write(op, "a tensor", "an undefined one");
  if (overlaps(x.array())) {
    throw_write(op, "a tensor whose elements have memory of their own",
                "one that repeats elements: shape " + to_string(x.shape()) + ", steps " +
                    to_string(x.array().strides()) + "; clone it first");
  }
  Node* const node = NodeAccess::raw_node(x);
  if (node == nullptr || !grad_enabled()) return;
  if (NodeAccess::is_leaf(*node) || NodeAccess::shows_leaf(*node)) {
    throw_write(op, "a tensor that is no leaf with a gradient, or NoGrad",
                NodeAccess::is_leaf(*node) ? "such a leaf" : "a view of such a leaf");
  }
  if (NodeAccess::opaque(*node)) {
    throw_write(op, "a tensor with memory of its own, or a plain view",
                std::string("the output of \"") + NodeAccess::name(*node) +
                    "\", which shows the memory of its input; clone it first");
  }
  if (NodeAccess::family(*node) && overlaps(NodeAccess::family(*node)->base())) {
    throw_write(op, "a view of a tensor whose elements have memory of their own",
                "a view of one that repeats elements; clone it first");
  }
}

void check_sole(const char* op, const Tensor& x, const Tensor& written, long holders) {
  if (!written.requires_grad() || x.requires_grad()) return;
  if (x.array().storage().use_count() <= holders) return;
  throw_write(op,
              "memory that no other tensor shows, since what is written takes a gradient and the "
              "others would not know of it (assign to the tensor itself before it has views, as in "
              "x[0] = value, or stack the parts)",
              "a tensor without a gradient of which there are views, or that is one");
}

void share_history(std::span<const Tensor* const> members) {
  const Array& base = members.front()->array();
  if (!is_floating(base.dtype()) || overlaps(base)) return;
  if (base.storage().use_count() != static_cast<long>(members.size())) return;
  for (const Tensor* member : members) {
    const Array& array = member->array();
    if (member->requires_grad() || array.storage() != base.storage() ||
        array.dtype() != base.dtype()) {
      return;
    }
  }
  internal::found_family(members);
}

void set_written(Tensor& x, Tensor written, const char* writer) {
  note_write(written.array(), writer);
  const bool same_memory = written.array().storage() == x.array().storage();
  if (!grad_enabled()) {
    if (!same_memory) x = with_history_of(x, written.array());
    return;
  }
  if (!x.requires_grad() || !same_memory) {
    if (written.requires_grad() || !same_memory) x = std::move(written);
    return;
  }
  NodeAccess::output_version(*NodeAccess::raw_node(written)) = x.array().storage()->version();
  const IntrusivePtr<ViewFamily> family = internal::family_of(x);
  if (family) {
    const Tensor base =
        is_base(*family, x.array())
            ? written
            : internal::with_part(base_of(*family, x.array()), family->current(), written);
    family->replace(NodeAccess::node(base));
    internal::enter_family(written, family);
  }
  x = std::move(written);
}

void set_part_written(Tensor& x, const Tensor& part, const char* writer) {
  note_write(part.array(), writer);
  if (!grad_enabled() || !part.requires_grad()) return;
  if (!x.requires_grad()) {
    x = internal::with_part(x.array(), {}, part);
    return;
  }
  const IntrusivePtr<ViewFamily> family = internal::family_of(x);
  if (!family) {
    x = internal::with_part(x.array(), NodeAccess::node(x), part);
    return;
  }
  const Tensor base = internal::with_part(base_of(*family, x.array()), family->current(), part);
  family->replace(NodeAccess::node(base));
  internal::bring_up_to_date(x, writer);
}

void update_history(const Tensor& tensor, const char* name) {
  internal::bring_up_to_date(tensor, name);
}

void forbid_following(const Tensor& result) {
  Node* const node = NodeAccess::raw_node(result);
  if (node != nullptr && NodeAccess::family(*node)) NodeAccess::opaque(*node) = true;
}

bool shares_history(const Tensor& a, const Tensor& b) {
  const Node* const left = NodeAccess::raw_node(a);
  const Node* const right = NodeAccess::raw_node(b);
  if (left == nullptr || right == nullptr) return left == right;
  return left == right || (NodeAccess::family(*left) &&
                           NodeAccess::family(*left).get() == NodeAccess::family(*right).get());
}

Tensor with_history_of(const Tensor& tensor, Array value) {
  update_history(tensor, nullptr);
  return NodeAccess::with_history(std::move(value), NodeAccess::node(tensor));
}

}  // namespace weft
