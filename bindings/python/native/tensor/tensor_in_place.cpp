// The methods of weft.Tensor whose names end in _: they write into its memory and return it.
#include "array/scalar.h"
#include "core/batched_calls.h"
#include "core/errors.h"
#include "tensor/tensor_object.h"
#include "weft/op/in_place.h"

namespace weft::python {
namespace {

// The operand as a Tensor: one, or a number beside x.
Tensor operand(const Tensor& x, PyObject* object) {
  if (is_tensor(object)) return tensor_of(object);
  if (is_batched(object)) refuse_batched();
  Scalar number;
  if (!load_scalar(object, number)) {
    throw TypeProblem(std::string("expected a weft.Tensor or a number, got ") +
                      Py_TYPE(object)->tp_name);
  }
  return as_tensor(number, x);
}

// add_(other, *, alpha=1)
PyObject* add_in_place(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"other", "alpha", nullptr};
  PyObject* other = nullptr;
  double alpha = 1.0;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|$d:add_", const_cast<char**>(names),
                                  &other, &alpha) == 0) {
    return nullptr;
  }
  return guarded([&] {
    const Tensor added = operand(tensor_of(self), other);
    add_(target_of(self, added), added, alpha);
    return Py_NewRef(self);
  });
}

PyObject* sub_in_place(PyObject* self, PyObject* other) {
  return guarded([&] {
    const Tensor given = operand(tensor_of(self), other);
    sub_(target_of(self, given), given);
    return Py_NewRef(self);
  });
}

PyObject* mul_in_place(PyObject* self, PyObject* other) {
  return guarded([&] {
    const Tensor given = operand(tensor_of(self), other);
    mul_(target_of(self, given), given);
    return Py_NewRef(self);
  });
}

PyObject* copy_in_place(PyObject* self, PyObject* source) {
  return guarded([&] {
    const Tensor given = operand(tensor_of(self), source);
    copy_(target_of(self, given), given);
    return Py_NewRef(self);
  });
}

PyObject* fill_in_place(PyObject* self, PyObject* value) {
  return guarded([&] {
    Scalar number;
    if (is_batched(value)) refuse_batched();
    if (!load_scalar(value, number)) throw TypeProblem("fill_ expects a number");
    if (number.is_exact()) {
      fill_(tensor_of(self), number.value);
    } else {
      copy_(tensor_of(self), as_tensor(number, tensor_of(self)));
    }
    return Py_NewRef(self);
  });
}

PyObject* zero_in_place(PyObject* self, PyObject*) {
  return guarded([&] {
    zero_(tensor_of(self));
    return Py_NewRef(self);
  });
}

}  // namespace

PyMethodDef* in_place_methods() {
  static PyMethodDef methods[] = {
      {"add_", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(add_in_place)),
       METH_VARARGS | METH_KEYWORDS, "add_(other, *, alpha=1): x += alpha * other."},
      {"sub_", sub_in_place, METH_O, "x -= other."},
      {"mul_", mul_in_place, METH_O, "x *= other."},
      {"copy_", copy_in_place, METH_O, "Writes the values of another tensor here, converted."},
      {"fill_", fill_in_place, METH_O, "Writes one value everywhere."},
      {"zero_", zero_in_place, METH_NOARGS, "Writes 0 everywhere."},
      {nullptr, nullptr, 0, nullptr}};
  return methods;
}

}  // namespace weft::python
