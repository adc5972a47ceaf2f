// The inner loops of gemm, one build for each instruction set.
#pragma once

#include <cstdint>

#include "weft/kernel/cpu/gemm.h"

namespace weft {

// Columns of a tile of c, and of a packed panel of b.
inline constexpr std::int64_t kGemmPanel = 16;

struct GemmLoops {
  // Copies rows [0, rows) and `columns` <= kGemmPanel columns of `b` to packed[rows][kGemmPanel],
  // zeros behind the last column.
  void (*pack)(const GemmOperand& b, std::int64_t rows, std::int64_t columns, float* packed);
  // All rows of c times one panel; size.n <= kGemmPanel.
  void (*multiply)(const GemmSize& size, const GemmOperand& a, const float* packed,
                   const GemmOutput& c);
};

extern const GemmLoops kGemmLoopsGeneric;
#if defined(__x86_64__)
extern const GemmLoops kGemmLoopsAvx2;
#endif

}  // namespace weft
