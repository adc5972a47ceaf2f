#include "weft/op/in_place.h"

#include <cmath>
#include <string>
#include <utility>

#include "weft/autograd/in_place_history.h"
#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"

namespace weft {
namespace {

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

// A quotient of integers has no place in them.
void check_floating_memory(const char* op, const Tensor& x) {
  check_written(op, x);
  if (!is_floating(x.dtype())) {
    throw_operand(op, "floating values to write to", std::string(to_string(x.dtype())));
  }
}

// The memory to write. A blocked value is laid out anew, for its order is no one's business.
Array memory_of(const Tensor& x) { return x.array().strided(); }

// `x` becomes the result `y`, whose history was recorded before `write` changes the values.
template <class Write>
Tensor& replace(Tensor& x, Tensor y, const char* op, const Write& write) {
  check_sole(op, x, y, 2);
  Array memory = y.array();
  write(memory);
  set_written(x, std::move(y), op);
  if (internal::watching) internal::watch(op, memory, {});
  return x;
}

Tensor& assign(Tensor& x, Tensor y, const char* op, const Array& values) {
  return replace(x, std::move(y), op, [&values](Array& memory) { memory.copy_from(values); });
}

// What `memory`, a part of x's or all of it, is when the values of `source` stand in it.
Tensor record_copy(const Tensor& x, const char* op, const Array& memory, const Tensor& source) {
  return record_write(
      x, op, memory, {&source},
      [shape = source.shape()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) add_summed(dx, 0, dy, shape);
      },
      [shape = source.shape()](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) add_summed(dx, 0, dy, shape);
      });
}

// `source` in the type of `x`; in memory of its own.
Tensor source_of(const Tensor& x, const Tensor& source) {
  Tensor value = cast(source, x.dtype());
  if (value.array().storage() != x.array().storage()) return value;
  return with_history_of(value, value.array().clone());
}

bool same_memory(const Array& a, const Array& b) {
  return a.storage() == b.storage() && a.offset() == b.offset() && a.shape() == b.shape() &&
         a.strides() == b.strides() && a.dtype() == b.dtype();
}

}  // namespace

Tensor& add_(Tensor& x, const Tensor& operand, double scale) {
  const Tensor other = operand_of("add_", x, operand);
  if (scale != 1.0) check_number("add_", x, scale);
  const Array part = scale == 1.0 ? other.array() : binary(BinaryOp::kMul, other.array(), scale);
  const Array values = binary(BinaryOp::kAdd, x.array(), part);
  if (op_tracing()) trace_attributes("add_", {{"scale", {scale}}});
  Tensor y = record_write(
      x, "add_", memory_of(x), {&x, &other},
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
  if (op_tracing()) trace_attributes("add_", {{"scalar", {value}}});
  Tensor y = record_write(
      x, "add_", memory_of(x), {&x},
      [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); },
      [](const Tensor& dy, const TensorGradients& dx) { dx.add(0, dy); });
  return assign(x, std::move(y), "add_", values);
}

Tensor& sub_(Tensor& x, const Tensor& other) { return add_(x, other, -1.0); }

Tensor& mul_(Tensor& x, const Tensor& operand) {
  const Tensor other = operand_of("mul_", x, operand);
  const Array values = binary(BinaryOp::kMul, x.array(), other.array());
  // Each is kept only where a gradient of the other needs it: the old values as a copy, and so a
  // factor in the memory that is written.
  const Array before = recording({&other}) ? x.array().clone() : Array();
  const bool shared = other.array().storage() == x.array().storage();
  Array factor;
  if (recording({&x})) factor = shared ? other.array().clone() : other.array();
  Tensor y = record_write(
      x, "mul_", memory_of(x), {&x, &other},
      [before, factor, shape = other.shape()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) dx.add(0, binary(BinaryOp::kMul, dy, factor));
        if (dx.needs(1)) add_summed(dx, 1, binary(BinaryOp::kMul, dy, before), shape);
      },
      [before, factor, shape = other.shape()](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) dx.add(0, mul(dy, dx.input(1, factor)));
        if (dx.needs(1)) add_summed(dx, 1, mul(dy, dx.input(0, before)), shape);
      });
  return assign(x, std::move(y), "mul_", values);
}

