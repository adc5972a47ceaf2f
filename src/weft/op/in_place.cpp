#include "weft/op/in_place.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>
#include <vector>

#include "weft/autograd/in_place_history.h"
#include "weft/autograd/node.h"
#include "weft/kernel/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/operands.h"

namespace weft {
namespace {

// Whether two elements may lie in one place: an axis must step over all that shorter steps reach.
bool overlaps(const Array& array) {
  if (!array.is_strided() || array.size() == 0) return false;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // step, number of steps
  for (int axis = 0; axis < array.ndim(); ++axis) {
    if (array.shape()[axis] == 1) continue;
    axes.emplace_back(std::abs(array.strides()[axis]), array.shape()[axis] - 1);
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  for (const auto& [step, steps] : axes) {
    if (step <= reach) return true;
    reach += step * steps;
  }
  return false;
}

void check_written(const char* op, const Tensor& x) {
  if (!x.defined()) throw_operand(op, "a tensor", "an undefined one");
  if (grad_enabled() && x.requires_grad() && (x.is_leaf() || is_view_of_leaf(x))) {
    throw_operand(op, "a tensor that is no leaf with a gradient, or NoGrad",
                  x.is_leaf() ? "such a leaf" : "a view of such a leaf");
  }
  if (overlaps(x.array())) {
    throw_operand(op, "a tensor whose elements have memory of their own",
                  "one that repeats elements: shape " + to_string(x.shape()) + ", steps " +
                      to_string(x.array().strides()));
  }
}

void check_shape(const char* op, const Tensor& x, const Tensor& other) {
  if (!other.defined()) throw_operand(op, "a second operand", "an undefined one");
  if (broadcast_shapes(x.shape(), other.shape()) != x.shape()) {
    throw_operand(op, "an operand that broadcasts to " + to_string(x.shape()),
                  to_string(other.shape()));
  }
}

// `other` in x's type, in which the result must have a place: no floats into integers.
Tensor operand_of(const char* op, const Tensor& x, const Tensor& other) {
  check_written(op, x);
  check_shape(op, x, other);
  if (kind_of(other.dtype()) > kind_of(x.dtype())) {
    throw_operand(op, "an operand that fits into " + std::string(to_string(x.dtype())),
                  std::string(to_string(other.dtype())));
  }
  return cast(other, x.dtype());
}

void check_number(const char* op, const Tensor& x, double value) {
  check_written(op, x);
  if (is_floating(x.dtype())) return;
  if (x.dtype() == DType::kBool || std::floor(value) != value || std::isinf(value)) {
    throw_operand(op, "a number that fits into " + std::string(to_string(x.dtype())),
                  std::to_string(value));
  }
}

// The memory to write. A blocked value is laid out anew, for its order is no one's business.
Array memory_of(const Tensor& x) { return x.array().strided(); }

// A tensor without history is about to get one, by a write of which others that show its memory
// would see the values and not the gradient. Its own two holders are `x` and `y`.
void check_sole(const char* op, const Tensor& x, const Tensor& y) {
  if (!y.requires_grad() || x.requires_grad()) return;
  if (y.array().storage() != x.array().storage() || x.array().storage().use_count() <= 2) return;
  throw_operand(op,
                "memory that no other tensor shows, since what is written takes a gradient and "
                "the others would not know of it (write to the whole tensor while it has no "
                "views, or stack the parts)",
                "a tensor without a gradient of which there are views, or that is one");
}

// `x` becomes the result `y`, whose history was recorded before `write` changes the values. Where
// none is recorded x stays what it is, a parameter above all.
template <class Write>
Tensor& replace(Tensor& x, Tensor y, const char* op, const Write& write) {
  check_sole(op, x, y);
  Array memory = y.array();
  write(memory);
  if (grad_enabled() || !x.array().is_strided()) x = std::move(y);
  note_written_in_place(x, op);
  if (internal::watching) internal::watch(op, memory, {});
  return x;
}

Tensor& assign(Tensor& x, Tensor y, const char* op, const Array& values) {
  return replace(x, std::move(y), op, [&values](Array& memory) { memory.copy_from(values); });
}

}  // namespace

Tensor& add_(Tensor& x, const Tensor& operand, double scale) {
  const Tensor other = operand_of("add_", x, operand);
  if (scale != 1.0) check_number("add_", x, scale);
  const Array part = scale == 1.0 ? other.array() : binary(BinaryOp::kMul, other.array(), scale);
  const Array values = binary(BinaryOp::kAdd, x.array(), part);
  Tensor y = record(
      "add_", memory_of(x), {&x, &other},
      [scale, shape = other.shape()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) dx.add(0, dy);
        if (dx.needs(1)) {
          add_summed(dx, 1, scale == 1.0 ? dy : binary(BinaryOp::kMul, dy, scale), shape);
        }
      },
      [scale, shape = other.shape()](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) dx.add(0, dy);
        if (dx.needs(1)) add_summed(dx, 1, mul(dy, scale), shape);
      });
  return assign(x, std::move(y), "add_", values);
}

