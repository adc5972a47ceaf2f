// Annotations that state what guards the members of a class, for clang's thread-safety analysis.
//
//   Mutex mutex_;
//   int count_ WEFT_GUARDED_BY(mutex_);         // an access without the lock is an error
//   void add_one() WEFT_REQUIRES(mutex_);       // so is a call without it
//
// The analysis runs as a stage of ./test (tools/thread_safety.py) and follows names, not values: a
// lambda is a separate function, which holds nothing unless it has WEFT_REQUIRES or takes it.
// Constructors and destructors are not checked. Other compilers ignore the annotations.
// The standard library's locks have no annotations, so base/ has its own locks, below;
// thread_role.h has the counterpart for state that belongs to one thread and needs no lock.
//
// Threads: any. Fails: never.
#pragma once

#include <condition_variable>
#include <mutex>

#include "weft/base/time.h"

#if defined(__clang__)
#define WEFT_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define WEFT_THREAD_ATTRIBUTE(attribute)
#endif

// A type that can be held: a lock, a role. `name` appears in the compiler's messages.
#define WEFT_CAPABILITY(name) WEFT_THREAD_ATTRIBUTE(capability(name))
// A type that holds a capability for as long as it lives.
#define WEFT_SCOPED_CAPABILITY WEFT_THREAD_ATTRIBUTE(scoped_lockable)
// For a data member, and for the target of a pointer member.
#define WEFT_GUARDED_BY(held) WEFT_THREAD_ATTRIBUTE(guarded_by(held))
#define WEFT_PT_GUARDED_BY(held) WEFT_THREAD_ATTRIBUTE(pt_guarded_by(held))
// What the caller of a function must hold, or must not hold because the function takes it itself.
#define WEFT_REQUIRES(...) WEFT_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define WEFT_EXCLUDES(...) WEFT_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// What a function takes or releases; without a name, this object itself.
#define WEFT_ACQUIRE(...) WEFT_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define WEFT_RELEASE(...) WEFT_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// After the call it is taken for held: where it is known for other reasons than the analysis sees.
#define WEFT_ASSERT_CAPABILITY(held) WEFT_THREAD_ATTRIBUTE(assert_capability(held))
// A function that returns a reference to it.
#define WEFT_RETURN_CAPABILITY(held) WEFT_THREAD_ATTRIBUTE(lock_returned(held))
// A function that is not checked; a comment beside it gives the reason.
#define WEFT_NO_THREAD_SAFETY_ANALYSIS WEFT_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace weft {

class WEFT_CAPABILITY("mutex") Mutex {
 public:
  void lock() WEFT_ACQUIRE() { mutex_.lock(); }
  void unlock() WEFT_RELEASE() { mutex_.unlock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

// Holds `mutex` for as long as it lives, but between unlock() and lock().
class WEFT_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) WEFT_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() WEFT_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() WEFT_RELEASE() {
    mutex_.unlock();
    held_ = false;
  }
  void lock() WEFT_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// A condition that threads await under a Mutex. A wait releases the lock meanwhile and may end
// spuriously, so its caller checks again: while (!ready) condition.wait(mutex). The condition is a
// plain loop and no lambda, as the analysis would not see that a lambda runs under the lock.
class Condition {
 public:
  void notify_one() { changed_.notify_one(); }
  void notify_all() { changed_.notify_all(); }

  void wait(Mutex& mutex) WEFT_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }
  // False once `deadline` has passed.
  bool wait_until(Mutex& mutex, TimePoint deadline) WEFT_REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status ended = changed_.wait_until(lock, deadline);
    lock.release();
    return ended == std::cv_status::no_timeout;
  }

 private:
  std::condition_variable changed_;
};

}  // namespace weft
