// Option: one setting of a plug-in, declared once; help, recipes and checks follow from it.
//
// Threads: a constant.
#pragma once

#include <string_view>

namespace weft {

struct Option {
  std::string_view name;
  double fallback = 0;
  double min = 0;
  double max = 0;
  // Only whole numbers.
  bool whole = false;
  // A sentence, with the unit.
  std::string_view help;
};

}  // namespace weft
