// Calls that do not fit a bound function, in words that name the argument.
//
// pybind11 answers such a call with its list of signatures and all values. The functions bound here
// give that text to weft._call_errors, which names the argument that is wrong, as Python's own
// functions do. A call that fits costs nothing more.
#pragma once

#include <pybind11/pybind11.h>

namespace weft::python {

// For what is bound in `scope` so far, a module or a class.
void explain_calls(pybind11::handle scope);

}  // namespace weft::python
