#include "weft/base/printable.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "weft/base/utf8.h"

namespace weft {
namespace {

struct CodePoints {
  std::uint32_t first;
  std::uint32_t last;
};

// What a terminal obeys, and what makes a line read otherwise than it is written (Unicode 15: "Cc",
// "Zl", "Zp", "Bidi_Control", and characters of no width but the two joiners that scripts and emoji
// need); in order.
constexpr CodePoints kObeyed[] = {
    {0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200B, 0x200B},
    {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
};

bool is_obeyed(std::uint32_t code_point) {
  return std::any_of(std::begin(kObeyed), std::end(kObeyed), [&](const CodePoints& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

std::string escape_of(std::uint32_t code_point) {
  if (code_point == '\n') return "\\n";
  if (code_point == '\t') return "\\t";
  return code_point < 0x100 ? fmt::format("\\x{:02x}", code_point)
                            : fmt::format("\\u{:04x}", code_point);
}

std::string shown(std::string_view text, bool keeps_lines,
                  std::size_t characters_max = std::string_view::npos) {
  std::string out;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == characters_max) return out + "...";
    const Utf8Character character = first_character(text);
    const std::size_t length = std::max<std::size_t>(1, character.length);
    const bool kept = keeps_lines && (text[0] == '\n' || text[0] == '\t');
    if (character.length == 0) {
      out += escape_of(static_cast<std::uint8_t>(text[0]));
    } else if (is_obeyed(character.code_point) && !kept) {
      out += escape_of(character.code_point);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return shown(text, false); }

std::string printable(std::string_view text, std::size_t characters_max) {
  return shown(text, false, characters_max);
}

std::string printable_lines(std::string_view text) { return shown(text, true); }

std::string counted(std::int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

bool is_printable_text(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.length == 0 || is_obeyed(character.code_point)) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

}  // namespace weft
