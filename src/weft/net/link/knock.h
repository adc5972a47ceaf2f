// Knock: one TCP connection attempt, made once, or repeated until its time is over.
//
// A knock that insists uses one port of this machine only, and is not stopped by a refusal: the
// router on the other side refuses until its own machine has knocked too. Threads: the loop thread.
// Fails: kUnavailable, kTimeout; never from inside start().
#pragma once

#include <functional>
#include <memory>

#include <asio/posix/stream_descriptor.hpp>

#include "weft/base/status.h"
#include "weft/net/stream/loop_impl.h"
#include "weft/net/stream/socket.h"

namespace weft {

class Knock final : public std::enable_shared_from_this<Knock> {
 public:
  // Called once, unless the knock is abandoned.
  using Done = std::function<void(Result<Socket>)>;
  struct Plan {
    SocketAddress address;
    // 0: any port. Without `insists` any other port is used if this one cannot be.
    std::uint16_t local_port = 0;
    bool insists = false;
    Duration limit{};
  };

  Knock(EventLoop& loop, Plan plan, Done done);
  void start();
  void abandon();

 private:
  void attempt();
  void on_writable();
  void again_or_fail(const Status& why);
  void finish(Result<Socket> result);
  void set_timer(TimePoint when, std::function<void()> body);

  EventLoop& loop_;
  Plan plan_;
  Done done_;
  std::unique_ptr<asio::posix::stream_descriptor> connecting_;
  TimePoint deadline_;
  TimerId timer_;
  bool over_ = false;
};

}  // namespace weft
