// gemm's loops for any processor.
#include "weft/kernel/gemm/gemm_loops.h"

// Vectors wider than the processor's registers never leave this file.
#pragma GCC diagnostic ignored "-Wpsabi"
#define WEFT_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

namespace weft {
namespace {

template <class Vector>
inline Vector multiply_add(const Vector& a, const Vector& b, const Vector& c) {
  return a * b + c;
}
#include "weft/kernel/gemm/gemm_loops.inc"

}  // namespace

const GemmLoops kGemmLoopsGeneric = WEFT_GEMM_LOOPS;

}  // namespace weft
