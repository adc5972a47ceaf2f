// EventLoop: the one thread that owns sockets, timers and all state that the handlers use.
//
// Threads: run() and its siblings run on the loop's owner, which holds the role thread() during the
// call; post() and stop() may be called on any thread; everything else on the owner (or while
// nobody runs the loop), as debug checks enforce. Handlers never run inside post, call_at or
// cancel.
// Fails: never.
#pragma once

#include <functional>
#include <memory>

#include "weft/base/strong.h"
#include "weft/base/thread_role.h"
#include "weft/base/time.h"

namespace weft {

using TimerId = Strong<struct TimerIdTag, std::uint64_t>;

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // The role of the thread that runs the loop: it guards the state that the handlers use. A handler
  // begins with thread().assert_here().
  const ThreadRole& thread() const WEFT_RETURN_CAPABILITY(thread_) { return thread_; }

  // Runs handlers until stop() is called.
  void run() WEFT_EXCLUDES(thread_);
  // Runs handlers until `limit` has passed, or until stop() is called.
  void run_for(Duration limit) WEFT_EXCLUDES(thread_);
  // Runs handlers until done() returns true, which is checked after each batch of handlers; false
  // if `limit` passed, or stop() was called, first.
  bool run_until(const std::function<bool()>& done, Duration limit) WEFT_EXCLUDES(thread_);
  // Ends the present run(), or the next one if none is under way.
  void stop();

  // Runs `handler` on the loop soon, in the order of the calls.
  void post(std::function<void()> handler);
  // Runs `handler` once, at `when` or soon after. Timer ids are never 0 and never reused.
  TimerId call_at(TimePoint when, std::function<void()> handler);
  // Does nothing if the timer has run or was cancelled.
  void cancel(TimerId timer);

  const Clock& clock() const { return clock_; }
  TimePoint now() const { return clock_.now(); }

  // For the transports in this folder.
  struct Impl;
  Impl& impl() {
    thread_.assert_here();
    return *impl_;
  }

 private:
  ThreadRole thread_;
  const SystemClock clock_;
  std::unique_ptr<Impl> impl_ WEFT_PT_GUARDED_BY(thread_);
};

}  // namespace weft
