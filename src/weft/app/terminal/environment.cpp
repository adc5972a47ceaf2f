#include "weft/app/terminal/environment.h"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <unistd.h>

#include "weft/base/file.h"
#include "weft/data/open_path.h"

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

DataPlaces data_places(const DataChoice& choice) {
  DataPlaces places = {environment_variable("WEFT_DATA_DIR"), environment_variable("HOME")};
  places.tokenizer = choice.tokenizer;
  if (is_folder(choice.data) && array_file(choice.data, 'x').empty()) {
    places.data_dir = choice.data;
    places.folder = choice.data;
  } else {
    places.data = choice.data;
  }
  return places;
}

DataPlaces foreign_data_places(const DataChoice& choice) {
  DataPlaces places = data_places(choice);
  places.foreign_recipe = true;
  return places;
}

void restart_with_short_spin(char** argv) {
  const bool chosen = !environment_variable("OMP_WAIT_POLICY").empty() ||
                      !environment_variable("GOMP_SPINCOUNT").empty();
  // OpenMP reads it when the program is loaded, and no other thread runs yet.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (chosen || setenv("GOMP_SPINCOUNT", "100", 1) != 0) return;
  std::error_code fault;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", fault);
  if (!fault) execv(program.c_str(), argv);
}

}  // namespace weft
