// note_written_in_place(): what an operation says that has written into the memory of a tensor.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

// The values of `result` were just written by `writer`, a literal, and `result` carries the history
// of that. Operations that had saved these bytes, and other handles that show them, are refused
// from now on.
void note_written_in_place(const Tensor& result, const char* writer);

// Whether `x` is a view, made with history, of a leaf that takes a gradient: a write through it
// would change the leaf behind the back of its gradient.
bool is_view_of_leaf(const Tensor& x);

}  // namespace weft
