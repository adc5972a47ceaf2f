// UTF-8 (RFC 3629): what is valid, and its characters.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// One code point and how many bytes it takes; length 0 where the text does not begin with one
// (empty, over-long, a surrogate, above U+10FFFF, cut short, or a stray byte).
struct Utf8Character {
  std::uint32_t code_point = 0;
  std::size_t length = 0;
};
Utf8Character first_character(std::string_view text);

// Length in bytes of the longest valid start of the text.
std::size_t valid_utf8_prefix(std::string_view text);

// Characters of a valid text; in any text, bytes that are no continuation.
std::int64_t count_characters(std::string_view text);

// REQUIRES: code_point <= 0x10FFFF and no surrogate.
void append_utf8(std::string& text, std::uint32_t code_point);

}  // namespace weft
