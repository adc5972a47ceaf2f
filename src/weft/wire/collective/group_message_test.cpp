#include "weft/wire/group_message.h"

#include <gtest/gtest.h>

#include "weft/wire/core/message_checks.h"

namespace weft::group_message_test {
namespace {

GroupCallId call() { return {ViewId{ViewNumber(3), {7}}, GroupScope::kGives, 5, 11}; }

TEST(GroupMessage, EveryMessageSurvivesAndEveryCutIsRefused) {
  const SegmentHead segment{
      {ViewId{ViewNumber(3), {7}}, Round(11)}, CollectiveOp::kGather, 0x23, 1 << 20, 3};
  check_message(GroupSegmentHead{GroupScope::kAll, 5, segment});
  check_message(GroupReadyMessage{call(), 0x23, 1 << 20, {0, 1, 2}});
  check_message(GroupDoneMessage{call()});
}

TEST(GroupMessage, ASegmentNamesItsCall) {
  const SegmentHead segment{{call().view, Round(11)}, CollectiveOp::kGather, 0x23, 9, 3};
  const Result<GroupSegmentHead> head =
      GroupSegmentHead::decode(GroupSegmentHead{GroupScope::kGives, 5, segment}.encode());
  ASSERT_TRUE(head.ok());
  EXPECT_EQ(head->call(), call());
  EXPECT_EQ(head->segment.segment, 3U);
}

TEST(GroupMessage, RefusesEachFieldBeyondItsBound) {
  GroupCallId other = call();
  other.scope = static_cast<GroupScope>(3);
  EXPECT_EQ(GroupDoneMessage::decode(GroupDoneMessage{other}.encode()).status().code(),
            Code::kCorrupt);
  EXPECT_EQ(
      GroupReadyMessage::decode(GroupReadyMessage{call(), 0, 1, {3}}.encode()).status().code(),
      Code::kCorrupt);
  EXPECT_EQ(GroupSegmentHead::decode({}).status().code(), Code::kCorrupt);
  const SegmentHead of_a_round{{call().view, Round(11), 1}, CollectiveOp::kGather, 0, 9, 3};
  EXPECT_EQ(GroupSegmentHead::decode(GroupSegmentHead{GroupScope::kAll, 5, of_a_round}.encode())
                .status()
                .code(),
            Code::kCorrupt);
}

}  // namespace
}  // namespace weft::group_message_test
