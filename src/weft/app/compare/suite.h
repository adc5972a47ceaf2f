// Suites: contenders that `weft compare --suite NAME` compares without their being named.
//
//   field   each published method of mix.method with one recipe
//
// Where it stands: contenders_of() -> here. Threads: pure functions. Fails: kInvalidArgument for a
// suite that there is not, or without the one recipe that it needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/app/compare/contender.h"
#include "weft/base/status.h"

namespace weft {

Result<std::vector<Contender>> suite_contenders(std::string_view suite,
                                                const std::vector<std::string>& recipes);

}  // namespace weft
