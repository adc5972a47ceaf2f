// AppendFile: a file to which only complete records are appended.
//
// If a record finds no room on the disk, the file is truncated to its beginning, so that the next
// record is in the right place; a file that cannot be truncated gets a separator before the next
// record.
//
// Threads: one owner. Fails: open() and append() with kUnavailable and the system's reason.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "weft/base/status.h"

namespace weft {

struct AppendFileOptions {
  unsigned mode = 0644;  // permission bits, also for an existing file
  // The end of a record; a file that does not end with it gets it before the first record. Empty:
  // records know their own lengths.
  std::string separator{};
  // Fail with kUnavailable if there is a file of that name.
  bool must_be_new = false;
};

class AppendFile {
 public:
  static Result<std::unique_ptr<AppendFile>> open(const std::string& path,
                                                  AppendFileOptions options);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // All of `record`, or nothing of it.
  Status append(std::string_view record);

 private:
  AppendFile(int file, AppendFileOptions options) : file_(file), options_(std::move(options)) {}
  // How much was written; less than all of it with errno.
  std::size_t write_some(std::string_view bytes) const;
  void look_at_end();

  const int file_;
  const AppendFileOptions options_;
  // A regular file, which can be cut.
  bool regular_ = false;
  bool torn_ = false;  // the last record is incomplete
};

}  // namespace weft
