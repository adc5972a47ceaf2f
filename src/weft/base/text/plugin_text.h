// A plug-in as a person writes it, "NAME:OPTION=NUMBER:...", looked up in its family's table.
//
// `Def` is the family's definition: a struct with `name` and `options`.
// Threads: free functions, any thread. Fails: kInvalidArgument, which lists the names and says the
// nearest, or says what is wrong with an option.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/text/option_text.h"

namespace weft {

inline constexpr std::size_t kPluginTextMax = 200;

template <class Def>
struct Plugin {
  const Def* def = nullptr;
  // In the order of Def::options.
  std::vector<double> options;

  // As it was parsed, without options that have their default.
  std::string text() const {
    return std::string(def->name) + format_options(def->options, options);
  }
};

// The definition that `text` begins with the name of; null if there is none.
template <class Def>
const Def* find_plugin(std::string_view text, std::span<const Def* const> table) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto found = std::ranges::find(table, name, &Def::name);
  return found == table.end() ? nullptr : *found;
}

// Why `text` names none of `names`.
Status unknown_plugin(std::string_view text, std::span<const std::string_view> names);
// Why the text is too long; ok if it is not.
Status check_plugin_length(std::string_view text);

template <class Def>
Result<Plugin<Def>> parse_plugin(std::string_view text, std::span<const Def* const> table) {
  WEFT_TRY(check_plugin_length(text));
  const Def* const def = find_plugin(text, table);
  if (def == nullptr) {
    std::vector<std::string_view> names;
    for (const Def* const each : table) names.push_back(each->name);
    return unknown_plugin(text, names);
  }
  const std::vector<std::string_view> parts = split_words(text, ':');
  Plugin<Def> plugin{.def = def, .options = {}};
  WEFT_TRY_ASSIGN(plugin.options,
                  parse_options(def->name, def->options, std::span(parts).subspan(1)));
  return plugin;
}

}  // namespace weft
