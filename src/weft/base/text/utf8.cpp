#include "weft/base/utf8.h"

#include <cstring>

#include "weft/base/check.h"

namespace weft {
namespace {

constexpr std::uint64_t kHighBits = 0x8080808080808080ULL;

bool is_continuation(std::uint8_t byte) { return (byte & 0xC0U) == 0x80U; }

// How many bytes the character that begins with `lead` takes, and the payload of that byte.
Utf8Character lead_of(std::uint8_t lead) {
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xC2) return {};
  if (lead < 0xE0) return {lead & 0x1FU, 2};
  if (lead < 0xF0) return {lead & 0x0FU, 3};
  if (lead < 0xF5) return {lead & 0x07U, 4};
  return {};
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  if (text.empty()) return {};
  Utf8Character character = lead_of(static_cast<std::uint8_t>(text[0]));
  if (character.length == 0 || character.length > text.size()) return {};
  for (std::size_t i = 1; i < character.length; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (!is_continuation(byte)) return {};
    character.code_point = (character.code_point << 6U) | (byte & 0x3FU);
  }
  const std::uint32_t code_point = character.code_point;
  const bool over_long = (character.length == 3 && code_point < 0x800) ||
                         (character.length == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (over_long || surrogate || code_point > 0x10FFFF) return {};
  return character;
}

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t word = 0;
    if (text.size() - at >= sizeof(word)) {  // eight bytes of ASCII at once
      std::memcpy(&word, text.data() + at, sizeof(word));
      if ((word & kHighBits) == 0) {
        at += sizeof(word);
        continue;
      }
    }
    const std::size_t length = first_character(text.substr(at)).length;
    if (length == 0) return at;
    at += length;
  }
  return at;
}

std::int64_t count_characters(std::string_view text) {
  std::int64_t count = 0;
  for (const char byte : text) count += is_continuation(static_cast<std::uint8_t>(byte)) ? 0 : 1;
  return count;
}

void append_utf8(std::string& text, std::uint32_t code_point) {
  WEFT_CHECK(code_point <= 0x10FFFF && (code_point < 0xD800 || code_point >= 0xE000));
  const auto tail = [&](unsigned shift) {
    text.push_back(static_cast<char>(0x80U | ((code_point >> shift) & 0x3FU)));
  };
  if (code_point < 0x80) {
    text.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    text.push_back(static_cast<char>(0xC0U | (code_point >> 6U)));
    tail(0);
  } else if (code_point < 0x10000) {
    text.push_back(static_cast<char>(0xE0U | (code_point >> 12U)));
    tail(6);
    tail(0);
  } else {
    text.push_back(static_cast<char>(0xF0U | (code_point >> 18U)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace weft
