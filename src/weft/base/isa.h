// Which builds of a loop this processor runs. Threads: any. Fails: never.
#pragma once

namespace weft {

// AVX2 with FMA and F16C, unless the environment has WEFT_ISA=generic (which tests use).
bool use_avx2();

}  // namespace weft
