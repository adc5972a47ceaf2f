#include "weft/base/thread_role.h"

#include <gtest/gtest.h>

#include "weft/base/thread.h"

namespace weft::thread_role_test {
namespace {

TEST(ThreadRole, IsAnybodysUntilAThreadTakesItAndAgainAfterwards) {
  ThreadRole role;
  role.assert_here();
  bool taken = false;
  Thread([&] {
    const RoleScope here(role);
    role.assert_here();
    taken = true;
  }).join();
  role.assert_here();
  EXPECT_TRUE(taken);
}

#ifdef WEFT_DEBUG_CHECKS
TEST(ThreadRole, StopsTheProgramOnAnotherThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ThreadRole role;
  const auto take_both = [&] {
    const RoleScope here(role);
    Thread([&] { role.assert_here(); }).join();
  };
  EXPECT_DEATH(take_both(), "is_here_or_free");
}
#endif

TEST(MutexLock, LetsOthersInBetweenUnlockAndLock) {
  Mutex mutex;
  int value = 0;
  MutexLock lock(mutex);
  lock.unlock();
  Thread([&] {
    const MutexLock other(mutex);
    value = 1;
  }).join();
  lock.lock();
  EXPECT_EQ(value, 1);
}

TEST(Condition, SaysWhenTheDeadlineHasPassed) {
  Mutex mutex;
  Condition changed;
  const MutexLock lock(mutex);
  // A wait may end for no reason, but not every time.
  bool in_time = true;
  for (int i = 0; i < 1000 && in_time; ++i) {
    in_time = changed.wait_until(mutex, SystemClock().now());
  }
  EXPECT_FALSE(in_time);
}

}  // namespace
}  // namespace weft::thread_role_test
