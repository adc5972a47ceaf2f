// The flags of `weft bench train`, `weft bench forward` and `weft bench allreduce`.
//
// Threads: the main thread. Fails: as the commands do (tool_commands.h).
#pragma once

#include "weft/app/tool_commands.h"

namespace CLI {
class App;
}  // namespace CLI

namespace weft {

struct BenchRequest {
  BenchTrainRequest train;
  BenchForwardRequest forward;
  BenchAllReduceRequest all_reduce;
};

// Adds `weft bench` to `app`; what its commands end with goes to `code`.
void add_bench_commands(CLI::App& app, BenchRequest& request, ExitCode& code);

}  // namespace weft
