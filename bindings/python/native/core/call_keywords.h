// Keywords that PyTorch's users write and Weft's functions spell otherwise or need not take: axis=
// for dim=, device= of a function that makes tensors, out= for the tensor that gets the result.
//
// They are replaced before pybind11 sees the call; a call without keywords costs nothing.
// Threads: the GIL is held.
// Fails: pybind11::error_already_set, for a device that is not the CPU.
#pragma once

#include <pybind11/pybind11.h>

namespace weft::python {

struct PlainCall {
  pybind11::object keywords;  // null: those of the call
  pybind11::object out;       // null: none
};
// `makes`: of a function that makes tensors.
PlainCall plain_call(PyObject* keywords, bool makes);
// Writes `result`, which may be null with a Python error set, into the `out` of a call: takes the
// reference and returns one to `out`.
PyObject* written_out(PyObject* result, const pybind11::object& out);
// Whether the function of that name makes tensors, so that it takes device=, layout= and the like.
bool makes_tensors(const char* name);
// Adds the names of those to `module`, as _makers.
void add_makers(pybind11::module_& module);

}  // namespace weft::python
