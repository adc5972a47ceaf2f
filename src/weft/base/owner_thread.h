// OwnerThread: the one thread that enters a core, so that a call from another one is caught.
//
//   void RoundCore::on_timer(TimePoint now) {
//     owner_.assert_here();                 // the first caller is the owner from then on
//     ...
//   OnOwnerThread<Core> core_;              // or: all ways to the state pass by the assertion
//
// Cores that own no thread, socket or clock say "Threads: one owner" and have no lock. Which thread
// that is, is their driver's choice: it may build a core on one thread and leave it to another, as
// long as nobody has entered it before. A thread's entry stops the program (WEFT_DCHECK, with debug
// checks: presets dev, asan, tsan) where another one has entered before; in release builds it costs
// nothing. A copy of a core belongs to nobody yet.
//
// ThreadRole (thread_role.h) is for the drivers: there the thread holds a role, which clang knows.
//
// Threads: any. Fails: never; the wrong thread is a bug.
#pragma once

#include <memory>
#include <utility>

#include "weft/base/check.h"

#ifdef WEFT_DEBUG_CHECKS
#include <atomic>
#include <thread>
#endif

namespace weft {

class OwnerThread {
 public:
  OwnerThread() = default;
  OwnerThread(const OwnerThread& /*other*/) {}
  OwnerThread& operator=(const OwnerThread& /*other*/) { return *this; }

  // Where a core is entered.
  void assert_here() const { WEFT_DCHECK(is_owner()); }

 private:
#ifdef WEFT_DEBUG_CHECKS
  bool is_owner() const {
    std::thread::id owner{};
    const std::thread::id self = std::this_thread::get_id();
    return owner_.compare_exchange_strong(owner, self) || owner == self;
  }

  mutable std::atomic<std::thread::id> owner_{std::thread::id()};
#else
  static bool is_owner() { return true; }
#endif
};

// The state of a core, behind the assertion. Its end is on any thread that nobody else is beside.
template <class T>
class OnOwnerThread {
 public:
  explicit OnOwnerThread(std::unique_ptr<T> value) : value_(std::move(value)) {}

  T* operator->() const { return &here(); }
  T& operator*() const { return here(); }

 private:
  T& here() const {
    owner_.assert_here();
    return *value_;
  }

  OwnerThread owner_;
  std::unique_ptr<T> value_;
};

}  // namespace weft
