#include "core/errors.h"

#include <pybind11/pybind11.h>

#include "core/words.h"
#include "weft/autograd/check/anomaly.h"
#include "weft/op/arithmetic.h"

namespace weft::python {
namespace {

constexpr std::size_t kCodes = static_cast<std::size_t>(Code::kInternal) + 1;
// The class of each code; that of kOk is weft.Error. Kept for the life of the process.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit PyObject* error_classes[kCodes] = {};
// Those of no code.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit PyObject* division_by_zero = nullptr;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
constinit PyObject* anomaly = nullptr;

PyObject* class_of(Code code) { return error_classes[static_cast<std::size_t>(code)]; }

struct ClassDef {
  Code code;         // of the class that it is derived from, if it has none of its own
  const char* name;  // with the package, as Python shows it
  const char* documentation;
  PyObject* also;  // borrowed; the class of Python that it is, too
};

PyObject* make_class(const ClassDef& def, PyObject* error) {
  PyObject* const bases =
      def.also != nullptr ? PyTuple_Pack(2, error, def.also) : PyTuple_Pack(1, error);
  if (bases == nullptr) return nullptr;
  PyObject* const made = PyErr_NewExceptionWithDoc(def.name, def.documentation, bases, nullptr);
  Py_DECREF(bases);
  return made;
}

bool add_class(PyObject* module, Code code, const char* name, PyObject* made) {
  if (made == nullptr) return false;
  error_classes[static_cast<std::size_t>(code)] = made;
  return PyModule_AddObjectRef(module, name + sizeof("weft.") - 1, made) == 0;
}

// Makes a class that no code has, derived from that of `def.code`.
bool add_derived(PyObject* module, PyObject*& made, const ClassDef& def) {
  made = make_class(def, class_of(def.code));
  return made != nullptr &&
         PyModule_AddObjectRef(module, def.name + sizeof("weft.") - 1, made) == 0;
}

}  // namespace

bool add_error_classes(PyObject* module) {
  PyObject* const error = PyErr_NewExceptionWithDoc(
      "weft.Error", "What Weft could not do; the classes derived from it say what to do about it.",
      PyExc_RuntimeError, nullptr);
  if (!add_class(module, Code::kOk, "weft.Error", error)) return false;
  const ClassDef defs[] = {
      {Code::kInvalidArgument, "weft.InvalidArgumentError", "Fix the call.", PyExc_ValueError},
      {Code::kUnavailable, "weft.UnavailableError", "Go elsewhere, or try again later.",
       PyExc_ConnectionError},
      {Code::kTimeout, "weft.TimeoutError", "Try again.", PyExc_TimeoutError},
      {Code::kCorrupt, "weft.CorruptError", "The data is damaged: drop it.", PyExc_ValueError},
      {Code::kAborted, "weft.AbortedError", "The group changed: run the round again.", nullptr},
      {Code::kInternal, "weft.InternalError", "A bug of Weft; please report it.", nullptr},
  };
  for (const ClassDef& def : defs) {
    if (!add_class(module, def.code, def.name, make_class(def, error))) return false;
  }
  return add_derived(module, division_by_zero,
                     {Code::kInvalidArgument, "weft.DivisionByZeroError",
                      "Whole numbers divided by 0.", PyExc_ZeroDivisionError}) &&
         add_derived(module, anomaly,
                     {Code::kOk, "weft.AnomalyError",
                      "The first NaN or infinity, which detect_anomaly() looks for.", nullptr});
}

void set_python_error() {
  try {
    throw;
  } catch (const PythonError&) {
    return;  // as it is
  } catch (pybind11::error_already_set& error) {
    error.restore();
  } catch (const StatusError& error) {
    PyErr_SetString(class_of(error.status().code()), error.what());
  } catch (const TypeProblem& error) {
    PyErr_SetString(PyExc_TypeError, in_words_of_python(error.what()).c_str());
  } catch (const pybind11::cast_error&) {
    PyErr_SetString(PyExc_TypeError,
                    "an argument, or a part of one, has a type that is not taken "
                    "here: see the function's documentation");
  } catch (const pybind11::builtin_exception& error) {
    error.set_error();
  } catch (const DivisionByZero& error) {
    PyErr_SetString(division_by_zero, in_words_of_python(error.what()).c_str());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(class_of(Code::kInvalidArgument), in_words_of_python(error.what()).c_str());
  } catch (const AnomalyError& error) {
    PyErr_SetString(anomaly, in_words_of_python(error.what()).c_str());
  } catch (const std::out_of_range& error) {
    PyErr_SetString(PyExc_IndexError, in_words_of_python(error.what()).c_str());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, "there is no memory for this");
  } catch (const std::exception& error) {
    PyErr_SetString(class_of(Code::kInternal), error.what());
  }
}

}  // namespace weft::python
