// Values of options as text, "NAME=NUMBER" each: how plug-ins are configured in a recipe.
//
// Threads: free functions, any thread. Fails: kInvalidArgument, which says what is expected.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option.h"
#include "weft/base/status.h"

namespace weft {

// The values of `options` in their order; the fallback of those that `texts` does not set. `owner`
// is the plug-in's name, for errors.
Result<std::vector<double>> parse_options(std::string_view owner, std::span<const Option> options,
                                          std::span<const std::string_view> texts);

// ":NAME=NUMBER" for each value that is not the fallback.
std::string format_options(std::span<const Option> options, std::span<const double> values);

// The parts of `text` between `mark`s; empty ones are left out.
std::vector<std::string_view> split_words(std::string_view text, char mark);

}  // namespace weft
