#include "core/direct_call.h"

#include <algorithm>
#include <cstring>

#include "core/batched_calls.h"
#include "structmember.h"
#include "weft/op/in_place.h"

namespace weft::python {
namespace {

namespace py = pybind11;

// The callable that Python sees. As a method it is called with the object in front, like a function
// of the interpreter's own; a function of the module has it as its `self`.
struct DirectObject {
  PyObject ob_base;  // PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* otherwise;  // what takes all other calls
  const DirectCall* call;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): lives as long as the process.
constinit PyTypeObject* direct_type = nullptr;

struct Kept {
  PyObject* scope;  // borrowed: the module or the type
  const char* name;
  DirectCall* call;
};
std::vector<Kept>& kept_calls() {
  static std::vector<Kept> kept;
  return kept;
}

DirectObject* direct_of(PyObject* object) { return reinterpret_cast<DirectObject*>(object); }

// The TypeError that a function raised about an argument, which does not name the function.
void name_function(PyObject* function) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* const text = PyObject_Str(value);
  const char* const words = text == nullptr ? nullptr : PyUnicode_AsUTF8(text);
  if (words == nullptr || std::strncmp(words, "expected ", 9) != 0) {
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
  } else {
    const auto name =
        py::reinterpret_steal<py::object>(PyObject_GetAttrString(function, "__name__"));
    PyErr_Format(PyExc_TypeError, "%U(): %s", name.ptr(), words);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
  }
  Py_XDECREF(text);
}

PyObject* call_direct(PyObject* self, PyObject* const* values, std::size_t flags, PyObject* names) {
  const DirectObject* const direct = direct_of(self);
  // While a vmap() is at work the other function asks it.
  PyObject* const result = batched_type != nullptr
                               ? nullptr
                               : direct->call->run({values, PyVectorcall_NARGS(flags), names});
  if (result != nullptr) return result;
  if (PyErr_Occurred() == nullptr) {
    return PyObject_Vectorcall(direct->otherwise, values, flags, names);
  }
  if (PyErr_ExceptionMatches(PyExc_TypeError) != 0) name_function(direct->otherwise);
  return nullptr;
}

PyObject* call_function(PyObject* self, PyObject* const* values, Py_ssize_t count,
                        PyObject* names) {
  return call_direct(self, values, static_cast<std::size_t>(count), names);
}

PyObject* bind_to_object(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

PyObject* represent(PyObject* self) { return PyObject_Repr(direct_of(self)->otherwise); }

PyObject* other_function(PyObject* self, void*) { return Py_NewRef(direct_of(self)->otherwise); }

// __name__, __doc__ and their like are those of the other function.
PyObject* attribute_of_other(PyObject* self, void* name) {
  return PyObject_GetAttrString(direct_of(self)->otherwise, static_cast<const char*>(name));
}

void free_direct(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Py_XDECREF(direct_of(self)->otherwise);
  type->tp_free(self);
  Py_DECREF(type);
}

PyTypeObject* make_direct_type() {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(DirectObject, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  const auto attribute = [](const char* name) {
    return PyGetSetDef{name, attribute_of_other, nullptr, nullptr, const_cast<char*>(name)};
  };
  static PyGetSetDef attributes[] = {attribute("__name__"),
                                     attribute("__qualname__"),
                                     attribute("__module__"),
                                     attribute("__doc__"),
                                     attribute("__self__"),
                                     {"__wrapped__", other_function, nullptr, nullptr, nullptr},
                                     {}};
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                {Py_tp_descr_get, reinterpret_cast<void*>(bind_to_object)},
                                {Py_tp_repr, reinterpret_cast<void*>(represent)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(free_direct)},
                                {Py_tp_members, members},
                                {Py_tp_getset, attributes},
                                {0, nullptr}};
  PyType_Spec spec = {"weft._core.BuiltinMethod", sizeof(DirectObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                          Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                      slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

py::object direct_object(const DirectCall* call, PyObject* otherwise) {
  if (direct_type == nullptr) direct_type = make_direct_type();
  PyObject* const object = direct_type == nullptr ? nullptr : direct_type->tp_alloc(direct_type, 0);
  if (object == nullptr) throw py::error_already_set();
  direct_of(object)->vectorcall = call_direct;
  direct_of(object)->otherwise = Py_NewRef(otherwise);
  direct_of(object)->call = call;
  return py::reinterpret_steal<py::object>(object);
}

// pybind11's function of a module as one that goes to `direct`. It is kept for the life of the
// process, as pybind11 keeps its own.
py::object function_of_module(PyObject* bound, const py::object& direct) {
  const PyMethodDef* const old = reinterpret_cast<PyCFunctionObject*>(bound)->m_ml;
  auto def = std::make_unique<PyMethodDef>(PyMethodDef{
      old->ml_name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_function)),
      METH_FASTCALL | METH_KEYWORDS, old->ml_doc});
  const auto module =
      py::reinterpret_steal<py::object>(PyObject_GetAttrString(bound, "__module__"));
  PyObject* const made = PyCFunction_NewEx(def.release(), direct.ptr(), module.ptr());
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

// x.NAME_(...): x.NAME(...), written into x.
class InPlaceCall final : public DirectCall {
 public:
  InPlaceCall(const std::string& name, bool truths)
      : name_(PyUnicode_InternFromString(name.c_str())), truths_(truths) {}

  PyObject* run(const CallArguments& arguments) const override {
    if (arguments.count < 1 || !is_tensor(arguments.values[0])) return nullptr;
    PyObject* const self = arguments.values[0];
    // The gradient may need the old values: a copy of them is for Python.
    if (tensor_of(self).requires_grad() && grad_enabled()) return nullptr;
    const auto result = py::reinterpret_steal<py::object>(PyObject_VectorcallMethod(
        name_, arguments.values, static_cast<std::size_t>(arguments.count), arguments.names));
    if (!result || !is_tensor(result.ptr())) return nullptr;
    return guarded([&]() -> PyObject* {
      const Tensor& written = tensor_of(result.ptr());
      if (!fits(tensor_of(self), written)) return nullptr;
      copy_(target_of(self, written), written);
      return Py_NewRef(self);
    });
  }

 private:
  // 0 for bool, 1 for whole numbers, 2 for floats.
  static int kind_of(DType dtype) {
    if (dtype == DType::kBool) return 0;
    return is_floating(dtype) ? 2 : 1;
  }
  bool fits(const Tensor& x, const Tensor& result) const {
    if (x.shape() != result.shape()) return false;
    return truths_ || kind_of(result.dtype()) <= kind_of(x.dtype());
  }

  PyObject* name_;
  bool truths_;
};

}  // namespace

BoundArguments::BoundArguments(const py::detail::function_record& record, bool with_rest)
    : slots_(record.nargs), positional_(record.nargs_pos), with_rest_(with_rest) {
  if (with_rest) slots_.pop_back();
  // Further arguments behind those of any number, or other forms than these.
  if ((with_rest && positional_ != slots_.size()) || record.has_kwargs ||
      record.nargs_pos_only > 0) {
    complete_ = false;
  }
  if (record.args.empty()) return;
  if (record.args.size() != slots_.size()) complete_ = false;
  for (std::size_t i = 0; complete_ && i < slots_.size(); ++i) {
    const py::detail::argument_record& argument = record.args[i];
    slots_[i].name = argument.name == nullptr ? nullptr : PyUnicode_InternFromString(argument.name);
    slots_[i].fallback = argument.value.ptr();
    slots_[i].convert = argument.convert;
    slots_[i].takes_none = argument.none;
  }
}

std::size_t BoundArguments::place_of(PyObject* name) const {
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [name](const Slot& slot) { return slot.name == name; });
  return static_cast<std::size_t>(found - slots_.begin());
}

bool BoundArguments::place(const CallArguments& arguments, PyObject** values,
                           py::object& rest) const {
  const auto given = static_cast<std::size_t>(arguments.count);
  if (given > positional_ && !with_rest_) return false;
  const std::size_t placed = std::min(given, positional_);
  std::copy_n(arguments.values, placed, values);
  std::fill(values + placed, values + slots_.size(), nullptr);
  if (arguments.names != nullptr) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments.names); ++i) {
      const std::size_t at = place_of(PyTuple_GET_ITEM(arguments.names, i));
      if (at == slots_.size() || values[at] != nullptr) return false;
      values[at] = arguments.values[arguments.count + i];
    }
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (values[i] == nullptr) values[i] = slots_[i].fallback;
    if (values[i] == nullptr || (values[i] == Py_None && !slots_[i].takes_none)) return false;
  }
  if (!with_rest_) return true;
  py::tuple further(given - placed);
  for (std::size_t i = placed; i < given; ++i) {
    PyTuple_SET_ITEM(further.ptr(), static_cast<Py_ssize_t>(i - placed),
                     Py_NewRef(arguments.values[i]));
  }
  rest = std::move(further);
  values[slots_.size()] = rest.ptr();
  return true;
}

