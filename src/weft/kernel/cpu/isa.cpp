#include "weft/kernel/cpu/isa.h"

#include <cstdlib>
#include <string_view>

namespace weft {

bool use_avx2() {
#if defined(__x86_64__)
  static const bool use = [] {
    const char* const isa = std::getenv("WEFT_ISA");  // tidy: allow getenv: for tests
    if (isa != nullptr && std::string_view(isa) == "generic") return false;
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  }();
  return use;
#else
  return false;
#endif
}

bool use_avx512() {
#if defined(__x86_64__)
  static const bool use = [] {
    const char* const isa = std::getenv("WEFT_ISA");
    if (isa != nullptr && std::string_view(isa) == "avx2") return false;
    return use_avx2() && __builtin_cpu_supports("avx512f") != 0;
  }();
  return use;
#else
  return false;
#endif
}

}  // namespace weft
