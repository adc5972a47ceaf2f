#include "weft/train/run/checkpoints.h"

#include <cerrno>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "weft/codec/codec.h"
#include "weft/collective/codec/residual_file.h"
#include "weft/io/checkpoint.h"

namespace weft {
namespace {

enum class Numbers : std::uint8_t { kFinite, kWhatever };

// That a state was trained on data like the trainer's. Both are as files say them, where bytes that
// are no UTF-8 are replaced.
Status check_data(const CardTexts& file, const CardTexts& trainer) {
  if (file.model.empty() || trainer.model.empty()) return {};
  WEFT_TRY_ASSIGN(const ModelCard was, parse_card(file));
  WEFT_TRY_ASSIGN(const ModelCard now, parse_card(trainer));
  const std::string other = data_difference(was.data, now.data);
  if (other.empty()) return {};
  return invalid_argument(
      fmt::format("was trained on data with other {}; resume with the data it began with, or "
                  "choose another --out",
                  other));
}

// What the file says about itself.
Result<CheckpointInfo> load_file(const std::string& path, Trainer& trainer, Numbers numbers) {
  WEFT_TRY_ASSIGN(CheckpointFile file, open_checkpoint(path));
  WEFT_TRY_ASSIGN(const Recipe recipe, parse_recipe(file.info.recipe, path));
  if (const std::string key = first_difference(recipe, trainer.recipe()); !key.empty()) {
    return invalid_argument(
        fmt::format("{}: was trained with another {}; resume with the recipe it began with, or "
                    "choose another --out",
                    path, key));
  }
  WEFT_TRY(damaged_checkpoint(path, check_data(file.info.card, trainer.checkpoint_info("").card)));
  if (numbers == Numbers::kFinite) {
    if (const Status finite = check_finite(file.bytes); !finite.ok()) {
      return damaged_checkpoint(path, finite);
    }
  }
  WEFT_TRY(damaged_checkpoint(path, trainer.decode(file.bytes)));
  return std::move(file.info);
}

}  // namespace

Status Checkpoints::make_folder() const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (!error) return {};
  return unavailable(
      fmt::format("{}: cannot be made ({}); no checkpoint is written", folder_, error.message()));
}

Status Checkpoints::save_candidate(Trainer& trainer) {
  has_candidate_ = false;
  WEFT_TRY(make_folder());
  WEFT_TRY(save_checkpoint(candidate_path(), trainer.arena(), trainer.checkpoint_info(run_id_)));
  has_candidate_ = true;
  return {};
}

Status Checkpoints::settle_candidate(bool is_best) {
  if (!std::exchange(has_candidate_, false)) return {};
  std::error_code error;
  if (is_best) {
    std::filesystem::rename(candidate_path(), best_path(), error);
  } else {
    std::filesystem::remove(candidate_path(), error);
  }
  if (!error) return {};
  return unavailable(fmt::format("{}: {}", candidate_path(), error.message()));
}

Result<SavedCheckpoint> Checkpoints::save(Trainer& trainer) {
  WEFT_TRY(make_folder());
  std::error_code error;
  SavedCheckpoint saved;
  saved.step = trainer.steps_done();
  saved.path = checkpoint_path(folder_, saved.step);
  WEFT_TRY(save_checkpoint(saved.path, trainer.arena(), trainer.checkpoint_info(run_id_)));
  // Those of later steps belong to a history that the group did not go on with.
  const std::vector<std::string> all = list_checkpoints(folder_);
  for (auto later = all.rbegin(); later != all.rend() && *later != saved.path; ++later) {
    std::filesystem::rename(*later, *later + ".aside", error);
  }
  saved.pruned = prune_checkpoints(folder_, keep_);
  saved.bytes = std::filesystem::file_size(saved.path, error);
  return saved;
}

Result<std::optional<SavedCheckpoint>> Checkpoints::load_newest(Trainer& trainer) const {
  const std::vector<std::string> all = paths();
  if (all.empty()) return std::optional<SavedCheckpoint>();
  WEFT_TRY_ASSIGN(const CheckpointInfo info, load_file(all.back(), trainer, Numbers::kFinite));
  SavedCheckpoint found;
  found.path = all.back();
  found.step = trainer.steps_done();
  found.run_id = info.run_id;
  return std::optional<SavedCheckpoint>(found);
}

Status Checkpoints::save_residual(const Recipe& recipe, RoundExchange& exchange) const {
  WEFT_TRY_ASSIGN(const Codec codec, Codec::parse(recipe.group.wire));
  if (codec.hop_precision()) return {};
  WEFT_TRY_ASSIGN(const ResidualState state, exchange.residual_state());
  return write_residual_file(residual_path(), codec, state);
}

std::vector<std::string> Checkpoints::paths() const { return list_checkpoints(folder_); }

Result<std::string> Checkpoints::set_newest_aside() const {
  const std::vector<std::string> all = paths();
  if (all.empty()) return unavailable(folder_ + ": no checkpoint is there");
  std::string aside = all.back() + ".damaged";
  std::error_code error;
  std::filesystem::rename(all.back(), aside, error);
  if (error) return unavailable(fmt::format("{}: {}", aside, error.message()));
  return aside;
}

Result<Recipe> checkpoint_recipe(const std::string& path) {
  WEFT_TRY_ASSIGN(const CheckpointFile file, open_checkpoint(path));
  return parse_recipe(file.info.recipe, path);
}

Status load_checkpoint_into(const std::string& path, Trainer& trainer) {
  return load_file(path, trainer, Numbers::kWhatever).status();
}

}  // namespace weft
