// The operators of weft.Tensor: a + b, a @ b, a < b, -a, float(a), ...
#include <algorithm>

#include "array/scalar.h"
#include "core/autocast.h"
#include "core/batched_calls.h"
#include "core/errors.h"
#include "core/gil.h"
#include "op/bitwise.h"
#include "tensor/tensor_object.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/in_place.h"
#include "weft/op/matmul.h"

namespace weft::python {
namespace {

// How an operator treats two Tensors, a Tensor and a number, a number and a Tensor. What has no
// form of its own for a number makes a Tensor of it.
struct Add {
  static Tensor of(const Tensor& a, const Tensor& b) { return add(a, b); }
  static Tensor of(const Tensor& a, double b) { return add(a, b); }
  static Tensor of(double a, const Tensor& b) { return add(b, a); }
};
struct Sub {
  static Tensor of(const Tensor& a, const Tensor& b) { return sub(a, b); }
  static Tensor of(const Tensor& a, double b) { return add(a, -b); }
  static Tensor of(double a, const Tensor& b) { return a - b; }
};
struct Mul {
  static Tensor of(const Tensor& a, const Tensor& b) { return mul(a, b); }
  static Tensor of(const Tensor& a, double b) { return mul(a, b); }
  static Tensor of(double a, const Tensor& b) { return mul(b, a); }
};
struct Div {
  static Tensor of(const Tensor& a, const Tensor& b) { return div(a, b); }
  static Tensor of(const Tensor& a, double b) { return div(a, b); }
  static Tensor of(double a, const Tensor& b) { return div(a, b); }
};
struct Power {
  static Tensor of(const Tensor& a, const Tensor& b) { return pow(a, b); }
  static Tensor of(const Tensor& a, double b) { return pow(a, b); }
};
struct Remainder {
  static Tensor of(const Tensor& a, const Tensor& b) { return remainder(a, b); }
};
struct FloorDivide {
  static Tensor of(const Tensor& a, const Tensor& b) { return floor_divide(a, b); }
};
template <BitOperation kOperation>
struct Bits {
  static Tensor of(const Tensor& a, const Tensor& b) { return bitwise(kOperation, a, b); }
};
struct Matmul {
  static Tensor of(const Tensor& a, const Tensor& b) { return matmul(a, b); }
};

template <class Op>
Tensor with_number(const Tensor& a, const Scalar& b) {
  if constexpr (requires { Op::of(a, b.value); }) {
    if (b.is_exact() && b.kind != Scalar::Kind::kBool) return Op::of(beside(a, b), b.value);
  }
  return Op::of(a, as_tensor(b, a));
}

template <class Op>
Tensor with_number(const Scalar& a, const Tensor& b) {
  if constexpr (requires { Op::of(a.value, b); }) {
    if (a.is_exact() && a.kind != Scalar::Kind::kBool) return Op::of(a.value, beside(b, a));
  }
  return Op::of(as_tensor(a, b), b);
}

template <class Op>
PyObject* binary(PyObject* left, PyObject* right) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(left)) {
      Scalar number;
      if (!load_scalar(left, number)) Py_RETURN_NOTIMPLEMENTED;
      return wrap(with_number<Op>(number, tensor_of(right)));
    }
    const Tensor& a = tensor_of(left);
    if (is_tensor(right)) {
      const Tensor& b = tensor_of(right);
      return wrap(released(
          std::max(a.size(), b.size()),
          [](const Tensor& x, const Tensor& y) { return Op::of(x, y); }, a, b));
    }
    Scalar number;
    if (!load_scalar(right, number)) Py_RETURN_NOTIMPLEMENTED;
    return wrap(with_number<Op>(a, number));
  });
}

PyObject* matrix_product(PyObject* left, PyObject* right) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(left) || !is_tensor(right)) Py_RETURN_NOTIMPLEMENTED;
    return wrap(released(
        kElementsWorthReleasing,
        [](const Tensor& x, const Tensor& y) { return matmul(lowered(x), lowered(y)); },
        tensor_of(left), tensor_of(right)));
  });
}

PyObject* power(PyObject* base, PyObject* exponent, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<Power>(base, exponent);
}

// x += y: in place, so that other handles of the same memory see it.
template <class Change>
PyObject* in_place(PyObject* self, PyObject* other, const Change& change) {
  return guarded([&]() -> PyObject* {
    Tensor& x = tensor_of(self);
    if (is_tensor(other)) {
      const Tensor operand = tensor_of(other);
      change(target_of(self, operand), operand);
    } else {
      if (is_batched(other)) refuse_batched();
      Scalar number;
      if (!load_scalar(other, number)) Py_RETURN_NOTIMPLEMENTED;
      change(x, as_tensor(number, x));
    }
    return Py_NewRef(self);
  });
}

PyObject* in_place_add(PyObject* self, PyObject* other) {
  return in_place(self, other, [](Tensor& x, const Tensor& y) { add_(x, y); });
}
PyObject* in_place_sub(PyObject* self, PyObject* other) {
  return in_place(self, other, [](Tensor& x, const Tensor& y) { sub_(x, y); });
}
PyObject* in_place_mul(PyObject* self, PyObject* other) {
  return in_place(self, other, [](Tensor& x, const Tensor& y) { mul_(x, y); });
}
PyObject* in_place_div(PyObject* self, PyObject* other) {
  return in_place(self, other, [](Tensor& x, const Tensor& y) { mul_(x, reciprocal(y)); });
}

