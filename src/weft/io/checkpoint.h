// Checkpoint: a model's whole state, parameters and optimizer, as safetensors bytes.
//
// Where it stands: the trainer saves one now and then and a run resumes from it; a newcomer gets
// the same bytes from members. The tensors are the parameters and buffers under their own names
// ("conv1.weight"), then each optimizer state as "optimizer/STATE/NAME"; the metadata are the
// fields of CheckpointInfo, the hash of the layout and the digests of safetensors_digest.h, which
// are checked before anything is taken over. No time, no path: equal states give equal bytes on
// every peer. What members send each other has no CardTexts, which are of each one's own data.
// Threads: the thread that owns the arena.
// Fails: kCorrupt for bytes that are no checkpoint, kInvalidArgument where it is one of another
// model or optimizer, kUnavailable where the system refuses.
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

// What a model is besides its parameters, as io/model_file.h writes and reads it; empty in files of
// older releases, and in what members send each other.
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
  std::string shares = {};      // how members split a batch; empty: equally
  std::string validation = {};  // what was measured so far (train/validation.h); empty: nothing
  CardTexts card = {};
  std::string data_mark = {};  // of the training data (train/data_mark.h); empty: not compared
  // False for a file of an older release, in which an altered byte goes unnoticed.
  bool has_digests = true;
  friend bool operator==(const CheckpointInfo&, const CheckpointInfo&) = default;
};

enum class LoadState {
  kAll,         // to go on training
  kParameters,  // to evaluate: whatever optimizer state there is, is left out
};

// The state as bytes; the second with those of the arena's states alone that `states` names.
Bytes serialise_state(const ParameterArena& arena, const CheckpointInfo& info);
Bytes serialise_state(const ParameterArena& arena, const CheckpointInfo& info,
                      std::span<const std::string> states);
// What the bytes say about themselves, so that the model can be built from the recipe first. The
// header is checked, the tensors are when they are loaded.
Result<CheckpointInfo> read_state_info(ByteSpan bytes);
// kCorrupt, naming the first tensor, where a value is infinite or not a number.
Status check_finite(ByteSpan bytes);
// Copies the state into the arena, all of it or, on failure, nothing. With kAll the arena must
// have been given to the optimizer, so that its states are there; the caller sets its steps.
Result<CheckpointInfo> load_state(ByteSpan bytes, ParameterArena& arena,
                                  LoadState what = LoadState::kAll);
// The same with those of the arena's states alone that `states` names, which are all that the bytes
// hold; the others stay as they are.
Result<CheckpointInfo> load_state(ByteSpan bytes, ParameterArena& arena,
                                  std::span<const std::string> states);

// Replaces `path` so that a crash leaves the old or the new file. Writes from the arena, without
// a copy in memory.
Status save_checkpoint(const std::string& path, const ParameterArena& arena,
                       const CheckpointInfo& info);
Result<Bytes> read_checkpoint(const std::string& path);
struct CheckpointFile {
  Bytes bytes;
  CheckpointInfo info;
};
// The file and what it says about itself; one without digests is logged as such.
Result<CheckpointFile> open_checkpoint(const std::string& path);
// `reason` with the path before it and, of kCorrupt, what to do about it behind it.
Status damaged_checkpoint(const std::string& path, const Status& reason);

// A folder with one checkpoint a file, "checkpoint-STEP.safetensors".
std::string checkpoint_path(const std::string& folder, std::int64_t step);
// The one that was best on the test set, with checkpoint.keep_best.
std::string best_checkpoint_path(const std::string& folder);
// What `path` stands for: a file stands for itself; of a run's folder, or the folder "checkpoints"
// in it, the newest one that is whole and has only finite numbers. Those passed over are logged,
// and which one was taken where the best on the test set was kept too; that one is taken where no
// other is there.
Result<std::string> find_checkpoint(const std::string& path);
// Oldest step first; empty if the folder is not there.
std::vector<std::string> list_checkpoints(const std::string& folder);
// Removes all but the newest `keep` >= 1, and what processes that were killed had begun to write.
Status prune_checkpoints(const std::string& folder, std::int64_t keep);

}  // namespace weft
