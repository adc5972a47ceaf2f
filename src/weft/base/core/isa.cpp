#include "weft/base/isa.h"

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft {

#if defined(__x86_64__)
// Clang 14 does not know this feature by name. The system saves its registers where it saves
// AVX2's.
static bool has_f16c() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

bool use_avx2() {
#if defined(__x86_64__)
  static const bool use = [] {
    // Nothing of ours changes the environment. NOLINTNEXTLINE(concurrency-mt-unsafe)
    const char* const isa = std::getenv("WEFT_ISA");  // tidy: allow getenv: for tests
    if (isa != nullptr && std::string_view(isa) == "generic") return false;
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
  }();
  return use;
#else
  return false;
#endif
}

}  // namespace weft
