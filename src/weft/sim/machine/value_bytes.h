// The bytes of shared values, without a copy. Threads: pure. Fails: never.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "weft/base/bytes.h"

namespace weft::sim {

inline SharedBytes bytes_of(const std::shared_ptr<const std::vector<float>>& values) {
  return {values, as_bytes(std::span<const float>(*values))};
}

}  // namespace weft::sim
