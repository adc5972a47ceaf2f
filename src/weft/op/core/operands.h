// Code shared by several ops: checks of operands, and gradients of broadcast operands.
//
// For op/*_op.cpp. Checks throw std::invalid_argument "[op] expected ..., got ...".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/array/pair.h"
#include "weft/autograd/node.h"
#include "weft/autograd/tensor.h"
#include "weft/kernel/reduce/reduce.h"
#include "weft/op/core/promote.h"

namespace weft {

[[noreturn]] void throw_operand(const char* op, const std::string& expected,
                                const std::string& got);
// Both sizes at least `least`; `name` is the option's, "stride".
void check_pair(const char* op, const char* name, const Pair& sizes, std::int64_t least);
// Defined and of a floating type.
void check_floating(const char* op, const Tensor& x);
// Both so, of one type, and shapes broadcast.
void check_operands(const char* op, const Tensor& a, const Tensor& b);

// The mask of `axes` (negative ones count from the end), each once; all axes if none is given.
AxisMask axis_mask(const char* op, const std::vector<int>& axes, int ndim);

// Adds `gradient`, summed over the axes along which input `index` of `shape` was broadcast.
void add_summed(const InputGradients& dx, int index, const Array& gradient, const Shape& shape);
// The same with Tensors, if the input needs it.
void add_summed(const TensorGradients& dx, int index, const Tensor& gradient, const Shape& shape);
// x summed over the axes along which `shape` was broadcast to x's shape, with all its gradients.
Tensor sum_to(const Tensor& x, const Shape& shape);

// dy * share, and 0 where the share is 0 even if dy is not finite there. Shares are at least 0.
Array take_share(const Array& dy, const Array& share);
Tensor take_share(const Tensor& dy, const Array& share);
// 1 - share.
Array other_share(const Array& share);

}  // namespace weft
