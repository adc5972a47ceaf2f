#include "weft/op/in_place.h"

#include <utility>

#include "weft/autograd/in_place_history.h"
#include "weft/autograd/node.h"
#include "weft/kernel/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/operands.h"

namespace weft {
namespace {

void check_written(const char* op, const Tensor& x) {
  if (!x.defined()) throw_operand(op, "a tensor", "an undefined one");
  if (grad_enabled() && x.requires_grad() && x.is_leaf()) {
    throw_operand(op, "a tensor that is no leaf with a gradient, or NoGrad", "such a leaf");
  }
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if (x.array().is_strided() && x.array().strides()[axis] == 0 && x.shape()[axis] > 1) {
      throw_operand(op, "a tensor whose elements have memory of their own",
                    "one that repeats axis " + std::to_string(axis));
    }
  }
}

void check_operand(const char* op, const Tensor& x, const Tensor& other) {
  check_written(op, x);
  if (!other.defined()) throw_operand(op, "a second operand", "an undefined one");
  if (other.dtype() != x.dtype()) {
    throw_operand(
        op, "operands of one type",
        std::string(to_string(x.dtype())) + " and " + std::string(to_string(other.dtype())));
  }
  if (broadcast_shapes(x.shape(), other.shape()) != x.shape()) {
    throw_operand(op, "an operand that broadcasts to " + to_string(x.shape()),
                  to_string(other.shape()));
  }
}

// The memory to write. A blocked value is laid out anew, for its order is no one's business.
Array memory_of(const Tensor& x) { return x.array().strided(); }

// `x` becomes the result `y`, whose history was recorded before `write` changes the values. Where
// none is recorded x stays what it is, a parameter above all.
template <class Write>
Tensor& replace(Tensor& x, Tensor y, const char* op, const Write& write) {
  Array memory = y.array();
  write(memory);
  if (grad_enabled() || !x.array().is_strided()) x = std::move(y);
  note_written_in_place(x, op);
  return x;
}

Tensor& assign(Tensor& x, Tensor y, const char* op, const Array& values) {
  return replace(x, std::move(y), op, [&values](Array& memory) { memory.copy_from(values); });
}

}  // namespace

Tensor& add_(Tensor& x, const Tensor& other, double scale) {
  check_operand("add_", x, other);
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
  check_written("add_", x);
  const Array values = binary(BinaryOp::kAdd, x.array(), value);
  Tensor y = record(
      "add_", memory_of(x), {&x}, [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); },
      [](const Tensor& dy, const TensorGradients& dx) { dx.add(0, dy); });
  return assign(x, std::move(y), "add_", values);
}

Tensor& sub_(Tensor& x, const Tensor& other) { return add_(x, other, -1.0); }

Tensor& mul_(Tensor& x, const Tensor& other) {
  check_operand("mul_", x, other);
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
  check_written("mul_", x);
  const Array values = binary(BinaryOp::kMul, x.array(), value);
  Tensor y = record(
      "mul_", memory_of(x), {&x},
      [value](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(BinaryOp::kMul, dy, value));
      },
      [value](const Tensor& dy, const TensorGradients& dx) { dx.add(0, mul(dy, value)); });
  return assign(x, std::move(y), "mul_", values);
}

Tensor& copy_(Tensor& x, const Tensor& source) {
  check_operand("copy_", x, source);
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
