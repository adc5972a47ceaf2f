#include "swarm/status_error.h"

#include <pybind11/pybind11.h>

namespace weft::python {
namespace {

const char* class_name(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "InvalidArgumentError";
    case Code::kUnavailable:
      return "UnavailableError";
    case Code::kTimeout:
      return "TimeoutError";
    case Code::kCorrupt:
      return "CorruptError";
    case Code::kAborted:
      return "AbortedError";
    case Code::kOk:
    case Code::kInternal:
      break;
  }
  return "InternalError";
}

}  // namespace

void throw_status(const Status& status) {
  const pybind11::object error =
      pybind11::module_::import("weft._core").attr(class_name(status.code()));
  PyErr_SetString(error.ptr(), status.message().c_str());
  throw pybind11::error_already_set();
}

}  // namespace weft::python
