// What constructors of layers check. For nn/*.cpp.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace weft {

// Throws std::invalid_argument naming `layer` if a size is below 1.
void require_positive(const char* layer, std::initializer_list<std::int64_t> sizes);
// The same unless `groups` divides both numbers of channels.
void require_groups(const char* layer, std::int64_t groups, std::int64_t inputs,
                    std::int64_t outputs);

}  // namespace weft
