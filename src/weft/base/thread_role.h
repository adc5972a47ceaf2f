// ThreadRole: a thread holds it, like a lock, while it owns some state.
//
//   Core core_ WEFT_GUARDED_BY(loop_.thread());       // no lock: only the loop thread comes here
//   void deliver() WEFT_REQUIRES(loop_.thread());     // called by the loop's handlers alone
//   void on_frame() { loop_.thread().assert_here(); ... }   // where a handler begins
//
// clang's analysis (thread_safety.h) then rejects accesses to the state from elsewhere: above all
// by a lambda that is passed to another thread with too many captures. The analysis trusts
// assert_here(); with debug checks (presets dev, asan, tsan) it is also verified.
//
// No thread holds a role at first, while the state is built before its thread has begun; then
// assert_here() succeeds on every thread. In release builds a role has no state and costs nothing.
//
// Threads: any. Fails: never; the wrong thread is a bug (WEFT_DCHECK).
#pragma once

#include "weft/base/check.h"
#include "weft/base/thread_safety.h"

#ifdef WEFT_DEBUG_CHECKS
#include <atomic>
#include <thread>
#endif

namespace weft {

class WEFT_CAPABILITY("role") ThreadRole {
 public:
  ThreadRole() = default;
  ThreadRole(const ThreadRole&) = delete;
  ThreadRole& operator=(const ThreadRole&) = delete;

  // At the beginning of what runs in this role for a reason that no compiler sees.
  void assert_here() const WEFT_ASSERT_CAPABILITY(this) { WEFT_DCHECK(is_here_or_free()); }

 private:
  friend class RoleScope;
#ifdef WEFT_DEBUG_CHECKS
  using Holder = std::thread::id;
  static Holder self() { return std::this_thread::get_id(); }
  bool is_here_or_free() const {
    const Holder holder = holder_.load();
    return holder == Holder() || holder == self();
  }
  Holder exchange(Holder holder) { return holder_.exchange(holder); }

  std::atomic<Holder> holder_{Holder()};
#else
  struct Holder {};
  static Holder self() { return {}; }
  static bool is_here_or_free() { return true; }
  static Holder exchange(Holder holder) { return holder; }
#endif
};

// Holds the role while it exists: around the work of the role's thread.
class WEFT_SCOPED_CAPABILITY RoleScope {
 public:
  explicit RoleScope(ThreadRole& role) WEFT_ACQUIRE(role) : role_(role) {
    WEFT_DCHECK(role_.is_here_or_free());
    before_ = role_.exchange(ThreadRole::self());
  }
  ~RoleScope() WEFT_RELEASE() { role_.exchange(before_); }
  RoleScope(const RoleScope&) = delete;
  RoleScope& operator=(const RoleScope&) = delete;

 private:
  ThreadRole& role_;
  ThreadRole::Holder before_{};
};

}  // namespace weft
