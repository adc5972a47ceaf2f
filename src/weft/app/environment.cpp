#include "weft/app/environment.h"

#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace weft {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> weft_variables() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (text.substr(0, 5) != "WEFT_" || equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

DataPlaces data_places() { return {variable("WEFT_DATA_DIR"), variable("HOME")}; }

}  // namespace weft
