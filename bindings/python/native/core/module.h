// The parts of the native module weft._core: one function for each bind_*.cpp.
//
// To add a part: write bind_NAME.cpp, add its function here and to the list in module.cpp, and
// link what it uses in CMakeLists.txt.
#pragma once

#include <pybind11/pybind11.h>

namespace weft {
class Generator;
}

namespace weft::python {

// What draws that are given no generator take; the GIL is its lock.
Generator& default_generator();

void bind_array(pybind11::module_& module);
void bind_tensor(pybind11::module_& module);
void bind_op_math(pybind11::module_& module);
void bind_op_reduce(pybind11::module_& module);
void bind_op_shape(pybind11::module_& module);
void bind_op_nn(pybind11::module_& module);
void bind_op_loss(pybind11::module_& module);
void bind_op_sequence(pybind11::module_& module);
void bind_random(pybind11::module_& module);
void bind_autograd(pybind11::module_& module);
void bind_optim(pybind11::module_& module);
void bind_io(pybind11::module_& module);
void bind_onnx(pybind11::module_& module);
void bind_nn(pybind11::module_& module);
void bind_data(pybind11::module_& module);
void bind_op_special(pybind11::module_& module);
void bind_linalg(pybind11::module_& module);

}  // namespace weft::python
