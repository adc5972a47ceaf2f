// The Python objects weft.float32, weft.int64, ...: one for each DType, compared by identity.
//
// Threads: the GIL is held.
#pragma once

#include <string>

#include <Python.h>

#include "weft/array/dtype/dtype.h"

namespace weft::python {

// Makes the class weft.dtype and its nine values and adds them to `module`. False with a Python
// error set.
bool add_dtypes(PyObject* module);
// Borrowed; lives as long as the process.
PyObject* dtype_object(DType dtype);
// The type of what is made of real numbers where none is given: float32 unless a program chooses
// another floating type, set_default_dtype().
DType default_dtype();
void set_default_dtype(DType dtype);
// False, without a Python error, if `object` is no weft.dtype. float, int and bool stand for
// float64, int64 and bool, as in PyTorch.
bool load_dtype(PyObject* object, DType& dtype);
// "float32": the name without the package.
const char* dtype_name(DType dtype);

}  // namespace weft::python
