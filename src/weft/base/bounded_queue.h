// BoundedQueue<T>: hands values from thread to thread; never grows past its capacity.
//
// Threads: every method from any thread. Waits end at a deadline or when the queue is closed.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "weft/base/check.h"
#include "weft/base/thread_safety.h"
#include "weft/base/time.h"

namespace weft {

template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) { WEFT_CHECK(capacity > 0); }

  // Waits for room until `deadline`; false when it passed or the queue is closed.
  bool push(T value, TimePoint deadline) WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!closed_ && values_.size() >= capacity_) {
      if (!not_full_.wait_until(mutex_, deadline)) break;
    }
    if (closed_ || values_.size() >= capacity_) return false;
    values_.push_back(std::move(value));
    not_empty_.notify_one();
    return true;
  }

  // False when full or closed; `value` is then lost.
  bool try_push(T value) WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (closed_ || values_.size() >= capacity_) return false;
    values_.push_back(std::move(value));
    not_empty_.notify_one();
    return true;
  }

  // The oldest value; nothing when `deadline` passed, or the queue is closed and empty.
  std::optional<T> pop(TimePoint deadline) WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    while (!closed_ && values_.empty()) {
      if (!not_empty_.wait_until(mutex_, deadline)) break;
    }
    return take();
  }

  std::optional<T> try_pop() WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return take();
  }

  // Wakes every waiter; values already in the queue can still be popped.
  void close() WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    closed_ = true;
    not_empty_.notify_all();
    not_full_.notify_all();
  }

  bool closed() const WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return closed_;
  }

  std::size_t size() const WEFT_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return values_.size();
  }

 private:
  std::optional<T> take() WEFT_REQUIRES(mutex_) {
    if (values_.empty()) return std::nullopt;
    std::optional<T> value(std::move(values_.front()));
    values_.pop_front();
    not_full_.notify_one();
    return value;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  Condition not_empty_;
  Condition not_full_;
  std::deque<T> values_ WEFT_GUARDED_BY(mutex_);
  bool closed_ WEFT_GUARDED_BY(mutex_) = false;
};

}  // namespace weft
