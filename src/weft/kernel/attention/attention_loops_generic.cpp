// Attention's loops for any processor.
#include "weft/base/isa.h"
#include "weft/kernel/attention/attention_loops.h"

// Vectors wider than the processor's registers never leave this file.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace weft {
namespace {

template <class Vector>
inline Vector multiply_add(const Vector& a, const Vector& b, const Vector& c) {
  return a * b + c;
}
template <class Vector>
inline Vector larger(const Vector& a, const Vector& b) {
  return a > b ? a : b;
}
#include "weft/kernel/attention/attention_loops.inc"

}  // namespace

const AttentionLoops kAttentionLoopsGeneric = WEFT_ATTENTION_LOOPS;

const AttentionLoops& attention_loops() {
#if defined(__x86_64__)
  if (use_avx2()) return kAttentionLoopsAvx2;
#endif
  return kAttentionLoopsGeneric;
}

}  // namespace weft
