#include "weft/train/run/checkpoint_run.h"

#include "weft/io/checkpoint.h"

namespace weft {

Result<std::string> newest_checkpoint_run(const std::string& folder) {
  const std::vector<std::string> paths = list_checkpoints(folder);
  if (paths.empty()) return std::string();
  WEFT_TRY_ASSIGN(const Bytes bytes, read_checkpoint(paths.back()));
  const Result<CheckpointInfo> info = read_state_info(bytes);
  if (!info.ok()) return info.status().with_context(paths.back());
  return info->run_id;
}

}  // namespace weft
