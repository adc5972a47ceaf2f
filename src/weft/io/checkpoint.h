// Checkpoint: a model's whole state, parameters and optimizer, as safetensors bytes.
//
// Where it stands: the trainer saves one at intervals and a run resumes from it; a newcomer gets
// the same bytes from members. The tensors are the parameters and buffers under their own names
// ("conv1.weight"), then each optimizer state as "optimizer/STATE/NAME"; the metadata are the
// fields of CheckpointInfo, the hash of the layout and the digests of safetensors_digest.h, which
// are checked before anything is loaded. It contains no time and no path: equal states give equal
// bytes on every peer. The bytes that members exchange have no CardTexts, which describe each one's
// own data. Threads: the thread that owns the arena. Fails: kCorrupt for bytes that are no
// checkpoint, kInvalidArgument if it belongs to another model or optimizer, kUnavailable if the
// system refuses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kCheckpointBytesMax = std::size_t{16} << 30U;

// The description of a model besides its parameters, as io/model_file.h writes and reads it; empty
// in files of older releases, and in the bytes that members exchange.
struct CardTexts {
  std::string model = {};
  std::string data = {};
  std::string tokenizer = {};  // of texts, as Tokenizer::file_text() has it
  friend bool operator==(const CardTexts&, const CardTexts&) = default;
};

struct CheckpointInfo {
  std::string run_id = {};     // hexadecimal
  std::int64_t step = 0;       // steps done; the next to do
  std::string recipe = {};     // canonical text
  std::string optimizer = {};  // "sgd"
  std::int64_t optimizer_steps = 0;
  std::string shares = {};  // how members split a batch; empty: equally
  std::string validation =
      {};  // what was measured so far (train/recipe/validation.h); empty: nothing
  CardTexts card = {};
  std::string data_mark = {};  // of the training data (train/data/data_mark.h); empty: not compared
  // False for a file of an older release, in which an altered byte goes unnoticed.
  bool has_digests = true;
  friend bool operator==(const CheckpointInfo&, const CheckpointInfo&) = default;
};

enum class LoadState {
  kAll,         // to go on training
  kParameters,  // to evaluate: whatever optimizer state there is, is left out
};

// The state as bytes; the second function includes only those states of the arena that `states`
// names.
Bytes serialise_state(const ParameterArena& arena, const CheckpointInfo& info);
Bytes serialise_state(const ParameterArena& arena, const CheckpointInfo& info,
                      std::span<const std::string> states);
// Reads the description in the bytes, so that the model can first be built from the recipe. It
// checks the header; the tensors are checked when they are loaded.
Result<CheckpointInfo> read_state_info(ByteSpan bytes);
// kCorrupt, naming the first tensor, if a value is infinite or not a number.
Status check_finite(ByteSpan bytes);
// Copies the state into the arena: all of it or, on failure, nothing. With kAll the arena must have
// been given to the optimizer, so that its states exist; the caller sets its steps.
Result<CheckpointInfo> load_state(ByteSpan bytes, ParameterArena& arena,
                                  LoadState what = LoadState::kAll);
// The same for the arena's states that `states` names, which are all that the bytes hold; the
// others stay unchanged.
Result<CheckpointInfo> load_state(ByteSpan bytes, ParameterArena& arena,
                                  std::span<const std::string> states);

// Replaces `path` so that a crash leaves the old or the new file. It writes from the arena, without
// a copy in memory.
Status save_checkpoint(const std::string& path, const ParameterArena& arena,
                       const CheckpointInfo& info);
Result<Bytes> read_checkpoint(const std::string& path);
struct CheckpointFile {
  Bytes bytes;
  CheckpointInfo info;
};
// Reads a file and its description; a file without digests is logged as such.
Result<CheckpointFile> open_checkpoint(const std::string& path);
// Prefixes `reason` with the path and, if it is kCorrupt, appends the remedy.
Status damaged_checkpoint(const std::string& path, const Status& reason);

// A folder with one checkpoint a file, "checkpoint-STEP.safetensors".
std::string checkpoint_path(const std::string& folder, std::int64_t step);
// The checkpoint that was best on the test set, with checkpoint.keep_best.
std::string best_checkpoint_path(const std::string& folder);
// Finds the checkpoint for `path`: a file stands for itself; for a run's folder, or the folder
// "checkpoints" in it, it is the newest one that is intact and has only finite numbers. It logs
// those that it skips, and which one it took if the best on the test set was kept too; the best one
// is taken if there is no other.
Result<std::string> find_checkpoint(const std::string& path);
// Sorted by step; empty if the folder does not exist.
std::vector<std::string> list_checkpoints(const std::string& folder);
// Removes all but the newest `keep` >= 1, and unfinished files of killed processes.
Status prune_checkpoints(const std::string& folder, std::int64_t keep);

}  // namespace weft
