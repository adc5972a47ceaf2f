// `weft demo`: trains a CNN on several peers on this machine, kills one, lets another join.
//
// The peers are ordinary processes (`weft run`, `weft join`) that this one starts and whose events
// it reads; it takes no part in the training. After about a third of the run a randomly chosen peer
// gets SIGKILL; after about half of it a new one joins.
//
// Where it stands: main -> here -> ChildProcess. Threads: the main thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/app/terminal/exit_code.h"
#include "weft/base/time.h"

namespace weft {

struct DemoRequest {
  int peers = 4;
  std::string out = "weft-runs/demo";
  std::string recipe;                 // empty: the demo's own
  std::vector<std::string> settings;  // --set for the recipe
  bool json = false;
};

ExitCode demo_command(const DemoRequest& request, TimePoint started);

}  // namespace weft
