// The event loop as the transports of this folder see it: asio, and pollers for shared memory.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "weft/net/event_loop.h"

namespace weft {

// A source of events that the loop polls, because no file descriptor announces them.
class LoopPoller {
 public:
  virtual ~LoopPoller() = default;
  // Handles what has arrived; true if there was anything.
  virtual bool poll() = 0;
  // Asks the other sides to wake the loop; false if something has arrived since.
  virtual bool prepare_sleep() = 0;
  virtual void end_sleep() = 0;
};

struct EventLoop::Impl {
  // Runs the handlers that are ready, or waits until `deadline` for one.
  void step(TimePoint deadline);
  void add_poller(LoopPoller& poller) { pollers.push_back(&poller); }
  void remove_poller(LoopPoller& poller) { std::erase(pollers, &poller); }

  // It stands before the context, whose destructor may end connections that are listed here.
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
