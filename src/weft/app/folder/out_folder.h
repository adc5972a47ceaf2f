// OutFolder: the folder of one peer: its key, events, summary and checkpoints; locked while in use.
//
// Threads: one owner. Fails: kUnavailable where it cannot be made or another process uses it.
#pragma once

#include <string>

#include "weft/base/status.h"

namespace weft {

class OutFolder {
 public:
  // Makes the folder and locks it. Refused if a folder that no run has made contains a file that a
  // run writes.
  static Result<OutFolder> open(const std::string& path);
  // As open(); where another process uses `path`, tries path-2, path-3, ...
  static Result<OutFolder> open_free(const std::string& path);
  ~OutFolder();
  OutFolder(OutFolder&& other) noexcept;
  OutFolder& operator=(OutFolder&&) = delete;

  const std::string& path() const { return path_; }
  std::string identity_path() const { return path_ + "/identity"; }
  std::string events_path() const { return path_ + "/events.jsonl"; }
  std::string tensorboard_path() const { return path_ + "/tensorboard"; }
  std::string summary_path() const { return path_ + "/summary.json"; }
  // The record of its memberships: see collective/record_file.h.
  std::string record_path() const { return path_ + "/membership.record"; }
  std::string checkpoints_path() const { return path_ + "/checkpoints"; }
  // The folder of the local peer `number`, which this process starts.
  std::string peer_path(int number) const { return path_ + "/peer-" + std::to_string(number); }

  // Moves checkpoints of an earlier run out of the way of a new one; their new place, or "".
  Result<std::string> set_checkpoints_aside() const;

 private:
  // `in_use`: it failed because another process uses the folder.
  static Result<OutFolder> open(const std::string& path, bool& in_use);
  OutFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_ = -1;
};

}  // namespace weft
