// Resume: the checkpoint from which a peer continues, also if the newest one is damaged.
//
// Where it stands: peer_command -> here -> train/run/checkpoints.h. Threads: the main thread.
// Fails: kCorrupt names the damaged file, what is wrong with it, and both ways to go on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/app/folder/find_run.h"
#include "weft/app/folder/out_folder.h"
#include "weft/base/status.h"
#include "weft/train/run/checkpoints.h"

namespace weft {

struct ResumeOptions {
  // --resume=older: where the newest is damaged, the one before it is taken.
  bool older_agreed = false;
  // Asks the person otherwise; empty if nobody can be asked.
  AskPerson ask = {};
  // Told which file was set aside, and why.
  std::function<void(const std::string& text)> note = {};
};

// Loads the newest checkpoint into `trainer`; nothing if there is none. If it is damaged, or has
// values that are not finite, it is renamed to PATH.damaged and the previous one is used, if the
// person agrees; otherwise nothing is renamed.
Result<std::optional<SavedCheckpoint>> load_to_resume(const Checkpoints& checkpoints,
                                                      Trainer& trainer,
                                                      const ResumeOptions& options);

// The checkpoints in a peer's folder, oldest step first.
std::vector<std::string> kept_checkpoints(const OutFolder& out);
// The message for a person if the state after the last of `steps` could not be written.
Status unsaved(const Status& reason, std::int64_t steps, const OutFolder& out);

}  // namespace weft
