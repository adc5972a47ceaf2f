// Reading and writing at positions: names and rules as in PyTorch, advanced indexing as in NumPy.
//
// Index arrays are integers (any integer type); positions count from 0 and a wrong one throws
// std::invalid_argument, as do shapes that do not fit. Only index() and index_put() take negative
// positions. Values may have any type; floating ones carry gradients. Nothing is written in place.
// All but masked_select, nonzero, unique, bincount and boolean masks in index() can be captured:
// the shapes of their results depend on values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/autograd/tensor.h"
#include "weft/op/index_operand.h"

namespace weft {

// y[.., j, ..] = x[.., index[.., j, ..], ..]; `index` has x's number of axes and is nowhere longer
// than x but along `axis`.
Tensor gather(const Tensor& x, int axis, const IndexOperand& index);
// NumPy's name for gather with an index that broadcasts to x along the other axes.
Tensor take_along_axis(const Tensor& x, const IndexOperand& index, int axis);
// x with `source` written at [.., index[.., j, ..], ..]; `source` has the index's shape. For equal
// positions the last one wins, and the gradient of the others is computed as if theirs had been
// written.
Tensor scatter(const Tensor& x, int axis, const IndexOperand& index, const Tensor& source);
Tensor scatter_add(const Tensor& x, int axis, const IndexOperand& index, const Tensor& source);

// The slices index[0], index[1], ... of x along `axis`; `index` has one axis.
Tensor index_select(const Tensor& x, int axis, const IndexOperand& index);
// x with slice j of `source` added to (written over) slice index[j] along `axis`.
Tensor index_add(const Tensor& x, int axis, const IndexOperand& index, const Tensor& source);
Tensor index_copy(const Tensor& x, int axis, const IndexOperand& index, const Tensor& source);

// x with `value` where `mask` (bool, broadcasts to x) is true.
Tensor masked_fill(const Tensor& x, const IndexOperand& mask, double value);
// The values where `mask` is true, in order, [count]; x and mask broadcast.
Tensor masked_select(const Tensor& x, const IndexOperand& mask);

// NumPy's x[a, :, b, ...]: one entry per axis, from the first; an entry without a value is ":".
// Index arrays broadcast together; a bool mask covers as many axes as it has. The result's index
// axes are at the place of the first index array if all are adjacent, otherwise first.
using AdvancedIndex = std::vector<std::optional<IndexOperand>>;
Tensor index(const Tensor& x, const AdvancedIndex& at);
// x with `values` (broadcast to the shape of index(x, at)) written there, or added.
Tensor index_put(const Tensor& x, const AdvancedIndex& at, const Tensor& values,
                 bool accumulate = false);

// The positions that are not 0, in order: i64 [count, ndim].
Array nonzero(const IndexOperand& x);
// How often each of 0, 1, ... occurs in `x` (integers >= 0): i64, or the sums of `weights` (f64).
// At least `length_min` long.
Array bincount(const IndexOperand& x, std::int64_t length_min = 0, const Array& weights = {});
// The position in the sorted values along the last axis of `sorted` at which each of `values` would
// be inserted: i64. `sorted` has one axis or the leading axes of `values`. right: after equal
// values.
Array searchsorted(const Array& sorted, const Array& values, bool right = false);

struct Unique {
  Array values;   // sorted
  Array inverse;  // i64, of x's shape: where in `values` each element of x is
  Array counts;   // i64
};
Unique unique(const Array& x);

}  // namespace weft
