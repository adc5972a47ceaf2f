// Products of f32 activations with weights that are kept as 8-bit numbers, for prediction.
//
// Each row of the weight (an output channel) has a scale, its largest magnitude / 127, and so has
// each row of activations, which are quantised as they arrive. Sums are exact: the same bits for
// any number of threads, any other rows, and every instruction set.
// A row of activations or of weights that is not finite gives NaN wherever it takes part.
// IMPLEMENTATION: symmetric quantisation as in Wu, Judd, Zhang, Isaev, Micikevicius, "Integer
// quantization for deep learning inference", arXiv:2004.09602, 2020, with the scale of activations
// from each row as it arrives, as in Yao et al., "ZeroQuant", NeurIPS 2022.
// Threads: the calling thread and the compute threads. Fails: never.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/array/array.h"
#include "weft/array/storage/storage.h"
#include "weft/kernel/gemm/gemm.h"
#include "weft/kernel/gemm/int8_loops.h"

namespace weft {

// A weight [n, k], quantised by row, in the order in which `loops` read it: k n bytes, and 8 bytes
// a row.
class Int8Matrix {
 public:
  // `weight` is dense and is not needed afterwards. REQUIRES: k <= kInt8DepthMax.
  Int8Matrix(const float* weight, std::int64_t n, std::int64_t k,
             const Int8Loops& loops = int8_loops());
  std::int64_t n() const { return n_; }
  std::int64_t k() const { return k_; }
  const Int8Loops& loops() const { return loops_; }
  // k, filled up to a multiple of kInt8Depth: the bytes of a quantised row.
  std::int64_t depth() const { return depth_; }
  // Columns [column, column + kInt8BlockColumns) of the product, or fewer at the end.
  // REQUIRES: column is a multiple of kInt8BlockColumns.
  Int8Weights block(std::int64_t column) const;

 private:
  void fill_row(const float* row, std::int64_t column, std::uint8_t* quantised);
  std::int8_t* values() const { return static_cast<std::int8_t*>(storage_->data()); }
  float* scales() const;
  std::int32_t* starts() const;

  std::int64_t n_;
  std::int64_t k_;
  std::int64_t depth_;
  const Int8Loops& loops_;
  std::shared_ptr<Storage> storage_;  // values, scales, starts
};

// c (+)= a weight^T for m rows of a [m, k], row_step floats apart; then bias and ReLU as in gemm().
void gemm_int8(std::int64_t m, const float* a, std::int64_t row_step, const Int8Matrix& weight,
               const GemmOutput& c);
// The same bits on the calling thread alone, for loops whose threads own rows.
void gemm_int8_here(std::int64_t m, const float* a, std::int64_t row_step, const Int8Matrix& weight,
                    const GemmOutput& c);

// The quantised form of a weight f32 [n, k], which is kept (core/prepared_weights.h); null where
// nothing is kept, where f32 is asked for, or for a k beyond kInt8DepthMax.
std::shared_ptr<const Int8Matrix> int8_weight(const Array& weight);

}  // namespace weft
