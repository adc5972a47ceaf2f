#include "weft/train/checkpoints.h"

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "weft/io/checkpoint.h"

namespace weft {

Result<SavedCheckpoint> Checkpoints::save(Trainer& trainer) {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    return unavailable(
        fmt::format("{}: cannot be made ({}); no checkpoint is written", folder_, error.message()));
  }
  SavedCheckpoint saved;
  saved.step = trainer.steps_done();
  saved.path = checkpoint_path(folder_, saved.step);
  WEFT_TRY(save_checkpoint(saved.path, trainer.arena(), trainer.checkpoint_info(run_id_)));
  // Those of later steps belong to a history that the group did not go on with.
  const std::vector<std::string> all = list_checkpoints(folder_);
  for (auto later = all.rbegin(); later != all.rend() && *later != saved.path; ++later) {
    std::filesystem::rename(*later, *later + ".aside", error);
  }
  WEFT_TRY(prune_checkpoints(folder_, keep_));
  saved.bytes = std::filesystem::file_size(saved.path, error);
  return saved;
}

Result<std::optional<SavedCheckpoint>> Checkpoints::load_newest(Trainer& trainer) const {
  const std::vector<std::string> paths = list_checkpoints(folder_);
  if (paths.empty()) return std::optional<SavedCheckpoint>();
  WEFT_TRY(load_checkpoint_into(paths.back(), trainer));
  SavedCheckpoint found;
  found.path = paths.back();
  found.step = trainer.steps_done();
  return std::optional<SavedCheckpoint>(found);
}

Result<Recipe> checkpoint_recipe(const std::string& path) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_checkpoint(path));
  const Result<CheckpointInfo> info = read_state_info(bytes);
  if (!info.ok()) return info.status().with_context(path);
  return parse_recipe(info->recipe, path);
}

Status load_checkpoint_into(const std::string& path, Trainer& trainer) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_checkpoint(path));
  WEFT_TRY_ASSIGN(const CheckpointInfo info, read_state_info(bytes));
  WEFT_TRY_ASSIGN(const Recipe recipe, parse_recipe(info.recipe, path));
  if (const std::string key = first_difference(recipe, trainer.recipe()); !key.empty()) {
    return invalid_argument(
        fmt::format("{}: was trained with another {}; resume with the recipe it began with, or "
                    "choose another --out",
                    path, key));
  }
  return trainer.decode(bytes).with_context(path);
}

}  // namespace weft
