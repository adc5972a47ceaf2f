// What `weft methods` prints for people: each family of methods with the key of the recipe that
// names one, each method with its source and its options.
//
// Threads: pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/train/recipe/methods.h"

namespace weft {

// Those of the key `name`, or all methods of that name. kInvalidArgument, with the nearest known
// one, if there is neither.
Result<std::vector<MethodFamily>> choose_methods(const std::vector<MethodFamily>& families,
                                                 std::string_view name);

// In lines of at most `width` characters.
std::string methods_page(const std::vector<MethodFamily>& families, std::size_t width);

}  // namespace weft
