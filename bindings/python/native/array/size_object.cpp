#include "array/size_object.h"

namespace weft::python {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): lives as long as the process.
constinit PyTypeObject* size_type = nullptr;

// A tuple of tuple's own functions, as a Size; takes the reference.
PyObject* as_size(PyObject* made) {
  if (made == nullptr || PyTuple_CheckExact(made) == 0) return made;
  PyObject* const size = PyObject_CallOneArg(reinterpret_cast<PyObject*>(size_type), made);
  Py_DECREF(made);
  return size;
}

PyObject* represent_size(PyObject* self) {
  PyObject* const list = PySequence_List(self);
  if (list == nullptr) return nullptr;
  PyObject* const text = PyUnicode_FromFormat("weft.Size(%R)", list);
  Py_DECREF(list);
  return text;
}

PyObject* count_elements(PyObject* self, PyObject*) {
  long long count = 1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i) {
    const long long length = PyLong_AsLongLong(PyTuple_GET_ITEM(self, i));
    if (length == -1 && PyErr_Occurred() != nullptr) return nullptr;
    if (__builtin_mul_overflow(count, length, &count)) {
      PyErr_SetString(PyExc_OverflowError, "a shape of more than 2^63 elements");
      return nullptr;
    }
  }
  return PyLong_FromLongLong(count);
}

PyObject* part_of_size(PyObject* self, PyObject* key) {
  return as_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}
PyObject* joined_sizes(PyObject* self, PyObject* other) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_concat(self, other));
}
PyObject* repeated_size(PyObject* self, Py_ssize_t count) {
  return as_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, count));
}

PyTypeObject* make_size_type() {
  static PyMethodDef methods[] = {
      {"numel", count_elements, METH_NOARGS, "How many elements a tensor of this shape has."},
      {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_repr, reinterpret_cast<void*>(represent_size)},
      {Py_tp_methods, methods},
      {Py_mp_subscript, reinterpret_cast<void*>(part_of_size)},
      {Py_sq_concat, reinterpret_cast<void*>(joined_sizes)},
      {Py_sq_repeat, reinterpret_cast<void*>(repeated_size)},
      {Py_tp_doc, const_cast<char*>("The lengths of a tensor's axes: a tuple with numel().")},
      {0, nullptr}};
  static PyType_Spec spec = {"weft.Size", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  PyObject* const bases = PyTuple_Pack(1, reinterpret_cast<PyObject*>(&PyTuple_Type));
  if (bases == nullptr) return nullptr;
  PyObject* const made = PyType_FromSpecWithBases(&spec, bases);
  Py_DECREF(bases);
  return reinterpret_cast<PyTypeObject*>(made);
}

}  // namespace

bool add_size(PyObject* module) {
  size_type = make_size_type();
  return size_type != nullptr &&
         PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(size_type)) == 0;
}

PyObject* size_object(const Shape& shape) {
  PyObject* const size = size_type->tp_alloc(size_type, shape.size());
  if (size == nullptr) return nullptr;
  for (int i = 0; i < shape.size(); ++i) {
    PyObject* const length = PyLong_FromLongLong(shape[i]);
    if (length == nullptr) {
      Py_DECREF(size);
      return nullptr;
    }
    PyTuple_SET_ITEM(size, i, length);
  }
  return size;
}

}  // namespace weft::python
