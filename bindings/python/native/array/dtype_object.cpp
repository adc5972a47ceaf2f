#include "array/dtype_object.h"

#include <array>

namespace weft::python {
namespace {

struct DTypeObject {
  PyObject ob_base;
  DType value;
};

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): Python's objects live once.
constinit PyTypeObject* dtype_type_object = nullptr;
constinit std::array<PyObject*, kDTypes> objects = {};
constinit DType chosen_default = DType::kF32;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

DType value_of(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->value; }

PyObject* represent_dtype(PyObject* self) {
  return PyUnicode_FromFormat("weft.%s", dtype_name(value_of(self)));
}
// Copies and pickles by name, so that there is never a second object of a kind.
PyObject* reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(dtype_name(value_of(self)));
}
PyObject* get_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(size_of(value_of(self))); }
PyObject* get_is_floating_point(PyObject* self, void*) {
  return PyBool_FromLong(is_floating(value_of(self)) ? 1 : 0);
}
PyObject* get_name(PyObject* self, void*) {
  return PyUnicode_FromString(dtype_name(value_of(self)));
}

PyTypeObject* make_type() {
  static PyGetSetDef properties[] = {
      {"itemsize", get_itemsize, nullptr, "Bytes of one element.", nullptr},
      {"is_floating_point", get_is_floating_point, nullptr, "Whether it holds fractions.", nullptr},
      {"name", get_name, nullptr, "NumPy's name, 'float32'.", nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  static PyType_Slot slots[] = {
      {Py_tp_repr, reinterpret_cast<void*>(represent_dtype)},
      {Py_tp_getset, properties},
      {Py_tp_methods, methods},
      {Py_tp_doc, const_cast<char*>("The type of a Tensor's elements: weft.float32 and its like.")},
      {0, nullptr}};
  static PyType_Spec spec = {"weft.dtype", sizeof(DTypeObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

bool add_value(PyObject* module, DType dtype) {
  DTypeObject* const object = PyObject_New(DTypeObject, dtype_type_object);
  if (object == nullptr) return false;
  object->value = dtype;
  PyObject* const value = &object->ob_base;
  objects[static_cast<std::size_t>(dtype)] = value;
  return PyModule_AddObjectRef(module, dtype_name(dtype), value) == 0;
}

}  // namespace

bool add_dtypes(PyObject* module) {
  dtype_type_object = make_type();
  if (dtype_type_object == nullptr) return false;
  if (PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(dtype_type_object)) != 0)
    return false;
  for (std::size_t i = 0; i < kDTypes; ++i) {
    if (!add_value(module, static_cast<DType>(i))) return false;
  }
  return true;
}

PyObject* dtype_object(DType dtype) { return objects[static_cast<std::size_t>(dtype)]; }

DType default_dtype() { return chosen_default; }
void set_default_dtype(DType dtype) { chosen_default = dtype; }

bool load_dtype(PyObject* object, DType& dtype) {
  if (object == nullptr) return false;
  if (Py_TYPE(object) == dtype_type_object) {
    dtype = value_of(object);
  } else if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) {
    dtype = DType::kF64;
  } else if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) {
    dtype = DType::kI64;
  } else if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) {
    dtype = DType::kBool;
  } else {
    return false;
  }
  return true;
}

const char* dtype_name(DType dtype) {
  static constexpr std::array<const char*, kDTypes> kNames = {
      "float32", "float64", "int64", "uint8", "bfloat16", "float16", "int8", "int32", "bool"};
  return kNames[static_cast<std::size_t>(dtype)];
}

}  // namespace weft::python
