#include "weft/data/safe_text.h"

#include <cstdint>

#include <fmt/format.h>

#include "weft/base/utf8.h"

namespace weft {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
// C0, DEL and C1; marks, embeddings and isolates of direction; line and paragraph separators; the
// byte-order mark.
constexpr Range kUnsafe[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200B, 0x200F},
                             {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}};

bool is_unsafe(std::uint32_t code_point) {
  for (const Range& range : kUnsafe) {
    if (code_point >= range.first && code_point <= range.last) return true;
  }
  return false;
}

}  // namespace

std::string safe_text(std::string_view text, std::size_t characters_max) {
  std::string out;
  for (std::size_t count = 0; !text.empty(); ++count) {
    if (count == characters_max) return out + "...";
    const Utf8Character character = first_character(text);
    const std::size_t length = character.length == 0 ? 1 : character.length;
    const std::string_view bytes = text.substr(0, length);
    text.remove_prefix(length);
    if (character.length > 0 && !is_unsafe(character.code_point)) {
      out += bytes;
    } else if (bytes == "\n") {
      out += "\\n";
    } else if (bytes == "\t") {
      out += "\\t";
    } else {
      for (const char byte : bytes) {
        out += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(byte));
      }
    }
  }
  return out;
}

}  // namespace weft
