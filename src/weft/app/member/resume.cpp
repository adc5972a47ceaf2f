#include "weft/app/member/resume.h"

#include <filesystem>
#include <vector>

#include <fmt/format.h>

namespace weft {
namespace {

std::string name_of(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

bool person_agrees(const AskPerson& ask, const std::string& damage, const std::string& older) {
  if (!ask) return false;
  const std::optional<std::string> line = ask(fmt::format(
      "{}\nGo on from {} instead, and set the damaged file aside? [y/N] ", damage, older));
  return line.has_value() && (*line == "y" || *line == "Y" || *line == "yes");
}

}  // namespace

Result<std::optional<SavedCheckpoint>> load_to_resume(const Checkpoints& checkpoints,
                                                      Trainer& trainer,
                                                      const ResumeOptions& options) {
  for (;;) {
    auto loaded = checkpoints.load_newest(trainer);
    if (loaded.ok() || loaded.status().code() != Code::kCorrupt) return loaded;
    const std::string& damage = loaded.status().message();
    const std::vector<std::string> paths = checkpoints.paths();
    if (paths.size() < 2) {
      return corrupt(damage +
                     "; there is no older one in the folder: without --resume the run begins "
                     "anew");
    }
    const std::string older = name_of(paths[paths.size() - 2]);
    if (!options.older_agreed && !person_agrees(options.ask, damage, older)) {
      return corrupt(
          fmt::format("{}; --resume=older sets it aside and goes on from {}", damage, older));
    }
    WEFT_TRY_ASSIGN(const std::string aside, checkpoints.set_newest_aside());
    if (options.note) options.note(fmt::format("{}; it was renamed to {}", damage, aside));
  }
}

std::vector<std::string> kept_checkpoints(const OutFolder& out) {
  return Checkpoints(out.checkpoints_path(), 1, "").paths();
}

Status unsaved(const Status& reason, std::int64_t steps, const OutFolder& out) {
  const std::vector<std::string> kept = kept_checkpoints(out);
  return unavailable(fmt::format(
      "no checkpoint was written after step {}: {}; {}", steps, reason.message(),
      kept.empty() ? "there is none of an earlier step" : "the newest one is " + kept.back()));
}

}  // namespace weft