Tensor& mul_(Tensor& x, double value) {
  check_number("mul_", x, value);
  const Array values = binary(BinaryOp::kMul, x.array(), value);
  if (op_tracing()) trace_attributes("mul_", {{"scalar", {value}}});
  Tensor y = record_write(
      x, "mul_", memory_of(x), {&x},
      [value](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(BinaryOp::kMul, dy, value));
      },
      [value](const Tensor& dy, const TensorGradients& dx) { dx.add(0, mul(dy, value)); });
  return assign(x, std::move(y), "mul_", values);
}

Tensor& div_(Tensor& x, const Tensor& operand) {
  check_floating_memory("div_", x);
  const Tensor other = operand_of("div_", x, operand);
  const Array values = binary(BinaryOp::kDiv, x.array(), other.array());
  // Kept as in mul_; a gradient of the divisor needs both.
  const Array before = recording({&other}) ? x.array().clone() : Array();
  const bool shared = other.array().storage() == x.array().storage();
  Array divisor;
  if (recording({&x, &other})) divisor = shared ? other.array().clone() : other.array();
  Tensor y = record_write(
      x, "div_", memory_of(x), {&x, &other},
      [before, divisor, shape = other.shape()](const Array& dy, const InputGradients& dx) {
        const Array part = binary(BinaryOp::kDiv, dy, divisor);
        if (dx.needs(0)) dx.add(0, part);
        if (!dx.needs(1)) return;
        const Array quotient = binary(BinaryOp::kDiv, before, divisor);
        add_summed(dx, 1, binary(BinaryOp::kMul, binary(BinaryOp::kMul, part, quotient), -1.0),
                   shape);
      },
      [before, divisor, shape = other.shape()](const Tensor& dy, const TensorGradients& dx) {
        const Tensor by = dx.input(1, divisor);
        if (dx.needs(0)) dx.add(0, div(dy, by));
        if (!dx.needs(1)) return;
        const Tensor of = dx.input(0, before);
        add_summed(dx, 1, neg(mul(div(dy, by), div(of, by))), shape);
      });
  return assign(x, std::move(y), "div_", values);
}

Tensor& div_(Tensor& x, double value) {
  check_floating_memory("div_", x);
  const Array values = binary(BinaryOp::kDiv, x.array(), value);
  if (op_tracing()) trace_attributes("div_", {{"scalar", {value}}});
  Tensor y = record_write(
      x, "div_", memory_of(x), {&x},
      [value](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(BinaryOp::kDiv, dy, value));
      },
      [value](const Tensor& dy, const TensorGradients& dx) { dx.add(0, div(dy, value)); });
  return assign(x, std::move(y), "div_", values);
}

Tensor& copy_(Tensor& x, const Tensor& source) {
  check_written("copy_", x);
  check_shape("copy_", x, source);
  const Tensor value = source_of(x, source);
  return assign(x, record_copy(x, "copy_", memory_of(x), value), "copy_", value.array());
}

Tensor& fill_(Tensor& x, double value) {
  check_written("fill_", x);
  Tensor y = record_write(
      x, "fill_", memory_of(x), {}, [](const Array&, const InputGradients&) {},
      [](const Tensor&, const TensorGradients&) {});
  return replace(x, std::move(y), "fill_", [value](Array& memory) { memory.fill(value); });
}

Tensor& zero_(Tensor& x) { return fill_(x, 0.0); }

Tensor& write_part_(Tensor& x, Array part, const Tensor& source) {
  check_written("setitem", x);
  check_shape("setitem", Tensor(part), source);
  // x[i] += y has written x[i] already when it comes here.
  if (same_memory(part, source.array()) && shares_history(x, source)) return x;
  const Tensor value = source_of(x, source);
  check_sole("setitem", x, value, 2);
  const Tensor written = record_copy(x, "setitem", part, value);
  part.copy_from(value.array());
  set_part_written(x, written, "setitem");
  if (internal::watching) internal::watch("setitem", part, {});
  return x;
}

}  // namespace weft
