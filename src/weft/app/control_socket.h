// ControlSocket: OUT/control.sock, through which the owner of a running peer speaks to it.
//
// One line each way: a request, the answer, the end. Only the user that runs the peer gets in: the
// file has mode 0600, and the caller's user id is looked at as well. A caller that is slow or sends
// too much is cut off; callers wait for one another.
//
// Where it stands: `weft ticket` and its kin -> here -> control_commands.h. Threads: one of its
// own, on which `answer` is called; it ends with this. Fails: kUnavailable with the system's words.
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
  // For a caller to say its line, and to take the answer.
  Duration caller_limit = std::chrono::seconds(2);
};

class ControlSocket {
 public:
  // A line without its end, to a line without its end.
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
