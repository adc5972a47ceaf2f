// BoundedQueue<T>: hands values from thread to thread; never grows past its capacity.
//
// Threads: every method from any thread. Waits end at a deadline or when the queue is closed.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "weft/base/check.h"
#include "weft/base/time.h"

namespace weft {

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) { WEFT_CHECK(capacity > 0); }

  // Waits for room until `deadline`; false when it passed or the queue is closed.
  bool push(T value, TimePoint deadline) {
    std::unique_lock lock(mutex_);
    const bool room =
        not_full_.wait_until(lock, deadline, [&] { return closed_ || values_.size() < capacity_; });
    if (!room || closed_) return false;
    values_.push_back(std::move(value));
    not_empty_.notify_one();
    return true;
  }

  // False when full or closed; `value` is then lost.
  bool try_push(T value) {
    const std::lock_guard lock(mutex_);
    if (closed_ || values_.size() >= capacity_) return false;
    values_.push_back(std::move(value));
    not_empty_.notify_one();
    return true;
  }

  // The oldest value; nothing when `deadline` passed, or the queue is closed and empty.
  std::optional<T> pop(TimePoint deadline) {
    std::unique_lock lock(mutex_);
    not_empty_.wait_until(lock, deadline, [&] { return closed_ || !values_.empty(); });
    return take();
  }

  std::optional<T> try_pop() {
    const std::lock_guard lock(mutex_);
    return take();
  }

  // Wakes every waiter; values already in the queue can still be popped.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    not_empty_.notify_all();
    not_full_.notify_all();
  }

  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return values_.size();
  }

 private:
  std::optional<T> take() {
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    not_full_.notify_one();
    return value;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable not_full_;
  std::deque<T> values_;
  bool closed_ = false;
};

}  // namespace weft
