#include "weft/wire/printable.h"

#include <algorithm>

#include "weft/base/printable.h"
#include "weft/base/utf8.h"

namespace weft {

namespace {

bool is_printable(char letter) { return letter >= ' ' && letter <= '~'; }

}  // namespace

std::string to_printable(std::string_view text, std::size_t limit) {
  std::string out(text.substr(0, limit));
  std::replace_if(
      out.begin(), out.end(), [](char letter) { return !is_printable(letter); }, '?');
  return out;
}

std::string read_printable(Reader& in, std::string_view field, std::size_t limit) {
  std::string text = in.text(field, limit);
  if (!std::all_of(text.begin(), text.end(), is_printable)) {
    in.fail(field, "expected printable ASCII");
    return {};
  }
  return text;
}

std::string to_printable_name(std::string_view name, std::size_t limit) {
  std::string out;
  while (!name.empty()) {
    const std::size_t length = std::max<std::size_t>(1, first_character(name).length);
    const std::string_view character = name.substr(0, length);
    const std::string_view kept = is_printable_text(character) ? character : "?";
    if (out.size() + kept.size() > limit) break;
    out += kept;
    name.remove_prefix(length);
  }
  return out;
}

std::string read_printable_name(Reader& in, std::string_view field, std::size_t limit) {
  std::string name = in.text(field, limit);
  if (!is_printable_text(name)) {
    in.fail(field, "expected printable UTF-8");
    return {};
  }
  return name;
}

}  // namespace weft
