// Tensors of given values, without history. Results of random draws: op/random.h.
//
// All throw std::invalid_argument on sizes that do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/autograd/tensor.h"
#include "weft/op/index_operand.h"

namespace weft {

Tensor full(const Shape& shape, double value, DType dtype = DType::kF32);
inline Tensor zeros(const Shape& shape, DType dtype = DType::kF32) { return full(shape, 0, dtype); }
inline Tensor ones(const Shape& shape, DType dtype = DType::kF32) { return full(shape, 1, dtype); }
inline Tensor full_like(const Tensor& x, double value) { return full(x.shape(), value, x.dtype()); }
inline Tensor zeros_like(const Tensor& x) { return full_like(x, 0); }
inline Tensor ones_like(const Tensor& x) { return full_like(x, 1); }

// start, start + step, ... up to but without `stop`; each is start + i step, rounded once.
Tensor arange(double start, double stop, double step = 1, DType dtype = DType::kF32);
// 0 .. count - 1, i64.
Tensor arange(std::int64_t count);
// As arange(), i64, in whole numbers of any size: a double holds those up to 2^53.
Tensor arange_whole(std::int64_t start, std::int64_t stop, std::int64_t step = 1);
// `count` values at equal distances, both ends included; of one value the start.
Tensor linspace(double start, double stop, std::int64_t count, DType dtype = DType::kF32);
// 1 on the diagonal; square without `columns`.
Tensor eye(std::int64_t rows, std::int64_t columns = -1, DType dtype = DType::kF32);
// [..., classes], 1 at the label and 0 elsewhere. Labels in [0, classes).
Tensor one_hot(const IndexOperand& labels, std::int64_t classes, DType dtype = DType::kI64);

enum class GridOrder : std::uint8_t {
  kIj,  // axis i of the grid is vector i
  kXy,  // NumPy's default: the first two axes swapped
};
// One array of the grid's shape for each vector; views of them, which carry gradients.
std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, GridOrder order = GridOrder::kIj);

}  // namespace weft
