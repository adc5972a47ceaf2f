// The file name endings that Weft's readers recognise, in either case: cameras and old programs
// write ".JPG" and ".CSV".
//
// Threads: pure functions. Fails: never.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace weft {

// The ending in small letters, with its point: ".csv".
inline bool has_ending(std::string_view path, std::string_view ending) {
  if (path.size() < ending.size()) return false;
  return std::equal(ending.begin(), ending.end(),
                    path.end() - static_cast<std::ptrdiff_t>(ending.size()), [](char want, char c) {
                      return want == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
                    });
}

inline bool has_ending(std::string_view path, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return has_ending(path, ending); });
}

// True if a file of this name is read as a table.
inline bool is_table_name(std::string_view path) { return has_ending(path, {".csv", ".tsv"}); }

}  // namespace weft
