// weft.autocast: within it products and convolutions take float32 operands as bfloat16 or float16,
// and what needs single precision takes its 16-bit operands as float32.
//
// Where it stands: the bindings of these operations ask lowered() and widened(). The casts are part
// of the history, so that gradients arrive in the types of the operands. Threads: each thread has a
// setting of its own, at first none. Fails: never.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft::python {

// The type of this thread; float32 stands for none.
DType autocast_type();
void set_autocast_type(DType dtype);

// x in this thread's type if there is one and x is float32, else x. An undefined one stays so.
Tensor lowered(const Tensor& x);
// x in float32 if this thread has a type and x is of 16 bits, else x.
Tensor widened(const Tensor& x);

}  // namespace weft::python
