// The only thread primitives outside base/: a joining thread, a guarded value and a stop flag.
//
// std::mutex, std::atomic and std::thread appear in base/ alone (tools/tidy.py checks it); other
// folders say what they need with these types and BoundedQueue.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

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

// A value that is only touched under its lock, and on whose change threads can wait.
template <class T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}

  // Calls body(value) under the lock, then wakes the waiters.
  template <class Body>
  auto with(Body&& body) {
    const Notify notify{changed_};
    const std::lock_guard lock(mutex_);
    return body(value_);
  }

  // Waits until ready(value) holds or `deadline` passes; returns whether it holds.
  template <class Ready>
  bool wait_until(TimePoint deadline, Ready&& ready) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [&] { return ready(value_); });
  }

 private:
  struct Notify {
    std::condition_variable& changed;
    ~Notify() { changed.notify_all(); }
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  T value_{};
};

}  // namespace weft
