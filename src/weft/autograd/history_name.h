// What made a tensor, by name: for messages and for printing.
//
// Threads: as the graph. Fails: never.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

// The name of the operation whose output `tensor` is, "mul"; null for leaves and for what has no
// history.
const char* history_name(const Tensor& tensor);

}  // namespace weft
