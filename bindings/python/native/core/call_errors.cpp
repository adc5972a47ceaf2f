#include "core/call_errors.h"

#include "core/batched_calls.h"
#include "core/call_keywords.h"

namespace weft::python {
namespace {

namespace py = pybind11;

// What pybind11 gives all its functions as their body; set before the first call of explained().
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit PyCFunctionWithKeywords dispatcher = nullptr;

const char* name_of(PyObject* function) {
  const auto record = py::reinterpret_borrow<py::capsule>(function);
  return record.get_pointer<py::detail::function_record>()->name;
}

// The better text for the TypeError that is set, or none, where the error is another one.
py::object explanation(PyObject* function, PyObject* text, PyObject* arguments,
                       PyObject* keywords) {
  try {
    const py::object given =
        keywords != nullptr ? py::reinterpret_borrow<py::object>(keywords) : py::object(py::dict());
    return py::module_::import("weft._call_errors")
        .attr("explain")(py::str(py::handle(text)), py::handle(arguments), given,
                         name_of(function));
  } catch (const py::error_already_set&) {
    return py::none();  // the old text will do
  }
}

// The TypeError that is set, with the better text if there is one.
void explain_error(PyObject* function, PyObject* arguments, PyObject* keywords) {
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const py::object text = explanation(function, value, arguments, keywords);
  if (text.is_none()) {
    PyErr_Restore(type, value, trace);
    return;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_SetObject(PyExc_TypeError, text.ptr());
}

template <bool kMakes>
PyObject* explained(PyObject* self, PyObject* arguments, PyObject* keywords) {
  PlainCall call;
  if (keywords != nullptr) {
    try {
      call = plain_call(keywords, kMakes);
    } catch (py::error_already_set& error) {
      error.restore();
      return nullptr;
    }
  }
  PyObject* const now = call.keywords ? call.keywords.ptr() : keywords;
  if (batched_type != nullptr) {
    const char* const name = name_of(self);
    if (draws_random(name) || has_batched(arguments, now)) {
      PyObject* const result = call_batched(name, arguments, now);
      if (result != Py_NotImplemented) return written_out(result, call.out);
      Py_DECREF(result);  // no vmap() of this thread has a say
    }
  }
  PyObject* const result = dispatcher(self, arguments, now);
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) {
    return written_out(result, call.out);
  }
  explain_error(self, arguments, now);
  return nullptr;
}

}  // namespace

void explain_calls(py::handle scope) {
  const py::object names = scope.attr("__dict__");
  for (const py::handle name : py::list(names)) {
    PyObject* function = py::object(names[name]).ptr();  // which the scope keeps
    if (PyInstanceMethod_Check(function)) function = PyInstanceMethod_GET_FUNCTION(function);
    if (PyCFunction_Check(function) == 0) continue;
    PyObject* const self = PyCFunction_GET_SELF(function);
    if (self == nullptr || PyCapsule_CheckExact(self) == 0) continue;  // none of pybind11's
    PyMethodDef* const def = reinterpret_cast<PyCFunctionObject*>(function)->m_ml;
    if ((def->ml_flags & METH_KEYWORDS) == 0) continue;
    const auto body =
        reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void (*)()>(def->ml_meth));
    if (body == explained<false> || body == explained<true>) continue;
    dispatcher = body;
    const bool makes = makes_tensors(def->ml_name);
    def->ml_meth = reinterpret_cast<PyCFunction>(
        reinterpret_cast<void (*)()>(makes ? explained<true> : explained<false>));
  }
}

}  // namespace weft::python
