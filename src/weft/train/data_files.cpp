#include "weft/train/data_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

// A path in a recipe: where it stands there, and how a person says another.
struct PathKey {
  const char* name;
  const char* flag;
};
constexpr PathKey kDataKey = {"data.path", "--data"};
constexpr PathKey kTokenizerKey = {"data.tokenizer", "--tokenizer"};

bool names_path(const Recipe& recipe) {
  const std::string& name = recipe.data.name;
  return name == "text" || name == "tokens" || name == "rows";
}

bool is_tokenizer_path(const std::string& tokenizer) {
  return tokenizer != "byte" && tokenizer != "character" && !tokenizer.starts_with("bpe:");
}

// As a person's own recipe has it: the file as it was given, or below the data folder.
std::string own_file(const std::string& path, const DataPlaces& places) {
  std::error_code failed;
  if (fs::exists(path, failed) || places.data_dir.empty()) return path;
  const fs::path below = fs::path(places.data_dir) / path;
  return fs::exists(below, failed) ? below.string() : path;
}

std::string data_folder(const DataPlaces& places) {
  if (!places.data_dir.empty()) return places.data_dir;
  return places.home.empty() ? std::string() : places.home + "/.cache/weft";
}

bool is_below(const fs::path& folder, const fs::path& path) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

Status refused(const PathKey& key, const std::string& path, const std::string& reason,
               const std::string& folder) {
  return invalid_argument(fmt::format(
      "{}: the run's recipe names \"{}\", {}; the recipe of others chooses no files of "
      "this machine: put the file below {}, or say which one to take: {} FILE",
      key.name, path, reason, folder.empty() ? "the folder of WEFT_DATA_DIR" : folder, key.flag));
}

// What others' recipe calls `path`. The path that comes back has no links left to follow.
Result<std::string> foreign_file(const PathKey& key, const std::string& path,
                                 const DataPlaces& places) {
  const std::string folder = data_folder(places);
  if (fs::path(path).is_absolute()) return refused(key, path, "an absolute path", folder);
  std::error_code failed;
  const fs::path root = folder.empty() ? fs::path() : fs::canonical(folder, failed);
  if (folder.empty() || failed) {
    return refused(key, path, "and there is no data folder here", folder);
  }
  const fs::path found = fs::weakly_canonical(root / path, failed);
  if (failed) return refused(key, path, "which cannot be followed: " + failed.message(), folder);
  if (!is_below(root, found)) {
    return refused(key, path, fmt::format("which leads out of {} to {}", folder, found.string()),
                   folder);
  }
  if (!fs::exists(found, failed)) {
    return unavailable(fmt::format(
        "{}: the run reads \"{}\" below the data folder {}, where it is not; put it there, or say "
        "which file to take: {} FILE",
        key.name, path, folder, key.flag));
  }
  for (const char* const part : {"x.npy", "y.npy"}) {  // of a folder of rows
    const fs::path inside = fs::weakly_canonical(found / part, failed);
    if (failed || is_below(root, inside)) continue;
    return refused(key, path + "/" + part, "which leads out to " + inside.string(), folder);
  }
  return found.string();
}

Result<std::string> find_one(const PathKey& key, const std::string& path, const std::string& chosen,
                             const DataPlaces& places) {
  if (!chosen.empty()) return chosen;
  if (places.foreign_recipe) return foreign_file(key, path, places);
  return own_file(path, places);
}

}  // namespace

Result<DataFiles> find_data_files(const Recipe& recipe, const DataPlaces& places) {
  DataFiles files;
  if (names_path(recipe)) {
    WEFT_TRY_ASSIGN(files.data, find_one(kDataKey, recipe.data.path, places.data, places));
  } else if (!places.data.empty()) {
    return invalid_argument(fmt::format(
        "--data {}: the recipe reads {}, which is no file of one's own; give the folder that its "
        "files are below, or leave --data out",
        places.data, recipe.data.name));
  }
  if (is_tokenizer_path(recipe.data.tokenizer)) {
    WEFT_TRY_ASSIGN(files.tokenizer,
                    find_one(kTokenizerKey, recipe.data.tokenizer, places.tokenizer, places));
  } else if (!places.tokenizer.empty()) {
    return invalid_argument(
        fmt::format("--tokenizer {}: the recipe's tokenizer is {}, which is no file; leave "
                    "--tokenizer out",
                    places.tokenizer, recipe.data.tokenizer));
  }
  return files;
}

std::vector<std::string> data_flags(const DataFiles& files) {
  std::vector<std::string> flags;
  if (!files.data.empty()) flags.insert(flags.end(), {kDataKey.flag, files.data});
  if (!files.tokenizer.empty()) {
    flags.insert(flags.end(), {kTokenizerKey.flag, files.tokenizer});
  }
  return flags;
}

}  // namespace weft
