#include "weft/app/chart/markup.h"

#include <cmath>

#include <fmt/format.h>

#include "weft/base/printable.h"

namespace weft {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

}  // namespace

std::string escaped_markup(std::string_view text) {
  std::string out;
  for (const char character : printable_lines(text)) {
    switch (character) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += character;
    }
  }
  return out;
}

std::string coordinate_text(double pixels) {
  if (!std::isfinite(pixels)) return "0";
  std::string text = fmt::format("{:.2f}", pixels);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) count += begins_character(byte) ? 1 : 0;
  return count;
}

std::string shortened(std::string_view text, std::size_t characters_max) {
  if (character_count(text) <= characters_max) return std::string(text);
  std::size_t end = 0;
  for (std::size_t count = 0; end < text.size(); ++end) {
    if (begins_character(text[end]) && ++count == characters_max) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace weft
