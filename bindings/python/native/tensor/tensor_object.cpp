#include "tensor/tensor_object.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "array/conversion.h"
#include "array/dtype_object.h"
#include "core/batched_calls.h"
#include "core/errors.h"
#include "structmember.h"
#include "weft/autograd/in_place_history.h"

namespace weft::python {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): lives as long as the process.
constinit PyTypeObject* tensor_type_object = nullptr;

PyObject* make(PyTypeObject* of, Tensor tensor) {
  PyObject* const object = of->tp_alloc(of, 0);
  if (object == nullptr) return nullptr;
  std::construct_at(&tensor_of(object), std::move(tensor));
  return object;
}

// The same for Tensor itself, whose objects are all written here and need no zeros before.
PyObject* make_plain(Tensor tensor) {
  void* const memory = PyObject_Malloc(sizeof(TensorObject));
  if (memory == nullptr) return PyErr_NoMemory();
  PyObject* const object = PyObject_Init(static_cast<PyObject*>(memory), tensor_type_object);
  auto* const made = reinterpret_cast<TensorObject*>(object);
  made->weak_references = nullptr;
  made->base = nullptr;
  made->views = nullptr;
  std::construct_at(&made->value, std::move(tensor));
  return object;
}

// Tensor(2, 3): sizes, and values that are not set.
Array of_sizes(PyObject* arguments) {
  Shape shape;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    const long long size = PyLong_AsLongLong(PyTuple_GET_ITEM(arguments, i));
    if (size == -1 && PyErr_Occurred() != nullptr) throw PythonError();
    if (size < 0)
      throw std::invalid_argument("[Tensor] expected sizes >= 0, got " + std::to_string(size));
    shape.push_back(size);
  }
  if (shape.size() == 0) shape.push_back(0);
  return Array::empty(shape, default_dtype());
}

// Tensor(data, requires_grad=False): a leaf that shares the values of a Tensor, or gets those of
// lists and arrays in the default type; Tensor(2, 3) has sizes, as PyTorch's old constructor.
PyObject* construct(PyTypeObject* of, PyObject* arguments, PyObject* keywords) {
  static const char* names[] = {"data", "requires_grad", nullptr};
  if (keywords == nullptr && (PyTuple_GET_SIZE(arguments) == 0 ||
                              PyLong_CheckExact(PyTuple_GET_ITEM(arguments, 0)) != 0)) {
    return guarded([&] { return make(of, Tensor(of_sizes(arguments))); });
  }
  PyObject* data = nullptr;
  int requires_grad = 0;
  if (PyArg_ParseTupleAndKeywords(arguments, keywords, "O|p:Tensor", const_cast<char**>(names),
                                  &data, &requires_grad) == 0) {
    return nullptr;
  }
  return guarded([&] {
    if (is_tensor(data)) return make(of, Tensor(tensor_of(data).array(), requires_grad != 0));
    if (is_batched(data)) {
      throw std::invalid_argument(
          "[Tensor] expected a tensor without a batch: parameters are made outside of vmap(), and "
          "weft.func.functional_call() puts others in their place within it");
    }
    if (PyObject_CheckBuffer(data) == 0 && PySequence_Check(data) == 0) {
      throw TypeProblem(std::string("Tensor() expects a weft.Tensor, lists of numbers, an array or "
                                    "sizes, got ") +
                        Py_TYPE(data)->tp_name + ": weft.tensor() takes a number");
    }
    return make(of, Tensor(array_from(data, default_dtype()), requires_grad != 0));
  });
}

// Its views keep a base, so `self` has none any more.
void forget_view(TensorObject* self) {
  const std::unique_ptr<std::vector<TensorObject*>> views(std::exchange(self->views, nullptr));
  if (self->base == nullptr) return;
  std::erase(*self->base->views, self);
  Py_DECREF(reinterpret_cast<PyObject*>(self->base));
}

void deallocate(PyObject* self) {
  PyTypeObject* const of = Py_TYPE(self);
  if (reinterpret_cast<TensorObject*>(self)->weak_references != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  std::destroy_at(&tensor_of(self));
  forget_view(reinterpret_cast<TensorObject*>(self));
  of->tp_free(self);
  Py_DECREF(of);
}

// By identity: comparison with == gives a Tensor.
Py_hash_t hash(PyObject* self) { return PyBaseObject_Type.tp_hash(self); }

void append(std::vector<PyType_Slot>& all, const PyType_Slot* slots) {
  for (; slots->slot != 0; ++slots) all.push_back(*slots);
}

// The methods of several tables as one. Python keeps the table, so it lives on.
PyMethodDef* all_methods() {
  static std::vector<PyMethodDef> all;
  for (PyMethodDef* table : {unary_methods(), in_place_methods(), fact_methods()}) {
    for (; table->ml_name != nullptr; ++table) all.push_back(*table);
  }
  all.push_back({nullptr, nullptr, 0, nullptr});
  return all.data();
}

}  // namespace

PyTypeObject* tensor_type() { return tensor_type_object; }

PyTypeObject* make_tensor_type() {
  static PyMemberDef members[] = {{"__weaklistoffset__", T_PYSSIZET,
                                   offsetof(TensorObject, weak_references), READONLY, nullptr},
                                  {nullptr, 0, 0, 0, nullptr}};
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, reinterpret_cast<void*>(construct)},
      {Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
      {Py_tp_hash, reinterpret_cast<void*>(hash)},
      {Py_tp_members, members},
      {Py_tp_methods, all_methods()},
      {Py_tp_getset, fact_attributes()},
      {Py_tp_doc, const_cast<char*>("An n-dimensional array with a history of how it was made.")}};
  append(slots, number_slots());
  append(slots, index_slots());
  append(slots, buffer_slots());
  slots.push_back({0, nullptr});
  PyType_Spec spec = {"weft.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots.data()};
  tensor_type_object = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return tensor_type_object;
}

PyObject* noted_view(PyObject* view, PyObject* of) {
  if (view == nullptr || !grad_enabled() || tensor_of(view).requires_grad()) return view;
  if (tensor_of(view).array().storage() != tensor_of(of).array().storage()) return view;
  auto* const object = reinterpret_cast<TensorObject*>(view);
  auto* base = reinterpret_cast<TensorObject*>(of);
  if (base->base != nullptr) base = base->base;
  if (base->views == nullptr) {
    base->views = std::make_unique<std::vector<TensorObject*>>().release();
  }
  base->views->push_back(object);
  object->base = base;
  Py_INCREF(reinterpret_cast<PyObject*>(base));
  return view;
}

void share_with_views(PyObject* object) {
  auto* base = reinterpret_cast<TensorObject*>(object);
  if (base->base != nullptr) base = base->base;
  if (base->views == nullptr || base->views->empty()) return;
  std::vector<const Tensor*> members = {&base->value};
  for (const TensorObject* view : *base->views) members.push_back(&view->value);
  share_history(members);
}

PyObject* wrap(Tensor tensor) {
  if (!tensor.defined()) Py_RETURN_NONE;
  return make_plain(std::move(tensor));
}

}  // namespace weft::python
