// The only thread primitives outside base/: a joining thread, a guarded value and a stop flag.
//
// std::mutex, std::atomic and std::thread appear only in base/ (tools/tidy.py checks it); other
// folders use these types and BoundedQueue. No other code sleeps: poll_until is the only pause, for
// conditions that no event reports.
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

// A value that is only accessed under its lock, and whose change threads can await. A function
// called with the value must not call back: the lock is held.
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

// Calls ready() repeatedly, with `pause` in between, until it returns true or `deadline` has
// passed; returns the last result. For conditions that no event reports, such as a library call
// without a limited wait. Use Guarded to wait for a value that one of our threads sets.
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
