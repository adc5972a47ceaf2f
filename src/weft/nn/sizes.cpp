#include "weft/nn/sizes.h"

#include <stdexcept>

#include <fmt/format.h>

namespace weft {

void require_positive(const char* layer, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) {
    if (size < 1) {
      throw std::invalid_argument(
          fmt::format("[{}] expected sizes of at least 1, got {}", layer, size));
    }
  }
}

void require_groups(const char* layer, std::int64_t groups, std::int64_t inputs,
                    std::int64_t outputs) {
  require_positive(layer, {groups, inputs, outputs});
  if (inputs % groups == 0 && outputs % groups == 0) return;
  throw std::invalid_argument(
      fmt::format("[{}] expected channels that {} groups divide, got {} and {}", layer, groups,
                  inputs, outputs));
}

}  // namespace weft
