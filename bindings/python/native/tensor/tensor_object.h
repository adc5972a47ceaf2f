// TensorObject: the Python type weft.Tensor, a weft::Tensor behind a Python object's head.
//
// Written against Python's C interface rather than as a pybind11 class: arithmetic and indexing
// reach it through the type's own slots, which costs a fifth of a call through a dispatcher. All
// else is bound by pybind11, which takes and gives Tensors by casters.h; None is no Tensor, so a
// missing argument is a TypeError.
// Threads: whatever touches a PyObject holds the GIL.
#pragma once

#include <vector>

#include <Python.h>

#include "weft/autograd/tensor.h"

namespace weft::python {

struct TensorObject {
  PyObject ob_base;  // PyObject_HEAD
  PyObject* weak_references;
  // What this is a view of, which it keeps, and the views that were made of this: those without
  // history, while recording. They share the history that one of them gets.
  TensorObject* base;
  std::vector<TensorObject*>* views;
  Tensor value;
};

// Makes the type; once, before anything else here. Returns a new reference, or null with a Python
// error set.
PyTypeObject* make_tensor_type();
// Null before make_tensor_type().
PyTypeObject* tensor_type();

// Whether `object` is a weft.Tensor or of a class derived from it.
inline bool is_tensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type() || PyType_IsSubtype(Py_TYPE(object), tensor_type()) != 0;
}
// REQUIRES: is_tensor(object). The handle in the object itself; whoever writes to it changes what
// Python sees.
inline Tensor& tensor_of(PyObject* object) {
  return reinterpret_cast<TensorObject*>(object)->value;
}
// Lets `object`, what it is a view of, and that one's other views share a history.
void share_with_views(PyObject* object);
// The handle in an object into which `written` is about to be written.
inline Tensor& target_of(PyObject* object, const Tensor& written) {
  Tensor& x = tensor_of(object);
  if (written.requires_grad() && !x.requires_grad() && grad_enabled()) share_with_views(object);
  return x;
}
// Notes that `view`, if it has no history, is one of `of`. Takes and gives back a new reference.
PyObject* noted_view(PyObject* view, PyObject* of);
// A new object; null with a Python error set if there is no memory. An undefined Tensor is None.
PyObject* wrap(Tensor tensor);

// Throws for what an operation has made.
void set_requires_grad(Tensor& x, bool on);
// x[key].
Tensor values_at(const Tensor& x, PyObject* key);
// The slice at `index` along `axis`; both may count from the end.
Tensor slice_at(const Tensor& x, int axis, std::int64_t index);

// The functions of the type's slots. Each file of tensor_*.cpp gives its own, ended by {0, null}.
PyType_Slot* number_slots();      // tensor_numbers.cpp
PyType_Slot* index_slots();       // tensor_index.cpp
PyType_Slot* buffer_slots();      // tensor_buffer.cpp
PyMethodDef* unary_methods();     // tensor_unary.cpp: x.exp(), ended by a row of nulls
PyMethodDef* unary_functions();   // weft.exp(x)
PyMethodDef* in_place_methods();  // tensor_in_place.cpp
PyMethodDef* fact_methods();      // tensor_facts.cpp
PyGetSetDef* fact_attributes();

}  // namespace weft::python
