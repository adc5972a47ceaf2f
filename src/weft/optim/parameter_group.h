// ParameterGroup: parameters that an optimizer treats differently from the rest.
//
// As text, for recipes: groups separated by ";", each a pattern and then words:
//   "embed* rate=0.1 decay=0; kind:norm decay=0; conv1.* frozen"
// A pattern is a parameter's name with * and ?, or kind:weight, kind:bias, kind:norm. The first
// group that matches a parameter applies to it.
// Threads: values. Fails: kInvalidArgument naming the word.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/array/arena/layout.h"
#include "weft/base/status.h"

namespace weft {

struct ParameterGroup {
  std::string pattern = "*";  // of the name
  std::optional<ParameterKind> kind = std::nullopt;
  double rate_factor = 1.0;                           // times the learning rate
  std::optional<double> weight_decay = std::nullopt;  // none: the optimizer's
  bool frozen = false;                                // never changed
  friend bool operator==(const ParameterGroup&, const ParameterGroup&) = default;
};

Result<std::vector<ParameterGroup>> parse_parameter_groups(std::string_view text);

// Whether `name` matches the pattern; * matches any characters, ? one.
bool matches_pattern(std::string_view pattern, std::string_view name);
bool belongs_to(const ParameterGroup& group, const LayoutEntry& entry);

}  // namespace weft
