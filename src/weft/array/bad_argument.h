// How the functions of an array refuse an argument.
#pragma once

#include <string>

namespace weft {

// Throws std::invalid_argument("[operation] expected EXPECTED, got GOT").
[[noreturn]] void throw_bad_argument(const char* operation, const std::string& expected,
                                     const std::string& got);

}  // namespace weft
