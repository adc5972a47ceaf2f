// LocalPeers: the further peers that `weft run --peers N` starts on this machine.
//
// Each one runs this program with `join` and its own folder inside OUT, and is a full member.
// Signals that ask this process to end are passed on to them, and they leave the run when it dies:
// a command leaves no processes behind. Threads: one owner, the main thread. Fails: start() with
// kUnavailable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/app/folder/out_folder.h"
#include "weft/app/member/child_process.h"
#include "weft/app/terminal/environment.h"
#include "weft/base/status.h"
#include "weft/train/event/event_log.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

class LocalPeers {
 public:
  // Starts peers 2 to `count` with this ticket; `flags` go to each of them.
  static Result<std::unique_ptr<LocalPeers>> start(const OutFolder& out, const std::string& ticket,
                                                   int count, std::vector<std::string> flags,
                                                   EventLog& log);
  // Waits until all have ended and reports those that failed; kills those that still run at the
  // deadline.
  void wait(Duration limit, const Clock& clock, EventLog& log);

 private:
  std::vector<std::unique_ptr<ChildProcess>> children_;
};

// The flags by which a local peer takes the files that the person's own recipe means here.
Result<std::vector<std::string>> local_peer_flags(const Recipe& recipe, const DataChoice& choice);

// Compute threads for each of `peers` processes on this machine; at least 1.
int threads_for(int peers);

}  // namespace weft
