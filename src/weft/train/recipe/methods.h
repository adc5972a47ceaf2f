// The methods that Weft has, by family, most of which a recipe can name: what `weft methods` and
// the tables of pages list.
//
// Each family is a table of plug-ins, one a file, so that a new file is listed without another
// edit. Threads: pure. Fails: never.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option.h"

namespace weft {

struct Method {
  std::string_view name;
  // One sentence, with the source.
  std::string_view summary;
  std::span<const Option> options;
  // The value of its family's `note_title`, such as "2 f + 1".
  std::string_view note;
};

struct MethodFamily {
  // The recipe's key for one of them, such as "aggregate.rule"; of a family that no recipe of
  // Weft's own names, a word without a dot.
  std::string_view key;
  // What one is called in a table, and what the family is for.
  std::string_view kind;
  std::string_view purpose;
  // What `Method::note` says; empty: nothing.
  std::string_view note_title;
  std::vector<Method> methods;
};

// In the order of their keys; methods by name.
std::vector<MethodFamily> method_families();
// Markdown table of the codes of `weft/code`, in the form of aggregator_table().
std::string code_table();
// Markdown: a heading and a table for each family of the [mix] section and data.partition.
std::string mix_tables();
// Markdown table of program_methods.h, in the same form.
std::string program_method_table();
// "keep = 8 (whole, 1 to 64): what it is", with `quote` around the name.
std::string option_text(const Option& option, std::string_view quote);

}  // namespace weft
