// The products of minimal filtering, compiled once for each instruction set.
#include "weft/base/isa/loops_begin.inc"
#include "weft/kernel/conv/winograd/winograd_loops.h"

namespace weft {
namespace {

#include "weft/kernel/core/vector.inc"

using Value = float;
using Lanes = Vec;

struct Operands {
  static float lane(const float* from) { return *from; }
  static Vec lanes(const float* from) { return load(from); }
  static Vec two_rows(const float* from) { return load(from); }
};

inline Vec in_every_lane(float value) { return value - Vec{}; }
// Contracted where the instruction set has fused multiplications.
inline Vec multiply_add(const Vec& a, const Vec& b, const Vec& c) { return a * b + c; }

#include "weft/kernel/conv/winograd/winograd_products.inc"

}  // namespace

extern const WinogradProducts<float> WEFT_LOOPS_NAME(winograd_products) = {
    kPanels, multiply, nullptr, multiply_transposed};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
