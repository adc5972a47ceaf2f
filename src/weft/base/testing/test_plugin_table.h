// What holds for the table of any family of plug-ins. For tests.
// Threads: pure. Fails: never.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/option.h"

namespace weft {

// `table` has pointers to definitions with a name, a summary and options. Names the first that is
// not in the order of the names, does not say what it is, or has an option without help or with a
// default out of its range; empty if there is none.
template <class Table>
std::string plugin_table_fault(const Table& table) {
  std::string_view last;
  for (const auto* def : table) {
    const std::string name(def->name);
    if (!(last < def->name)) return name + " is not in the order of the names";
    last = def->name;
    if (def->summary.empty()) return name + " has no summary";
    for (const Option& option : def->options) {
      const std::string whole = name + ":" + std::string(option.name);
      if (option.help.empty()) return whole + " has no help";
      if (!(option.min <= option.fallback && option.fallback <= option.max)) {
        return whole + " has a default out of its range";
      }
    }
  }
  return {};
}

}  // namespace weft