Tensor& add_(Tensor& x, double value) {
  check_number("add_", x, value);
  const Array values = binary(BinaryOp::kAdd, x.array(), value);
  Tensor y = record(
      "add_", memory_of(x), {&x}, [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); },
      [](const Tensor& dy, const TensorGradients& dx) { dx.add(0, dy); });
  return assign(x, std::move(y), "add_", values);
}

Tensor& sub_(Tensor& x, const Tensor& other) { return add_(x, other, -1.0); }

Tensor& mul_(Tensor& x, const Tensor& operand) {
  const Tensor other = operand_of("mul_", x, operand);
  const Array values = binary(BinaryOp::kMul, x.array(), other.array());
  // The old values live on only where a gradient needs them.
  const Array before = recording({&other}) ? x.array().clone() : Array();
  Tensor y = record(
      "mul_", memory_of(x), {&x, &other},
      [before, factor = other.array()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) dx.add(0, binary(BinaryOp::kMul, dy, factor));
        if (dx.needs(1)) {
          add_summed(dx, 1, binary(BinaryOp::kMul, dy, before), factor.shape());
        }
      },
      [before, factor = other.array()](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) dx.add(0, mul(dy, dx.input(1, factor)));
        if (dx.needs(1)) add_summed(dx, 1, mul(dy, dx.input(0, before)), factor.shape());
      });
  return assign(x, std::move(y), "mul_", values);
}

Tensor& mul_(Tensor& x, double value) {
  check_number("mul_", x, value);
  const Array values = binary(BinaryOp::kMul, x.array(), value);
  Tensor y = record(
      "mul_", memory_of(x), {&x},
      [value](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(BinaryOp::kMul, dy, value));
      },
      [value](const Tensor& dy, const TensorGradients& dx) { dx.add(0, mul(dy, value)); });
  return assign(x, std::move(y), "mul_", values);
}

Tensor& copy_(Tensor& x, const Tensor& operand) {
  check_written("copy_", x);
  check_shape("copy_", x, operand);
  const Tensor source = cast(operand, x.dtype());
  const Tensor value =
      source.array().storage() == x.array().storage() ? Tensor(source.array().clone()) : source;
  Tensor y = record(
      "copy_", memory_of(x), {&source},
      [shape = source.shape()](const Array& dy, const InputGradients& dx) {
        add_summed(dx, 0, dy, shape);
      },
      [shape = source.shape()](const Tensor& dy, const TensorGradients& dx) {
        add_summed(dx, 0, dy, shape);
      });
  return assign(x, std::move(y), "copy_", value.array());
}

Tensor& fill_(Tensor& x, double value) {
  check_written("fill_", x);
  return replace(x, Tensor(memory_of(x)), "fill_", [value](Array& memory) { memory.fill(value); });
}

Tensor& zero_(Tensor& x) { return fill_(x, 0.0); }

}  // namespace weft
