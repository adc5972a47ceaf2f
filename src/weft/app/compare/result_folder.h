// ResultFolder: the folder of one comparison: the results of its runs, and the report.
//
//   DIR/.weft-compare    marks the folder as ours; locked while a comparison uses it
//   DIR/runs/*.json      one ComparedRun each, named after contender, seed and key
//   DIR/programs/*/      what the program of a recipe has written in its last run
//   DIR/...              the files of the report
//
// A folder that has files but no mark belongs to somebody else and is refused before anything is
// written. Each file is written completely or not at all, so an interrupted comparison finds the
// earlier results unharmed.
//
// Where it stands: compare_command.h -> here -> base/file.h. Threads: one owner.
// Fails: kUnavailable with the path, the system's reason and the remedy.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weft/app/compare/compared_run.h"
#include "weft/base/status.h"

namespace weft {

class ResultFolder {
 public:
  static Result<ResultFolder> open(const std::string& path);
  ~ResultFolder();
  ResultFolder(ResultFolder&& other) noexcept;
  ResultFolder& operator=(ResultFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string run_path(const ComparedRun& run) const;

  // The kept result with the contender, the seed and the key of `wanted`. Nothing if there is none,
  // or if its file is damaged or another's; then `complaint`, if not null, gets the reason.
  std::optional<ComparedRun> load(const ComparedRun& wanted, std::string* complaint) const;
  Status save(const ComparedRun& result) const;
  // An empty folder, an absolute path, for the program of this run; what an earlier run of the same
  // key has left there is removed.
  Result<std::string> fresh_program_folder(const ComparedRun& run) const;
  // A file of the report; `name` may begin with "plots/".
  Status write(const std::string& name, std::string_view text) const;

 private:
  // "CONTENDER-seedN-KEY", for file names.
  static std::string stem_of(const ComparedRun& run);

  ResultFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_ = -1;
};

}  // namespace weft
