#include "weft/base/text/plugin_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "weft/base/nearest_name.h"

namespace weft {

Status unknown_plugin(std::string_view text, std::span<const std::string_view> names) {
  const std::string_view name = text.substr(0, text.find(':'));
  const std::vector<std::string_view> all(names.begin(), names.end());
  return invalid_argument(fmt::format("expected one of {}, got \"{}\"{}", fmt::join(all, ", "),
                                      name, did_you_mean(name, all)));
}

Status check_plugin_length(std::string_view text) {
  if (text.size() <= kPluginTextMax) return {};
  return invalid_argument(
      fmt::format("expected at most {} characters, got {}", kPluginTextMax, text.size()));
}

}  // namespace weft
