// weft.Size: what shape and size() give, a tuple that also counts the elements of such a shape.
//
// Slices, sums and repetitions of one are Sizes, too, as in PyTorch.
// Threads: the GIL is held.
// Fails: size_object() returns null with a Python error set.
#pragma once

#include <Python.h>

#include "weft/array/shape/shape.h"

namespace weft::python {

// Makes the class and adds it to `module`. False with a Python error set.
bool add_size(PyObject* module);
// A new reference.
PyObject* size_object(const Shape& shape);

}  // namespace weft::python
