// nearest_name: the known name that is probably meant by a misspelt one.
//
// Threads: pure. Fails: never; returns "" if nothing is near.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weft {

// Fewest insertions, deletions, changes and swaps of neighbours that turn `a` into `b`.
// IMPLEMENTATION: Damerau 1964 in the restricted form ("optimal string alignment"), O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate at the smallest distance, if that is at most a third of the name's length plus one.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

// `; did you mean "CANDIDATE"?` for the end of a message: one that differs in a third of the
// letters at most, or the first that begins with the name; else "".
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace weft
