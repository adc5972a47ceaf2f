// Published methods that are programs of their own, of the Python package, since what their members
// exchange is no model of all: `weft methods` lists them, and recipes/methods has a recipe with
// [program] for each, for `weft compare`.
//
// Where it stands: methods.h -> here. Threads: a constant.
#pragma once

#include <span>
#include <string_view>

#include "weft/base/option.h"

namespace weft {

struct ProgramMethodDef {
  std::string_view name;
  // One sentence, with the source.
  std::string_view summary;
  // Those of [program.options] in its recipe, with the same values.
  std::span<const Option> options;
  // In the source tree.
  std::string_view program;
};

// By name.
std::span<const ProgramMethodDef> program_methods();

}  // namespace weft
