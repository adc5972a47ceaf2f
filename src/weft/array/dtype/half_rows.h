// Rows of BFloat16 and Float16 from and to f32, with the processor's own instructions where it has
// them (AVX2, F16C). The same bits as half.h on every processor.
//
// Rows are dense; they may be the same memory only if they do not overlap. Threads: pure.
#pragma once

#include <cstdint>

#include "weft/array/dtype/half.h"

namespace weft {

void to_f32_row(const BFloat16* from, float* to, std::int64_t count);
void to_f32_row(const Float16* from, float* to, std::int64_t count);
void from_f32_row(const float* from, BFloat16* to, std::int64_t count);
void from_f32_row(const float* from, Float16* to, std::int64_t count);

}  // namespace weft
