#include "weft/train/data/data_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "weft/train/recipe/recipe_data.h"

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

bool is_tokenizer_path(const std::string& tokenizer) {
  return tokenizer != "byte" && tokenizer != "character" && !tokenizer.starts_with("bpe:");
}

// As a person's own recipe has it: the file as it was given, or below the data folder.
Result<std::string> own_file(const PathKey& key, const std::string& path,
                             const DataPlaces& places) {
  std::error_code failed;
  if (fs::exists(path, failed)) return path;
  const fs::path below = fs::path(places.data_dir) / path;
  if (!places.data_dir.empty() && fs::exists(below, failed)) return below.string();
  const bool absolute = fs::path(path).is_absolute();
  std::string places_tried = absolute ? "there" : "in this folder";
  if (!absolute && !places.data_dir.empty()) places_tried += " nor below " + places.data_dir;
  return unavailable(fmt::format(
      "{}: the recipe reads \"{}\", which is not {}; put it there, set WEFT_DATA_DIR to the folder "
      "that it is below, or say which to take: {} PATH",
      key.name, path, places_tried, key.flag));
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

// As deep as readers look into a folder: train/CLASS/FILE.
constexpr int kFoldersDeep = 2;

// A link in `folder`, or in folders below it, that leads out of `root`; or "".
std::string link_leading_out(const fs::path& root, const fs::path& folder, int deep) {
  std::error_code failed;
  fs::directory_iterator at(folder, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    std::error_code unknown;
    const fs::path target =
        at->is_symlink(unknown) ? fs::weakly_canonical(at->path(), unknown) : at->path();
    if (unknown || !is_below(root, target)) return at->path().filename().string();
    if (deep == 0 || !fs::is_directory(target, unknown)) continue;
    std::string inner = link_leading_out(root, target, deep - 1);
    if (!inner.empty()) return inner;
  }
  return "";
}

// What others' recipe calls `path`. The path that comes back has no links left to follow.
Result<std::string> foreign_file(const PathKey& key, const std::string& path,
                                 const DataPlaces& places) {
  const std::string folder = data_folder(places);
  if (fs::path(path).is_absolute()) return refused(key, path, "an absolute path", folder);
  if (folder.empty()) return refused(key, path, "and there is no data folder here", folder);
  std::error_code failed;
  // A data folder that nobody has made yet is one where the file is missing.
  const fs::path root = fs::weakly_canonical(fs::absolute(folder, failed), failed);
  if (failed) return refused(key, path, "and the data folder cannot be read", folder);
  const fs::path found = fs::weakly_canonical(root / path, failed);
  if (failed) return refused(key, path, "which cannot be followed: " + failed.message(), folder);
  if (!is_below(root, found)) {
    return refused(key, path, fmt::format("which leads out of {} to {}", folder, found.string()),
                   folder);
  }
  if (!fs::exists(found, failed)) {
    return unavailable(
        fmt::format("{}: the run reads \"{}\" below the data folder {} (WEFT_DATA_DIR), where it "
                    "is not; put it "
                    "there, or say which to take: {} PATH",
                    key.name, path, folder, key.flag));
  }
  const std::string leading_out = link_leading_out(root, found, kFoldersDeep);
  if (leading_out.empty()) return found.string();
  return refused(key, path, "where the link " + leading_out + " leads out", folder);
}

Result<std::string> find_one(const PathKey& key, const std::string& path, const std::string& chosen,
                             const DataPlaces& places) {
  if (!chosen.empty()) return chosen;
  if (places.foreign_recipe) return foreign_file(key, path, places);
  return own_file(key, path, places);
}

// Whether the folder that a person chose is the data, and not one that they are below.
bool is_chosen_folder(const Recipe& recipe, const DataPlaces& places) {
  if (places.folder.empty()) return false;
  const std::string& name = recipe.data.name;
  if (name != "images" && name != "text" && name != "tokens") return false;
  const fs::path path = recipe.data.path;
  std::error_code failed;
  return path.is_absolute() || !fs::exists(fs::path(places.folder) / path, failed);
}

}  // namespace

Result<DataFiles> find_data_files(const Recipe& recipe, const DataPlaces& places) {
  DataFiles files;
  if (reads_own_data(recipe)) {
    const std::string chosen = is_chosen_folder(recipe, places) ? places.folder : places.data;
    WEFT_TRY_ASSIGN(files.data, find_one(kDataKey, recipe.data.path, chosen, places));
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
