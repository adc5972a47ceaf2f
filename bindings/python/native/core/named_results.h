// weft.return_types: the results of max(dim), sort() and their like, tuples whose parts have names,
// as in found.values and found.indices.
//
// Threads: the GIL is held.
#pragma once

#include <pybind11/pybind11.h>

#include "weft/autograd/tensor.h"

namespace weft::python {

// Makes the classes and adds them to `module` as _return_types, by name.
void add_return_types(pybind11::module_& module);
// `name` is a row of the table in named_results.cpp.
pybind11::object named_pair(const char* name, Tensor first, Tensor second);

}  // namespace weft::python
