#include "weft/collective/swarm/lent_state.h"

#include <optional>

#include <gtest/gtest.h>

namespace weft::lent_state_test {
namespace {

using std::chrono::seconds;

Turn order_after(std::uint64_t round) {
  Turn order;
  order.kind = TurnKind::kSnapshot;
  order.round = Round(round);
  order.state = SharedBytes(Bytes{1, 2});
  return order;
}

TEST(LentState, ASnapshotIsWhatStandsInFrontAndTheState) {
  Guarded<std::optional<StateSnapshot>> made;
  LentState lent;
  lent.lend([] { return Bytes{3, 4, 5}; });
  ASSERT_TRUE(lent.make_snapshot(order_after(7), [&](StateSnapshot snapshot) {
    made.with([&](auto& slot) { slot = std::move(snapshot); });
  }));
  ASSERT_TRUE(made.wait_until(SystemClock().now() + seconds(30),
                              [](const auto& slot) { return slot.has_value(); }));
  made.with([](auto& slot) {
    const ByteSpan state = slot->state.span();
    EXPECT_EQ(Bytes(state.begin(), state.end()), (Bytes{1, 2, 3, 4, 5}));
    EXPECT_EQ(slot->name.round, Round(7));
  });
  EXPECT_TRUE(lent.take_back());
}

TEST(LentState, IsReadOnceALoan) {
  LentState lent;
  EXPECT_FALSE(lent.take_back());
  EXPECT_FALSE(lent.make_snapshot(order_after(1), [](const StateSnapshot&) {}));
  lent.lend([] { return Bytes{3}; });
  EXPECT_TRUE(lent.make_snapshot(order_after(1), [](const StateSnapshot&) {}));
  EXPECT_FALSE(lent.make_snapshot(order_after(1), [](const StateSnapshot&) {}));
  EXPECT_TRUE(lent.take_back());
  EXPECT_FALSE(lent.make_snapshot(order_after(1), [](const StateSnapshot&) {}));
}

TEST(LentState, IsBackOnceItsReaderIsDone) {
  struct Steps {
    bool reading = false;
    bool may_end = false;
    bool back = false;
  };
  Guarded<Steps> steps;
  const TimePoint deadline = SystemClock().now() + seconds(30);
  bool read = false;  // no lock: the loan is what orders the two threads
  LentState lent;
  lent.lend([&] {
    steps.with([](Steps& all) { all.reading = true; });
    EXPECT_TRUE(steps.wait_until(deadline, [](const Steps& all) { return all.may_end; }));
    steps.with([](const Steps& all) { EXPECT_FALSE(all.back); });
    read = true;
    return Bytes{3};
  });
  ASSERT_TRUE(lent.make_snapshot(order_after(1), [](const StateSnapshot&) {}));
  ASSERT_TRUE(steps.wait_until(deadline, [](const Steps& all) { return all.reading; }));
  const Thread releases([&] { steps.with([](Steps& all) { all.may_end = true; }); });
  EXPECT_TRUE(lent.take_back());
  steps.with([](Steps& all) { all.back = true; });
  EXPECT_TRUE(read);
}

}  // namespace
}  // namespace weft::lent_state_test
