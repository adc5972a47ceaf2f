// The only thread primitives outside base/: a joining thread, a guarded value and a stop flag.
//
// std::mutex, std::atomic and std::thread appear in base/ alone (tools/tidy.py checks it); other
// folders say what they need with these types and BoundedQueue. Nor does anything else sleep:
// poll_until is the one pause, where nobody can announce what is waited for.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "weft/base/thread_safety.h"
#include "weft/base/time.h"

namespace weft {

// A thread that is joined when its owner goes. Stop its work first: the join has no deadline.
class Thread {
 public:
  Thread() = default;
  template <class Body>
  explicit Thread(Body body) : thread_(std::move(body)) {}
  ~Thread() { join(); }
  Thread(Thread&&) = default;
  Thread& operator=(Thread&& other) noexcept {
    join();
    thread_ = std::move(other.thread_);
    return *this;
  }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::thread thread_;
};

// A flag or counter that threads share.
template <class T>
using Atomic = std::atomic<T>;

// A value that is only touched under its lock, and on whose change threads can wait. What is called
// with the value must not come back here: the lock is held.
template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}

  // Calls body(value) under the lock, then wakes the waiters.
  template <class Body>
  auto with(Body&& body) WEFT_EXCLUDES(mutex_) {
    const Notify notify{changed_};
    const MutexLock lock(mutex_);
    return body(value_);
  }

  // Waits until ready(value) holds or `deadline` passes; returns whether it holds.
  template <class Ready>
  bool wait_until(TimePoint deadline, Ready&& ready) WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!ready(value_)) {
      if (!changed_.wait_until(mutex_, deadline)) return ready(value_);
    }
    return true;
  }

 private:
  struct Notify {
    Condition& changed;
    ~Notify() { changed.notify_all(); }
  };
  Mutex mutex_;
  Condition changed_;
  T value_ WEFT_GUARDED_BY(mutex_){};
};

// Asks ready() again and again, with `pause` in between, until it holds or `deadline` has passed;
// returns whether it holds. For what nobody can announce, such as a call of a library that has no
// wait with a limit. What a thread of ours sets is waited for with Guarded.
template <class Ready>
bool poll_until(const Clock& clock, TimePoint deadline, Duration pause, Ready&& ready) {
  while (!ready()) {
    const TimePoint now = clock.now();
    if (now >= deadline) return false;
    if (pause > Duration{}) std::this_thread::sleep_for(std::min(pause, deadline - now));
  }
  return true;
}

}  // namespace weft
