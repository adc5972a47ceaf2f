// Arrays as text, in the order of their indexes: "[[1, 2.5], [3, 4]]".
//
// Numbers have at most six significant digits. Long axes are cut: the first three and the last
// three elements are shown, with "..." between them, once the array has more than 1,000.
// Threads: reads only. Fails: never; an undefined array is "undefined".
#pragma once

#include <iosfwd>
#include <string>

#include "weft/array/array.h"

namespace weft {

std::string to_string(const Array& array);
std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace weft
