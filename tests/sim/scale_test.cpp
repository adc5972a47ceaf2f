// Growth laws as claims: what a member does in a quiet minute does not depend on how many there
// are.
#include "weft/sim/membership/scale.h"

#include <gtest/gtest.h>

#include "weft/gossip/test_gossip_network.h"
#include "weft/sim/membership/gossip_scale.h"

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

double played_traffic(int members) {
  GossipScaleOptions options;
  options.members = members;
  const GossipScaleResult result = measure_idle_gossip(options);
  EXPECT_EQ(result.book_records, static_cast<std::uint64_t>(members));
  return static_cast<double>(result.traffic.bytes_sent + result.traffic.bytes_received) /
         result.seconds;
}

// A fifth more: where two real neighbours learn of a presence at once, neither passes it to the
// other.
TEST(GossipScale, PlayedNeighboursSendAboutAsMuchAsRealOnes) {
  const IdleTraffic real = idle_gossip_traffic(64, 16);
  EXPECT_EQ(real.least_known, 64U);
  const double played = played_traffic(64);
  EXPECT_GT(played, 0.9 * real.bytes_per_member_second);
  EXPECT_LT(played, 1.3 * real.bytes_per_member_second);
}

// Everybody's presence reaches everybody, (d - 1) times in each direction.
TEST(GossipScale, PresenceGrowsWithTheMembers) {
  const double few = played_traffic(500);
  const double many = played_traffic(5000);
  EXPECT_GT(many, 8 * few);
  EXPECT_LT(many, 10 * few);
}

}  // namespace
}  // namespace weft::scale_test
