#include "weft/app/environment.h"

#include <cstdlib>
#include <string_view>

#include <unistd.h>

namespace weft {

std::string environment_variable(const char* name) {
  // Nothing here writes the environment. NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

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

DataPlaces data_places() {
  return {environment_variable("WEFT_DATA_DIR"), environment_variable("HOME")};
}

}  // namespace weft
