// The loops of rows.h for any processor.

#include "weft/kernel/core/rows.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math,no-math-errno")
#endif

namespace weft {
namespace {
#include "weft/kernel/core/rows_loops.inc"
}  // namespace

const RowKernels generic_row_kernels = WEFT_ROW_KERNELS;

}  // namespace weft
