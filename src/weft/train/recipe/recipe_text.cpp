#include "weft/train/recipe/recipe_text.h"

#include <fmt/format.h>

namespace weft {
namespace {

enum class Place : std::uint8_t { kPlain, kComment, kBasicString, kLiteralString };

// Follows the text as a TOML parser does, character by character.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // "" or what is wrong at line().
  std::string_view run() {
    for (at_ = 0; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') {
        place_ = Place::kPlain;
        ++line_;
      } else if (const std::string_view fault = step(text_[at_]); !fault.empty()) {
        return fault;
      }
    }
    return {};
  }
  int line() const { return line_; }

 private:
  std::string_view step(char c) {
    switch (place_) {
      case Place::kComment:
        return {};
      case Place::kBasicString:
        if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
        if (c == '"') place_ = Place::kPlain;
        return {};
      case Place::kLiteralString:
        if (c == '\'') place_ = Place::kPlain;
        return {};
      case Place::kPlain:
        return plain(c);
    }
    return {};
  }

  std::string_view plain(char c) {
    if (static_cast<unsigned char>(c) >= 0x80) {
      return "a character beyond ASCII outside of a comment or string; put it in quotes";
    }
    if (c == '#') place_ = Place::kComment;
    if (c != '"' && c != '\'') return {};
    if (text_.substr(at_, 3) == std::string_view(c == '"' ? "\"\"\"" : "'''")) {
      return "a string of several lines; no key takes one";
    }
    place_ = c == '"' ? Place::kBasicString : Place::kLiteralString;
    return {};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  Place place_ = Place::kPlain;
};

}  // namespace

Status check_recipe_text(std::string_view text, std::string_view file_name) {
  if (text.size() > kRecipeTextBytesMax) {
    return invalid_argument(fmt::format("{}: expected at most {} bytes, got {}", file_name,
                                        kRecipeTextBytesMax, text.size()));
  }
  Scanner scanner(text);
  const std::string_view fault = scanner.run();
  if (fault.empty()) return {};
  return invalid_argument(fmt::format("{}:{}: {}", file_name, scanner.line(), fault));
}

}  // namespace weft
