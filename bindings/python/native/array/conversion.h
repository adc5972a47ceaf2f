// Arrays from what Python has: numbers, nested lists, and memory by the buffer protocol.
//
// Threads: the GIL is held.
// Fails: TypeProblem for types that Weft lacks, std::invalid_argument for ragged lists.
#pragma once

#include <optional>

#include <Python.h>

#include "weft/array/array.h"

namespace weft::python {

// A copy of a Tensor, a buffer (NumPy arrays), a number, or nested lists and tuples of these. The
// type, if none is given: of a buffer its own; of numbers bool, i64 or f32, whichever holds all.
Array array_from(PyObject* object, std::optional<DType> dtype);

// What to do with memory that may only be read.
enum class ReadOnly : unsigned char { kRefuse, kCopy };
// An Array on the buffer's own memory, which it keeps alive. Refuses memory that is not aligned
// to its elements, or in another order of bytes.
Array array_on(PyObject* buffer, ReadOnly read_only);

}  // namespace weft::python