const py::detail::function_record* record_of(PyObject* bound) {
  PyObject* function = bound;
  if (PyInstanceMethod_Check(function)) function = PyInstanceMethod_GET_FUNCTION(function);
  if (PyCFunction_Check(function) == 0) return nullptr;
  PyObject* const self = PyCFunction_GET_SELF(function);
  if (self == nullptr || PyCapsule_CheckExact(self) == 0) return nullptr;
  const auto* const record = static_cast<py::detail::function_record*>(
      PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
  return record == nullptr || record->next != nullptr ? nullptr : record;
}

void keep_direct_call(PyObject* scope, const char* name, DirectCall* call) {
  kept_calls().push_back({scope, name, call});
}

void install_direct_calls() {
  for (const Kept& kept : kept_calls()) {
    const py::object bound = py::handle(kept.scope).attr("__dict__")[kept.name];
    if (record_of(bound.ptr()) == nullptr) continue;  // it has got overloads
    const bool method = PyInstanceMethod_Check(bound.ptr());
    PyObject* const function = method ? PyInstanceMethod_GET_FUNCTION(bound.ptr()) : bound.ptr();
    const py::object direct = direct_object(kept.call, function);
    py::setattr(kept.scope, kept.name, method ? direct : function_of_module(function, direct));
  }
  kept_calls().clear();
}

py::object direct_in_place(const std::string& name, const py::object& otherwise, bool truths) {
  return direct_object(std::make_unique<InPlaceCall>(name, truths).release(), otherwise.ptr());
}

namespace {

struct Attribute {
  const DirectCall* get;
  PyObject* set;  // null if it cannot be set
  std::string name;
  PyGetSetDef def;
};

PyObject* get_attribute(PyObject* self, void* attribute) {
  const auto* const from = static_cast<const Attribute*>(attribute);
  PyObject* const value = from->get->run({&self, 1, nullptr});
  if (value == nullptr && PyErr_Occurred() == nullptr) {
    PyErr_Format(PyExc_TypeError, "%s is an attribute of weft.Tensor", from->name.c_str());
  }
  return value;
}

int set_attribute(PyObject* self, PyObject* value, void* attribute) {
  const auto* const to = static_cast<const Attribute*>(attribute);
  if (value == nullptr) {
    PyErr_Format(PyExc_AttributeError, "%s cannot be deleted", to->name.c_str());
    return -1;
  }
  PyObject* const done = PyObject_CallFunctionObjArgs(to->set, self, value, nullptr);
  Py_XDECREF(done);
  return done == nullptr ? -1 : 0;
}

}  // namespace

void add_getter(const py::object& type, const char* name, DirectCall* get, const py::object& set,
                const char* documentation) {
  // It lives as long as the process, as the type does.
  auto* const attribute = std::make_unique<Attribute>().release();
  attribute->get = get;
  attribute->set = set ? Py_NewRef(set.ptr()) : nullptr;
  attribute->name = name;
  attribute->def = {name, get_attribute, set ? set_attribute : nullptr, documentation, attribute};
  PyObject* const descriptor =
      PyDescr_NewGetSet(reinterpret_cast<PyTypeObject*>(type.ptr()), &attribute->def);
  if (descriptor == nullptr) throw py::error_already_set();
  type.attr(name) = py::reinterpret_steal<py::object>(descriptor);
}

}  // namespace weft::python
