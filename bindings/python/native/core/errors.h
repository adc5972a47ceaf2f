// What of Weft's failures Python sees: one class for each code of a Status, all of them weft.Error.
//
//   weft.Error(RuntimeError)
//     weft.InvalidArgumentError(Error, ValueError)  fix the call; std::invalid_argument too
//     weft.UnavailableError(Error, ConnectionError) go elsewhere, or try again later
//     weft.TimeoutError(Error, TimeoutError)        try again
//     weft.CorruptError(Error, ValueError)          drop the data
//     weft.AbortedError(Error)                      the view changed: run the round again
//     weft.InternalError(Error)                     a bug of Weft
//     weft.AnomalyError(Error)                      an AnomalyMode found a NaN or an infinity
//     weft.DivisionByZeroError(InvalidArgumentError, ZeroDivisionError)
//
// Beside these, TypeError for arguments of a wrong type and IndexError for places out of range.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <Python.h>

#include "weft/base/status.h"

namespace weft::python {

// A Status on its way to Python.
class StatusError : public std::exception {
 public:
  explicit StatusError(Status status) : status_(std::move(status)) {}
  const Status& status() const { return status_; }
  const char* what() const noexcept override { return status_.message().c_str(); }

 private:
  Status status_;
};

// Becomes Python's TypeError.
class TypeProblem : public std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A Python error is set already.
class PythonError {};

inline void raise_if_failed(const Status& status) {
  if (!status.ok()) throw StatusError(status);
}
template <class T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) throw StatusError(result.status());
  return std::move(result).value();
}

// Makes the classes and adds them to `module`. False with a Python error set.
bool add_error_classes(PyObject* module);
// Sets the Python error that fits the exception being handled. REQUIRES: within a catch block.
void set_python_error();

// body(), whose exceptions become Python errors and a null result. For slots and raw methods.
template <class Body>
PyObject* guarded(const Body& body) {
  try {
    return body();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace weft::python
