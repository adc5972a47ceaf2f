// gemm_half: c = a b for matrices of bf16 or f16; products and sums are f32, rounded once.
//
// Operands are widened while they are packed, results narrowed while they are in the cache, so that
// memory sees 16-bit values alone: the same bits as gemm() of the widened operands, rounded. Where
// the processor multiplies pairs of bf16 (gemm_pairs_loops.h), nothing is widened, and sums of bf16
// operands are rounded as it does.
// For this folder. Threads: as gemm.h.
#pragma once

#include <cstdint>

#include "weft/array/dtype/half.h"
#include "weft/kernel/gemm/gemm.h"

namespace weft {

// Element (i, j) is data[i * row_step + j * column_step].
template <class Half>
struct HalfOperand {
  const Half* data;
  std::int64_t row_step;
  std::int64_t column_step;
};

// As GemmOutput.
template <class Half>
struct HalfOutput {
  Half* data;
  std::int64_t row_step;
  bool accumulate = false;
  const Half* bias = nullptr;
  bool relu = false;
};

void gemm_half(const GemmSize& size, const HalfOperand<BFloat16>& a, const HalfOperand<BFloat16>& b,
               const HalfOutput<BFloat16>& c);
void gemm_half(const GemmSize& size, const HalfOperand<Float16>& a, const HalfOperand<Float16>& b,
               const HalfOutput<Float16>& c);

}  // namespace weft
