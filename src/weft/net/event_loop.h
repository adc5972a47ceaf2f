// EventLoop: the one thread that owns sockets, timers and everything the handlers touch.
//
// Threads: run() and its siblings on the loop's owner; post() and stop() on any thread; all else
// on the owner (or before it starts). Handlers never run inside post, call_at or cancel.
// Fails: never.
#pragma once

#include <functional>
#include <memory>

#include "weft/base/strong.h"
#include "weft/base/time.h"

namespace weft {

using TimerId = Strong<struct TimerIdTag, std::uint64_t>;

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs handlers until stop().
  void run();
  // Runs handlers until `limit` has passed, or stop().
  void run_for(Duration limit);
  // Runs handlers until done() holds, looked at after each batch of handlers; false if `limit`
  // passed (or stop() came) first.
  bool run_until(const std::function<bool()>& done, Duration limit);
  // Ends the present run(), or the next one if none is under way.
  void stop();

  // Runs `handler` on the loop soon, in the order of the calls.
  void post(std::function<void()> handler);
  // Runs `handler` once, at `when` or soon after. Ids are never 0 and never used again.
  TimerId call_at(TimePoint when, std::function<void()> handler);
  // Does nothing if the timer has run or was cancelled.
  void cancel(TimerId timer);

  const Clock& clock() const;
  TimePoint now() const { return clock().now(); }

  // For the transports of this folder.
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
