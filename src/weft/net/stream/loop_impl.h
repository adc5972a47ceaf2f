// What the transports of this folder see of the event loop: asio, and pollers for shared memory.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "weft/net/event_loop.h"

namespace weft {

// Something the loop looks at by itself, because no file descriptor tells about it.
class LoopPoller {
 public:
  virtual ~LoopPoller() = default;
  // Handles what has arrived; true if there was anything.
  virtual bool poll() = 0;
  // Asks the other sides to wake the loop; false if something has arrived meanwhile.
  virtual bool prepare_sleep() = 0;
  virtual void end_sleep() = 0;
};

struct EventLoop::Impl {
  // Runs what is ready, or waits until `deadline` for something.
  void step(TimePoint deadline);
  void add_poller(LoopPoller& poller) { pollers.push_back(&poller); }
  void remove_poller(LoopPoller& poller) { std::erase(pollers, &poller); }

  // Before the context, whose end may end connections that are listed here.
  std::vector<LoopPoller*> pollers;
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  SystemClock clock;
  std::map<TimerId, std::unique_ptr<asio::steady_timer>> timers;
  TimerId last_timer;
  bool stopped = false;

 private:
  bool poll_all();
  void wait(TimePoint deadline);
  int spin_turns() const;

  TimePoint idle_since_{};
  int idle_turns_ = 0;
  int busy_turns_ = 0;
};

}  // namespace weft