PyObject* negative(PyObject* self) {
  return guarded([&] { return wrap(neg(tensor_of(self))); });
}
PyObject* positive(PyObject* self) { return Py_NewRef(self); }
PyObject* absolute(PyObject* self) {
  return guarded([&] { return wrap(abs(tensor_of(self))); });
}
PyObject* invert(PyObject* self) {
  return guarded([&] { return wrap(bitwise_not(tensor_of(self))); });
}

int truth(PyObject* self) {
  try {
    const Array& array = tensor_of(self).array();
    if (array.size() == 1) return array.item() != 0.0 ? 1 : 0;
    throw std::invalid_argument("[bool] the truth of a tensor of " + std::to_string(array.size()) +
                                " elements is not clear: use .any() or .all()");
  } catch (...) {
    set_python_error();
    return -1;
  }
}

PyObject* as_float(PyObject* self) {
  return guarded([&] { return PyFloat_FromDouble(tensor_of(self).item()); });
}
PyObject* as_int(PyObject* self) {
  return guarded([&] {
    const Array& array = tensor_of(self).array();
    return is_floating(array.dtype()) ? PyLong_FromDouble(array.item())
                                      : PyLong_FromLongLong(array.item_int());
  });
}
PyObject* as_index(PyObject* self) {
  return guarded([&] {
    const Array& array = tensor_of(self).array();
    if (is_floating(array.dtype()) || array.size() != 1) {
      throw TypeProblem("only a tensor of one whole number is an index");
    }
    return PyLong_FromLongLong(array.item_int());
  });
}

struct Equal {
  static Tensor of(const Tensor& a, const Tensor& b) { return eq(a, b); }
  static Tensor of(const Tensor& a, double b) { return eq(a, b); }
};
struct NotEqual {
  static Tensor of(const Tensor& a, const Tensor& b) { return ne(a, b); }
  static Tensor of(const Tensor& a, double b) { return ne(a, b); }
};
struct Less {
  static Tensor of(const Tensor& a, const Tensor& b) { return lt(a, b); }
  static Tensor of(const Tensor& a, double b) { return lt(a, b); }
};
struct LessEqual {
  static Tensor of(const Tensor& a, const Tensor& b) { return le(a, b); }
  static Tensor of(const Tensor& a, double b) { return le(a, b); }
};
struct Greater {
  static Tensor of(const Tensor& a, const Tensor& b) { return gt(a, b); }
  static Tensor of(const Tensor& a, double b) { return gt(a, b); }
};
struct GreaterEqual {
  static Tensor of(const Tensor& a, const Tensor& b) { return ge(a, b); }
  static Tensor of(const Tensor& a, double b) { return ge(a, b); }
};

// `self` is a Tensor: Python turns a < b around itself where b is one.
PyObject* compare(PyObject* self, PyObject* other, int operation) {
  switch (operation) {
    case Py_EQ:
      return binary<Equal>(self, other);
    case Py_NE:
      return binary<NotEqual>(self, other);
    case Py_LT:
      return binary<Less>(self, other);
    case Py_LE:
      return binary<LessEqual>(self, other);
    case Py_GT:
      return binary<Greater>(self, other);
    default:
      return binary<GreaterEqual>(self, other);
  }
}

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

PyType_Slot* number_slots() {
  static PyType_Slot slots[] = {{Py_nb_add, slot(binary<Add>)},
                                {Py_nb_subtract, slot(binary<Sub>)},
                                {Py_nb_multiply, slot(binary<Mul>)},
                                {Py_nb_true_divide, slot(binary<Div>)},
                                {Py_nb_floor_divide, slot(binary<FloorDivide>)},
                                {Py_nb_remainder, slot(binary<Remainder>)},
                                {Py_nb_power, slot(power)},
                                {Py_nb_matrix_multiply, slot(matrix_product)},
                                {Py_nb_and, slot(binary<Bits<BitOperation::kAnd>>)},
                                {Py_nb_or, slot(binary<Bits<BitOperation::kOr>>)},
                                {Py_nb_xor, slot(binary<Bits<BitOperation::kXor>>)},
                                {Py_nb_lshift, slot(binary<Bits<BitOperation::kLeft>>)},
                                {Py_nb_rshift, slot(binary<Bits<BitOperation::kRight>>)},
                                {Py_nb_inplace_add, slot(in_place_add)},
                                {Py_nb_inplace_subtract, slot(in_place_sub)},
                                {Py_nb_inplace_multiply, slot(in_place_mul)},
                                {Py_nb_inplace_true_divide, slot(in_place_div)},
                                {Py_nb_negative, slot(negative)},
                                {Py_nb_positive, slot(positive)},
                                {Py_nb_absolute, slot(absolute)},
                                {Py_nb_invert, slot(invert)},
                                {Py_nb_bool, slot(truth)},
                                {Py_nb_float, slot(as_float)},
                                {Py_nb_int, slot(as_int)},
                                {Py_nb_index, slot(as_index)},
                                {Py_tp_richcompare, slot(compare)},
                                {0, nullptr}};
  return slots;
}

}  // namespace weft::python
