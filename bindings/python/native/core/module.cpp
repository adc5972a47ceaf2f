#include "core/module.h"

#include "array/dtype_object.h"
#include "array/size_object.h"
#include "core/batched_calls.h"
#include "core/call_errors.h"
#include "core/call_keywords.h"
#include "core/direct_call.h"
#include "core/errors.h"
#include "core/named_results.h"
#include "tensor/tensor_object.h"

namespace weft::python {
namespace {

using Bind = void (*)(pybind11::module_&);
// In this order; the Tensor type and the types of elements are there before the first.
constexpr Bind kParts[] = {
    bind_array,   bind_tensor,      bind_op_math, bind_op_reduce,  bind_op_shape, bind_op_nn,
    bind_op_loss, bind_op_sequence, bind_random,  bind_autograd,   bind_optim,    bind_io,
    bind_onnx,    bind_nn,          bind_data,    bind_op_special, bind_linalg,
};

void fill(pybind11::module_& module) {
  if (!add_error_classes(module.ptr()) || !add_dtypes(module.ptr()) || !add_size(module.ptr())) {
    throw pybind11::error_already_set();
  }
  PyTypeObject* const type = make_tensor_type();
  if (type == nullptr ||
      PyModule_AddObjectRef(module.ptr(), "Tensor", reinterpret_cast<PyObject*>(type)) != 0 ||
      PyModule_AddFunctions(module.ptr(), unary_functions()) != 0) {
    throw pybind11::error_already_set();
  }
  pybind11::register_exception_translator([](std::exception_ptr exception) {
    try {
      if (exception) std::rethrow_exception(exception);
    } catch (...) {
      set_python_error();
    }
  });
  add_return_types(module);
  for (const Bind bind : kParts) bind(module);
  add_makers(module);
  add_batched_calls(module);
  explain_calls(module);
  explain_calls(reinterpret_cast<PyObject*>(type));
  install_direct_calls();
}

}  // namespace
}  // namespace weft::python

PYBIND11_MODULE(_core, module) {
  module.doc() = "The native part of weft. Use the package; names here may change.";
  weft::python::fill(module);
}
