// Which builds of a loop this processor runs.
#pragma once

namespace weft {

// AVX2 with FMA, unless the environment says WEFT_ISA=generic (which tests use).
bool use_avx2();

}  // namespace weft
