#include "weft/base/isa.h"

#include <cstdlib>
#include <string_view>

namespace weft {

bool use_avx2() {
#if defined(__x86_64__)
  static const bool use = [] {
    const char* const isa = std::getenv("WEFT_ISA");  // tidy: allow getenv: for tests
    if (isa != nullptr && std::string_view(isa) == "generic") return false;
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
           __builtin_cpu_supports("f16c") != 0;
  }();
  return use;
#else
  return false;
#endif
}

}  // namespace weft
