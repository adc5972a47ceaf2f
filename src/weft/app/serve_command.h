// `weft serve`: answers HTTP requests with the model of a checkpoint, until Ctrl-C or SIGTERM.
//
// Threads: the main thread. Fails: the reason goes to standard error, the code is exit_code.h's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/exit_code.h"

namespace weft {

struct ServeRequest {
  std::string checkpoint;
  DataChoice data;
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::vector<std::string> allowed_hosts;
  int threads = 1;
  std::string weights = "f32";
  std::int64_t batch_max = 32;
  double batch_wait_ms = 0.0;
  std::uint64_t body_max = std::uint64_t{4} << 20U;
  std::uint64_t connections_max = 4096;
  std::int64_t tokens_max = 1024;
  bool json = false;
};
// Prints one line once it listens: "listening on http://HOST:PORT (MODEL, ...)", or with `json`
// {"url", "host", "port", "model", "parameters", "step"}.
ExitCode serve_command(const ServeRequest& request);

}  // namespace weft
