#include "core/batched_calls.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "core/errors.h"

namespace weft::python {

constinit PyTypeObject* batched_type = nullptr;

namespace {

namespace py = pybind11;

// Lists of lists are searched down to this depth.
constexpr int kSearchDepthMax = 8;

constexpr const char* kDraws[] = {"_dropout", "bernoulli", "multinomial", "normal_", "rand",
                                  "randint",  "randn",     "randperm",    "uniform_"};

// What call_batched() calls; null while batched_type is. Kept alive by its module.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit PyObject* batched_call = nullptr;

bool finds_batched(PyObject* object, int depth) {
  if (Py_TYPE(object) == batched_type) return true;
  if (depth == kSearchDepthMax) return false;
  if (PyTuple_Check(object) != 0 || PyList_Check(object) != 0) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      if (finds_batched(PySequence_Fast_GET_ITEM(object, i), depth + 1)) return true;
    }
  } else if (PyDict_Check(object) != 0) {
    Py_ssize_t at = 0;
    PyObject* value = nullptr;
    while (PyDict_Next(object, &at, nullptr, &value) != 0) {
      if (finds_batched(value, depth + 1)) return true;
    }
  } else if (PySlice_Check(object) != 0) {
    const auto* const parts = reinterpret_cast<PySliceObject*>(object);
    return Py_TYPE(parts->start) == batched_type || Py_TYPE(parts->stop) == batched_type ||
           Py_TYPE(parts->step) == batched_type;
  }
  return false;
}

void set_batched_calls(const py::object& type, const py::object& call) {
  const bool ends = type.is_none() && call.is_none();
  if (!ends && (PyType_Check(type.ptr()) == 0 || PyCallable_Check(call.ptr()) == 0)) {
    throw TypeProblem("_set_batched_calls() expects a class and a function, or None twice");
  }
  batched_type = ends ? nullptr : reinterpret_cast<PyTypeObject*>(type.ptr());
  batched_call = ends ? nullptr : call.ptr();
}

}  // namespace

bool holds_batched(PyObject* object) { return finds_batched(object, 0); }

bool draws_random(const char* name) {
  return std::any_of(std::begin(kDraws), std::end(kDraws),
                     [name](const char* each) { return std::string_view(each) == name; });
}

PyObject* call_batched(const char* name, PyObject* arguments, PyObject* keywords) {
  try {
    const auto given =
        keywords != nullptr ? py::reinterpret_borrow<py::object>(keywords) : py::object(py::dict());
    return py::handle(batched_call)(py::str(name), py::handle(arguments), given).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

PyObject* call_batched_with(const char* name, PyObject* first, PyObject* second) {
  PyObject* const arguments =
      second == nullptr ? PyTuple_Pack(1, first) : PyTuple_Pack(2, first, second);
  if (arguments == nullptr) return nullptr;
  PyObject* const result = call_batched(name, arguments, nullptr);
  Py_DECREF(arguments);
  return result;
}

void refuse_batched() {
  throw std::invalid_argument(
      "[vmap] expected a tensor with one value per sample as the target of an in-place operation "
      "with one, got a tensor that all samples share: make a new tensor (x = x + y), or begin with "
      "one that is batched (x = weft.zeros_like(y))");
}

void add_batched_calls(py::module_& module) {
  module.def("_set_batched_calls", set_batched_calls, py::arg("type"), py::arg("call"));
}

}  // namespace weft::python
