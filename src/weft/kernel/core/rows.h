// RowKernels: the innermost loops of the elementwise, reduction, softmax and dropout kernels over
// raw memory, compiled once for each instruction set (rows_loops.cpp).
//
// For this folder. Every loop gives the same bits in each build: no contraction, and sums have a
// fixed number of lanes. Index 0 of the second dimension is f32, 1 is f64 (2 bf16, 3 f16 for
// reductions).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/array/dtype/dtype.h"
#include "weft/array/launch.h"
#include "weft/base/isa/isa_loops.h"
#include "weft/kernel/core/elementwise_ops.h"

namespace weft {

#define WEFT_COUNT(Name) +1
inline constexpr std::size_t kUnaryOps = 0 WEFT_UNARY_OPS(WEFT_COUNT);
inline constexpr std::size_t kBinaryOps = 0 WEFT_BINARY_OPS(WEFT_COUNT);
#undef WEFT_COUNT
inline constexpr std::size_t kReduceOps = 4;

// out[i] = f(operands[0][i], ...). `out` is dense, of the operands' type or bool; `scalars` are s
// and t of elementwise_ops.h and may be null where an operation has none.
using ElementwiseRow = void (*)(const RunOperand* operands, void* out, std::int64_t count,
                                const double* scalars);
// The reduction of one run.
using ReduceRow = double (*)(const void* x, std::int64_t step, std::int64_t count);
// `rows` rows of values, x[r * row_step + i * step] for i in [0, count).
struct StridedRows {
  const void* x;
  std::int64_t step;
  std::int64_t row_step;
  std::int64_t rows;
};
// state[i] = op(state[i], row[i]) for one row after the other: `count` reductions side by side.
using ReduceColumns = void (*)(const StridedRows& rows, double* state, std::int64_t count);
// The sum of (x - shift)^2 over one run, or side by side.
using DeviationRow = double (*)(const void* x, std::int64_t step, double shift, std::int64_t count);
using DeviationColumns = void (*)(const StridedRows& rows, const double* shifts, double* state,
                                  std::int64_t count);
// out[i] = x[i] * scale where random word i of the row is at least `threshold`, else 0. `x` may be
// null: then x[i] is 1. Word i is word (i % 64) / 16 of the Philox block with this key and counter
// {block, row}, block = i / 64 * 16 + i % 16: an order that vector units produce without a shuffle.
struct DropoutRow {
  std::uint64_t row;
  std::array<std::uint32_t, 2> key;
  std::uint32_t threshold;
  double scale;
};
using DropoutRowKernel = void (*)(const DropoutRow& row, const void* x, void* out,
                                  std::int64_t begin, std::int64_t end);
// Words of the Philox blocks from `first_block` on in the same order, with the counter {block,
// domain}. REQUIRES: count a multiple of 64.
struct RandomStream {
  std::uint64_t domain;
  std::array<std::uint32_t, 2> key;
};
using RandomWords = void (*)(const RandomStream& stream, std::uint64_t first_block,
                             std::uint32_t* out, std::int64_t count);
// Standard normal values from the same number of words. REQUIRES: count a multiple of 64.
using NormalRow = void (*)(const std::uint32_t* words, float* out, std::int64_t count);
// out[i] = exp(x[i] - shift); dense.
using ExpRow = void (*)(const void* x, double shift, void* out, std::int64_t count);
// out[i] = x[i] * scale + shift; dense.
struct Affine {
  double scale;
  double shift;
};
using AffineRow = void (*)(const void* x, Affine affine, void* out, std::int64_t count);
// softmax, or its logarithm, of each of `rows` dense rows of `count` values.
struct RowSizes {
  std::int64_t rows;
  std::int64_t count;
};
using LogSoftmaxRows = void (*)(const void* x, void* out, RowSizes sizes);
// The largest value of a row, and the sum of e^(x - largest); `totals` may be null.
struct RowTotal {
  double largest;
  double sum;
};
using SoftmaxRows = void (*)(const void* x, void* out, RowSizes sizes, RowTotal* totals);
// The gradients of both from that of the result y. dx is no other row.
struct RowGradients {
  const void* y;
  const void* dy;
  void* dx;
};
using SoftmaxGradientRows = void (*)(const RowGradients& rows, RowSizes sizes);

template <class Function>
using ByFloat = std::array<Function, 2>;
// f32, f64, bf16, f16: reductions read all of them.
template <class Function>
using ByStored = std::array<Function, 4>;

struct RowKernels {
  std::array<ByFloat<ElementwiseRow>, kUnaryOps> unary;    // in the order of WEFT_UNARY_OPS
  std::array<ByFloat<ElementwiseRow>, kBinaryOps> binary;  // in the order of WEFT_BINARY_OPS
  std::array<ByStored<ReduceRow>, kReduceOps> reduce_row;  // sum, max, min, product
  std::array<ByStored<ReduceColumns>, kReduceOps> reduce_columns;
  ByStored<DeviationRow> deviation_row;
  ByStored<DeviationColumns> deviation_columns;
  ByFloat<DropoutRowKernel> dropout;
  RandomWords random_words;
  NormalRow normal;
  ByFloat<ExpRow> exp_shifted;
  ByFloat<AffineRow> affine;
  ByFloat<SoftmaxRows> softmax;
  ByFloat<LogSoftmaxRows> log_softmax;
  ByFloat<SoftmaxGradientRows> softmax_gradient;
  ByFloat<SoftmaxGradientRows> log_softmax_gradient;
};

// row_kernels(): the loops for this processor.
WEFT_PLAIN_LOOPS(RowKernels, row_kernels)

// 0 for f32, 1 for f64; throws std::invalid_argument naming `kernel` for others.
std::size_t float_index(const char* kernel, DType dtype);
// The index into ByStored; REQUIRES: a floating type.
std::size_t stored_index(DType dtype);

}  // namespace weft
