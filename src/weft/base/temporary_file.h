// Temporary files: what is written beside a file until it takes the file's place.
//
// The names of those that are being written stand in a table that the handler of a signal may read,
// so that a process that ends at once leaves none behind. What a killed process has left is known
// by its name, FILE.tmpPID-N.
//
// Threads: any. Fails: as below; where more than sixteen are written at once, the handler does not
// see the others.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace weft {

// A name beside `path` that this process has not used before, in the table while this lives.
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

// Removes what is being written now. For the handler of a signal that ends the process: nothing
// that is written after it is good.
void remove_temporaries_at_once();

// Removes from `folder` each regular file FILE.tmpPID-N for whose name FILE `is_ours` holds, and
// whose process has ended. Failures are passed over: such files harm nobody.
void remove_stale_temporaries(const std::string& folder,
                              const std::function<bool(std::string_view file)>& is_ours);

}  // namespace weft
