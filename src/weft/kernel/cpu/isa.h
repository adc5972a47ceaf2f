// Which builds of a loop this processor runs.
#pragma once

namespace weft {

// AVX2 with FMA, unless the environment says WEFT_ISA=generic (which tests use).
bool use_avx2();
// AVX-512F beside those; WEFT_ISA=avx2 says no.
bool use_avx512();

}  // namespace weft
