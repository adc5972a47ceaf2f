#include "weft/train/recipe/toml_document.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "weft/train/recipe/recipe_text.h"

namespace weft {

Result<std::string> read_recipe_text(const std::string& path) {
  constexpr std::string_view kSuchAs =
      "give the path of a recipe, such as recipes/synthetic_mlp.toml";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return invalid_argument(fmt::format("{}: is a folder; {}", path, kSuchAs));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) {
    const std::string why = errno != 0 ? std::generic_category().message(errno) : "unknown reason";
    return invalid_argument(fmt::format("{}: cannot be read ({}); {}", path, why, kSuchAs));
  }
  if (text.empty()) {
    return invalid_argument(fmt::format("{}: is empty; {}", path, kSuchAs));
  }
  return text;
}

Result<toml::table> parse_toml(std::string_view text, std::string_view file_name) {
  WEFT_TRY(check_recipe_text(text, file_name));
  toml::parse_result parsed = toml::parse(text, file_name);
  if (!parsed) {
    return invalid_argument(fmt::format("{}:{}: {}", file_name, parsed.error().source().begin.line,
                                        parsed.error().description()));
  }
  return std::move(parsed).table();
}

std::string toml_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + "\"";
}

}  // namespace weft
