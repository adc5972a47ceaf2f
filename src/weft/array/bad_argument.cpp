#include "weft/array/bad_argument.h"

#include <stdexcept>

#include <fmt/format.h>

namespace weft {

void throw_bad_argument(const char* operation, const std::string& expected,
                        const std::string& got) {
  throw std::invalid_argument(fmt::format("[{}] expected {}, got {}", operation, expected, got));
}

}  // namespace weft
