// Checkpoints: the state on disk, OUT/checkpoints/checkpoint-N.safetensors, the newest few kept.
//
// Where it stands: run loop -> Checkpoints -> io. Threads: the training thread.
// Fails: kUnavailable on a full or read-only disk, kCorrupt on a damaged file (the message has its
// path, what is wrong and what to do), kInvalidArgument where the recipe differs from the one that
// the state was trained with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/io/checkpoint.h"
#include "weft/train/exchange/round_exchange.h"
#include "weft/train/run/trainer.h"

namespace weft {

struct SavedCheckpoint {
  std::string path;
  std::int64_t step = 0;
  std::uint64_t bytes = 0;
  std::string run_id = {};  // of the run that it was saved in, hexadecimal; of those loaded
  Status pruned = {};       // whether older ones could be removed; of those saved
};

class Checkpoints {
 public:
  // `folder` is made when the first checkpoint is written. `keep` >= 1.
  Checkpoints(std::string folder, std::int64_t keep, std::string run_id)
      : folder_(std::move(folder)), keep_(keep), run_id_(std::move(run_id)) {}

  // Writes the trainer's state, sets those of later steps aside and removes all but the newest
  // `keep`.
  Result<SavedCheckpoint> save(Trainer& trainer);
  // For checkpoint.keep_best: writes the trainer's state beside the best one, of which it is not
  // yet known whether it is better; then settle_candidate() makes it the best, or removes it.
  // Nothing becomes of one that could not be written.
  Status save_candidate(Trainer& trainer);
  Status settle_candidate(bool is_best);
  std::string best_path() const { return best_checkpoint_path(folder_); }
  // What this member's codec had dropped when the newest one was written, which is no part of the
  // state.
  std::string residual_path() const { return folder_ + "/residual"; }
  // Does nothing where the recipe's codec stands per hop.
  Status save_residual(const Recipe& recipe, RoundExchange& exchange) const;
  // Loads the newest into `trainer`, to train on. Nothing if there is none; `bytes` stays 0. Fails
  // also with kCorrupt where a value is no finite number, which no training mends.
  Result<std::optional<SavedCheckpoint>> load_newest(Trainer& trainer) const;
  // The paths of all, oldest step first.
  std::vector<std::string> paths() const;
  // Renames the newest to PATH.damaged, so that the one before it is the newest; its new path.
  Result<std::string> set_newest_aside() const;

 private:
  Status make_folder() const;
  std::string candidate_path() const { return best_path() + ".candidate"; }

  const std::string folder_;
  const std::int64_t keep_;
  const std::string run_id_;
  bool has_candidate_ = false;
};

// The recipe that a checkpoint was trained with.
Result<Recipe> checkpoint_recipe(const std::string& path);
// Fails: kInvalidArgument if the trainer's recipe differs in more than length, group or
// checkpoint keys.
Status load_checkpoint_into(const std::string& path, Trainer& trainer);

}  // namespace weft
