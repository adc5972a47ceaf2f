#include "weft/base/owner_thread.h"

#include <memory>

#include <gtest/gtest.h>

#include "weft/base/thread.h"

namespace weft::owner_thread_test {
namespace {

TEST(OwnerThread, IsTheFirstThatEntersAndMayEnterAgain) {
  OwnerThread owner;
  bool entered = false;
  // Built here, entered there alone.
  Thread([&] {
    owner.assert_here();
    owner.assert_here();
    entered = true;
  }).join();
  EXPECT_TRUE(entered);
}

TEST(OwnerThread, ACopyBelongsToNobodyYet) {
  OwnerThread first;
  first.assert_here();
  OwnerThread second(first);
  bool entered = false;
  Thread([&] {
    second.assert_here();
    entered = true;
  }).join();
  first = second;
  first.assert_here();
  EXPECT_TRUE(entered);
}

TEST(OnOwnerThread, LeadsToItsState) {
  const OnOwnerThread<int> state(std::make_unique<int>(3));
  *state += 1;
  EXPECT_EQ(*state.operator->(), 4);
}

#ifdef WEFT_DEBUG_CHECKS
TEST(OwnerThread, StopsTheProgramOnAnotherThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const OwnerThread owner;
  const auto enter_twice = [&] {
    owner.assert_here();
    Thread([&] { owner.assert_here(); }).join();
  };
  EXPECT_DEATH(enter_twice(), "is_owner");
}

TEST(OnOwnerThread, StopsTheProgramOnAnotherThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const OnOwnerThread<int> state(std::make_unique<int>(3));
  const auto enter_twice = [&] {
    *state = 4;
    Thread([&] { *state = 5; }).join();
  };
  EXPECT_DEATH(enter_twice(), "is_owner");
}
#endif

}  // namespace
}  // namespace weft::owner_thread_test
