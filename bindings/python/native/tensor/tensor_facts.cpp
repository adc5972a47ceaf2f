// What programs ask of a tensor all the time, as attributes and methods that nothing stands in
// front of: x.shape, x.grad, x.numel(), x.contiguous().
#include "array/casters.h"
#include "array/dtype_object.h"
#include "array/size_object.h"
#include "core/errors.h"
#include "tensor/tensor_object.h"
#include "weft/autograd/in_place_history.h"
#include "weft/op/arithmetic.h"

namespace weft::python {
namespace {

// The object's own handle with the history that it has by now.
Tensor& current(PyObject* object) {
  Tensor& x = tensor_of(object);
  update_history(x, nullptr);
  return x;
}

PyObject* shape_of(PyObject* self, void*) { return size_object(tensor_of(self).shape()); }
PyObject* ndim_of(PyObject* self, void*) { return PyLong_FromLong(tensor_of(self).ndim()); }
PyObject* dtype_of(PyObject* self, void*) {
  return Py_NewRef(dtype_object(tensor_of(self).dtype()));
}
PyObject* requires_grad_of(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(current(self).requires_grad() ? 1 : 0); });
}
PyObject* is_leaf_of(PyObject* self, void*) {
  return guarded([&] { return PyBool_FromLong(current(self).is_leaf() ? 1 : 0); });
}
PyObject* grad_of(PyObject* self, void*) {
  return guarded([&] { return wrap(current(self).grad_tensor()); });
}

PyObject* numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(tensor_of(self).size()); }
PyObject* dim(PyObject* self, PyObject*) { return PyLong_FromLong(tensor_of(self).ndim()); }

PyObject* contiguous(PyObject* self, PyObject*) {
  return guarded([&] {
    Tensor& x = current(self);
    lay_out(x);
    if (x.array().is_contiguous()) return Py_NewRef(self);
    if (!x.requires_grad() || !grad_enabled()) return wrap(Tensor(x.array().contiguous()));
    return wrap(add(x, 0.0));  // contiguous as all results, with its history
  });
}

// What an attribute is set to, as PyTorch names the argument of a call.
[[noreturn]] void refuse_setting(const char* attribute, const char* expected, PyObject* got) {
  throw TypeProblem(std::string(attribute) + " must be " + expected + ", got " +
                    Py_TYPE(got)->tp_name);
}

void check_gradient(const Tensor& x, const Tensor& gradient) {
  if (gradient.shape() == x.shape() && gradient.dtype() == x.dtype()) return;
  throw std::invalid_argument("[grad] expected a tensor of shape " + to_string(x.shape()) +
                              " and type " + std::string(to_string(x.dtype())) + ", got " +
                              to_string(gradient.shape()) + " and " +
                              std::string(to_string(gradient.dtype())));
}

void forget_grad(Tensor& x) {
  x.zero_grad();
  // A gradient that was given is only zeroed: a leaf of its own takes its place.
  if (x.requires_grad() && x.is_leaf() && x.grad().defined()) x = Tensor(x.array(), true);
}

// body(), whose exceptions become Python errors.
template <class Body>
int setter(const Body& body) {
  try {
    body();
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

// `del x.grad` is x.grad = None, as in PyTorch.
int set_grad(PyObject* self, PyObject* value, void*) {
  return setter([&] {
    Tensor& x = tensor_of(self);
    if (value == nullptr || value == Py_None) return forget_grad(x);
    if (!is_tensor(value)) refuse_setting("grad", "a weft.Tensor or None", value);
    const Tensor& gradient = current(value);
    check_gradient(x, gradient);
    x.set_grad_storage(gradient.array().contiguous());
  });
}

int set_requires_grad_attribute(PyObject* self, PyObject* value, void*) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "requires_grad cannot be deleted");
    return -1;
  }
  return setter([&] {
    if (PyBool_Check(value) == 0) refuse_setting("requires_grad", "a bool", value);
    set_requires_grad(tensor_of(self), value == Py_True);
  });
}

}  // namespace

void set_requires_grad(Tensor& x, bool on) {
  if (x.requires_grad() == on) return;
  if (!x.is_leaf()) {
    throw std::invalid_argument("[requires_grad] only a leaf can be changed: take .detach()");
  }
  x = Tensor(x.array(), on);
}

PyMethodDef* fact_methods() {
  static PyMethodDef methods[] = {
      {"numel", numel, METH_NOARGS, "numel() -> int\n\nHow many elements there are."},
      {"dim", dim, METH_NOARGS, "dim() -> int\n\nHow many axes there are."},
      {"contiguous", contiguous, METH_NOARGS,
       "contiguous() -> Tensor\n\nItself if its elements lie row by row, else a copy."},
      {nullptr, nullptr, 0, nullptr}};
  return methods;
}

PyGetSetDef* fact_attributes() {
  static PyGetSetDef attributes[] = {
      {"shape", shape_of, nullptr, "Elements along each axis.", nullptr},
      {"ndim", ndim_of, nullptr, "How many axes there are.", nullptr},
      {"dtype", dtype_of, nullptr, "The type of the elements.", nullptr},
      {"requires_grad", requires_grad_of, set_requires_grad_attribute,
       "Whether operations on this record a history.", nullptr},
      {"is_leaf", is_leaf_of, nullptr,
       "Whether this was made by the caller and not by an operation.", nullptr},
      {"grad", grad_of, set_grad, "What backward() has added up here; None if nothing.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  return attributes;
}

}  // namespace weft::python
