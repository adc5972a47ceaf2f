// Growth laws as claims: what a member does in a quiet minute does not depend on how many there
// are.
#include "weft/sim/membership/scale.h"

#include <gtest/gtest.h>

namespace weft::scale_test {
namespace {

TEST(Scale, AQuietMinuteCostsTheSameInAnyView) {
  const ScaleResult few = measure_scale(16, 8);
  const ScaleResult many = measure_scale(256, 8);
  EXPECT_GT(few.quiet.messages_sent, 0U);
  EXPECT_EQ(few.quiet.messages_sent, many.quiet.messages_sent);
  EXPECT_EQ(few.quiet.bytes_sent, many.quiet.bytes_sent);
  EXPECT_EQ(few.quiet.messages_received, many.quiet.messages_received);
}

TEST(Scale, AChangeCostsOneMemberTheViewAndTheOthersAFewMessages) {
  const ScaleResult result = measure_scale(256, 8);
  ASSERT_TRUE(result.changed);
  EXPECT_LE(result.proposer.messages_sent, 4U * 256);
  EXPECT_LE(result.other.messages_sent, 32U);
}

// Each message of a change has one length in any view, so a member more is as many bytes more.
TEST(Scale, TheBytesOfAChangeGrowWithTheMembersAndNotWithTheirSquare) {
  const ScaleResult few = measure_scale(64, 8);
  const ScaleResult many = measure_scale(256, 8);
  ASSERT_TRUE(few.changed);
  ASSERT_TRUE(many.changed);
  EXPECT_LE(2 * many.proposer.bytes_sent, 9 * few.proposer.bytes_sent) << "at most 4.5 times";
  EXPECT_LE(many.proposer.bytes_sent, 768U * 256);
  EXPECT_LE(many.proposer.bytes_received, 300U * 256);
  EXPECT_LE(many.other.bytes_sent + many.other.bytes_received, 4U * 1024);
  EXPECT_LE(many.other.bytes_received, few.other.bytes_received + 256);
}

}  // namespace
}  // namespace weft::scale_test
