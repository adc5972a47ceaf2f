#include "weft/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weft {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "weft: bug at %s:%d: expected %s\n", file, line, condition);
  std::abort();
}

}  // namespace weft
