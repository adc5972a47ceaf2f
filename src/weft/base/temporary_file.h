// Temporary files: written beside a file until they replace it.
//
// The names of those that are being written are in a table that a signal handler may read, so that
// a process that ends at once leaves none behind. Files of a killed process are recognised by their
// names, FILE.tmpPID-N.
//
// Threads: any. Fails: as below; if more than sixteen are written at once, the handler does not see
// the others.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft {

// A name beside `path` that this process has not used before, in the table while this exists.
class TemporaryName {
 public:
  explicit TemporaryName(const std::string& path);
  ~TemporaryName();
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int place_;  // in the table; -1: it was full
};

// Removes the files that are being written now. For the handler of a signal that ends the process:
// later writes are invalid.
void remove_temporaries_at_once();

// Removes from `folder` each regular file FILE.tmpPID-N for whose name FILE `is_ours` holds, and
// whose process has ended. Failures are ignored: such files are harmless.
void remove_stale_temporaries(const std::string& folder,
                              const std::function<bool(std::string_view file)>& is_ours);

}  // namespace weft
