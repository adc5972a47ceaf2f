#include "core/call_keywords.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace weft::python {
namespace {

namespace py = pybind11;

// NumPy's words, which PyTorch takes too.
constexpr std::pair<const char*, const char*> kSynonyms[] = {
    {"axis", "dim"},
    {"keepdims", "keepdim"},
};

// What functions that make tensors take beside their own keywords. Only the device can be wrong.
constexpr const char* kMakerWords[] = {"device", "layout", "pin_memory", "memory_format"};

constexpr const char* kMakers[] = {
    "arange",  "asarray",      "as_tensor",    "empty",      "empty_like",
    "eye",     "full",         "full_like",    "linspace",   "logspace",
    "normal",  "ones",         "ones_like",    "rand",       "rand_like",
    "randint", "randint_like", "randn",        "randn_like", "randperm",
    "tensor",  "tril_indices", "triu_indices", "zeros",      "zeros_like",
};

// Whether plain_call() has anything to do with this keyword.
bool is_replaced(PyObject* keyword) {
  const auto is = [keyword](const char* name) {
    return PyUnicode_CompareWithASCIIString(keyword, name) == 0;
  };
  return is("out") || std::any_of(std::begin(kMakerWords), std::end(kMakerWords), is) ||
         std::any_of(std::begin(kSynonyms), std::end(kSynonyms),
                     [&](const auto& each) { return is(each.first); });
}

bool any_replaced(PyObject* keywords) {
  Py_ssize_t at = 0;
  PyObject* keyword = nullptr;
  PyObject* value = nullptr;
  while (PyDict_Next(keywords, &at, &keyword, &value) != 0) {
    if (is_replaced(keyword)) return true;
  }
  return false;
}

bool holds(PyObject* keywords, const char* name) {
  return PyDict_GetItemString(keywords, name) != nullptr;
}

// A copy of the keywords, made before the first change.
py::dict& changed(PlainCall& call, PyObject* keywords) {
  if (!call.keywords) call.keywords = py::reinterpret_steal<py::object>(PyDict_Copy(keywords));
  return static_cast<py::dict&>(call.keywords);
}

void check_device(const py::handle& device) {
  if (device.is_none()) return;
  py::module_::import("weft._device").attr("cpu_device")(device);
}

}  // namespace

PlainCall plain_call(PyObject* keywords, bool makes) {
  PlainCall call;
  if (keywords == nullptr || !any_replaced(keywords)) return call;
  for (const auto& [name, meant] : kSynonyms) {
    if (!holds(keywords, name) || holds(keywords, meant)) continue;
    py::dict& now = changed(call, keywords);
    now[meant] = now[name];
    PyDict_DelItemString(now.ptr(), name);
  }
  if (makes) {
    for (const char* const name : kMakerWords) {
      if (!holds(keywords, name)) continue;
      py::dict& now = changed(call, keywords);
      if (std::string_view(name) == "device") check_device(now[name]);
      PyDict_DelItemString(now.ptr(), name);
    }
  }
  if (holds(keywords, "out")) {
    py::dict& now = changed(call, keywords);
    const py::object out = now["out"];
    PyDict_DelItemString(now.ptr(), "out");
    if (!out.is_none()) call.out = out;
  }
  return call;
}

PyObject* written_out(PyObject* result, const py::object& out) {
  if (result == nullptr || !out) return result;
  const auto owner = py::reinterpret_steal<py::object>(result);
  try {
    return py::module_::import("weft._out").attr("write")(out, owner).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  }
}

bool makes_tensors(const char* name) {
  for (const char* const maker : kMakers) {
    if (std::string_view(maker) == name) return true;
  }
  return false;
}

void add_makers(py::module_& module) {
  py::list names;
  for (const char* const maker : kMakers) names.append(maker);
  module.attr("_makers") = py::tuple(names);
}

}  // namespace weft::python
