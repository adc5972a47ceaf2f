#include "weft/wire/printable.h"

#include <algorithm>

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

}  // namespace weft
