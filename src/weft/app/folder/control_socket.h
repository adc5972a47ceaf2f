// ControlSocket: OUT/control.sock, through which the owner of a running peer controls it.
//
// A connection carries one line each way, a request and its answer. Only the user that runs the
// peer is admitted: the file has mode 0600, and the caller's user id is checked as well. A caller
// that is slow or sends too much is disconnected; callers are served one after another.
//
// Where it stands: `weft ticket` and similar commands -> here -> control_commands.h. Threads: one
// of its own, on which `answer` is called; it ends with this. Fails: kUnavailable with the system's
// error text.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/base/time.h"

namespace weft {

inline constexpr std::size_t kControlLineMax = 64 * 1024;

struct ControlOptions {
  // Time limit for a caller to send its line, and to read the answer.
  Duration caller_limit = std::chrono::seconds(2);
};

class ControlSocket {
 public:
  // Maps a request line to an answer line, both without their line ends.
  using Answer = std::function<std::string(const std::string& request)>;

  // Takes the place of a socket that a dead process has left; `folder` is locked by the caller.
  static Result<std::unique_ptr<ControlSocket>> open(const std::string& folder, Answer answer,
                                                     const ControlOptions& options = {});
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  struct Impl;
  explicit ControlSocket(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// The answer of the peer whose folder is `folder`. kUnavailable where none runs.
Result<std::string> ask_control(const std::string& folder, const std::string& request,
                                Duration limit);

}  // namespace weft
