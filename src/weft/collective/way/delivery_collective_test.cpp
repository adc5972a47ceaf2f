// Exchanges of a team whose results members outside of it get: the same bits at all, over links
// that break, and nothing from who has no part in it.
#include "weft/collective/way/delivery_collective.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/codec/payload.h"
#include "weft/collective/reduce/collective_form.h"
#include "weft/collective/reduce/test_collective_network.h"

namespace weft::delivery_collective_test {
namespace {

CollectiveOptions team_of(int size, int receivers, Algorithm algorithm) {
  CollectiveOptions options = small_segments(size);
  options.receivers = receivers;
  options.algorithm = algorithm;
  if (algorithm == Algorithm::kHierarchical) {
    for (int rank = 0; rank < size; ++rank) options.hosts.push_back(rank / 2);
  }
  return options;
}

constexpr Algorithm kAlgorithms[] = {Algorithm::kDirect, Algorithm::kTree, Algorithm::kButterfly,
                                     Algorithm::kRing, Algorithm::kHierarchical};

TEST(DeliveryCollective, ReceiversGetTheTeamsBits) {
  for (const Algorithm algorithm : kAlgorithms) {
    for (const int team : {1, 2, 3, 5}) {
      for (const int receivers : {1, 4}) {
        for (const std::int64_t elements : {0, 1, 5, 4000}) {
          SCOPED_TRACE(testing::Message() << to_string(algorithm) << ", " << team << " and "
                                          << receivers << ", " << elements << " elements");
          TestCollectiveNetwork network(team_of(team, receivers, algorithm), elements, 3);
          network.run();
          network.expect_results(1e-5);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(DeliveryCollective, RoundedSumsAreTheSameOutsideOfTheTeam) {
  for (const WirePrecision precision : {WirePrecision::kBf16, WirePrecision::kInt8}) {
    CollectiveOptions options = team_of(3, 2, Algorithm::kRing);
    options.precision = precision;
    TestCollectiveNetwork network(options, 4000, 5);
    network.run();
    network.expect_results(0.1);
  }
}

// Each member of the team sends its share of the vector to each receiver, whoever computed it.
TEST(DeliveryCollective, TheTeamSharesTheWorkOut) {
  constexpr int kTeam = 4;
  constexpr int kReceivers = 3;
  constexpr std::int64_t kElements = 64 * 256;  // 64 parts
  TestCollectiveNetwork network(team_of(kTeam, kReceivers, Algorithm::kRing), kElements, 7);
  network.run();
  for (int to = kTeam; to < kTeam + kReceivers; ++to) {
    for (int from = 0; from < kTeam; ++from) {
      EXPECT_EQ(network.body_bytes_sent(from, to), kElements * sizeof(float) / kTeam);
      EXPECT_EQ(network.body_bytes_sent(to, from), 0U);
    }
    for (int other = kTeam; other < kTeam + kReceivers; ++other) {
      EXPECT_EQ(network.body_bytes_sent(to, other), 0U);
    }
  }
}

TEST(DeliveryCollective, LinksBreakAndComeBackAtAnyMoment) {
  for (const std::uint64_t seed : TestSeeds(1, 100)) {
    const Algorithm algorithm = kAlgorithms[seed % std::size(kAlgorithms)];
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << to_string(algorithm));
    TestCollectiveNetwork network(team_of(3, 3, algorithm), 3000, seed);
    network.break_links(12, 60);
    network.run();
    network.expect_results(1e-5);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Encoded inputs go to receivers as they go to the team, and nothing else is sent for them.
TEST(DeliveryCollective, ReceiversDecodeThePayloadsThemselves) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    constexpr int kTeam = 3;
    constexpr int kReceivers = 2;
    constexpr std::size_t kElements = 3000;
    std::vector<std::shared_ptr<ErrorFeedback>> encoders;
    encoders.reserve(kTeam + kReceivers);
    for (int rank = 0; rank < kTeam + kReceivers; ++rank) {
      encoders.push_back(std::make_shared<ErrorFeedback>(*Codec::parse("topk:ratio=0.1")));
    }
    TestCollectiveNetwork network(team_of(kTeam, kReceivers, Algorithm::kAuto), kElements, seed, {},
                                  encoders);
    if (seed % 4 != 0) network.break_links(12, 60);
    network.run();
    std::vector<float> expected(kElements);
    std::size_t bytes = 0;
    for (int rank = 0; rank < kTeam; ++rank) {
      ErrorFeedback oracle(*Codec::parse("topk:ratio=0.1"));
      const Bytes payload = oracle.encode(network.input(rank));
      std::vector<float> decoded(kElements);
      ASSERT_TRUE(oracle.codec().decode(payload, decoded).ok());
      for (std::size_t i = 0; i < kElements; ++i) expected[i] += decoded[i];
      bytes += kPayloadHeadBytes + payload.size();
    }
    for (int rank = 0; rank < kTeam + kReceivers; ++rank) {
      ASSERT_TRUE(network.core(rank).complete());
      EXPECT_TRUE(network.core(rank).sent_all());
      const std::shared_ptr<FloatBuffer> result = network.core(rank).result();
      for (std::size_t i = 0; i < kElements; ++i) ASSERT_EQ(result->span()[i], expected[i]);
      EXPECT_EQ(encoders[static_cast<std::size_t>(rank)]->pending(), rank < kTeam);
    }
    if (seed % 4 == 0) {
      EXPECT_EQ(network.body_bytes_sent(), bytes * (kTeam + kReceivers - 1));
    }
  }
}

struct NoSink final : CollectiveSink {
  void send(Rank /*to*/, Frame /*frame*/) override { ++sent; }
  std::size_t queued_bytes(Rank /*to*/) const override { return 0; }
  int sent = 0;
};

// A team of two, ranks 0 and 1, and the receivers 2 and 3.
struct Hostile : testing::Test {
  CollectiveOptions options = team_of(2, 2, Algorithm::kRing);
  NoSink sink;
  static constexpr std::int64_t kElements = 1000;  // four parts

  Frame frame(CollectiveOp op, std::uint32_t part, std::size_t values = 256) const {
    const SegmentHead head{options.id, op, form_of(options, Algorithm::kRing), kElements, part};
    return {frame_type::kSegment, head.encode(), SharedBytes(Bytes(values * sizeof(float)))};
  }
  static Code code(Collective& core, Rank from, const Frame& frame) {
    return core.on_frame(from, {frame.type, frame.head, frame.body.span()}).code();
  }
};

TEST_F(Hostile, AReceiverTakesEachPartFromTheMemberWhoseTaskItIs) {
  options.rank = Rank(3);
  DeliveryCollective core(options, kElements, sink, nullptr);
  EXPECT_EQ(core.waits_for(), Rank(1));
  // Part p comes to the second receiver from rank (p + 1) mod 2.
  EXPECT_EQ(code(core, Rank(0), frame(CollectiveOp::kDelivery, 0)), Code::kCorrupt);
  EXPECT_EQ(code(core, Rank(2), frame(CollectiveOp::kDelivery, 0)), Code::kCorrupt) << "a receiver";
  EXPECT_EQ(code(core, Rank(-1), frame(CollectiveOp::kDelivery, 0)), Code::kCorrupt);
  EXPECT_EQ(code(core, Rank(1), frame(CollectiveOp::kGather, 0)), Code::kCorrupt);
  EXPECT_EQ(code(core, Rank(1), frame(CollectiveOp::kDelivery, 4)), Code::kCorrupt) << "no part";
  EXPECT_EQ(code(core, Rank(1), frame(CollectiveOp::kDelivery, 0, 255)), Code::kCorrupt);
  EXPECT_EQ(code(core, Rank(1), frame(CollectiveOp::kDelivery, 0)), Code::kOk);
  EXPECT_EQ(code(core, Rank(1), frame(CollectiveOp::kDelivery, 0)), Code::kCorrupt) << "twice";
  EXPECT_EQ(core.waits_for(), Rank(0));
  EXPECT_EQ(core.received_map(Rank(1)), (Bytes{2, 0, 0, 0}));
  EXPECT_EQ(core.received_map(Rank(0)), (Bytes{0, 0, 0, 0}));
  EXPECT_EQ(core.resume(Rank(0), Bytes{2, 0, 0, 0}).code(), Code::kCorrupt) << "it sends nothing";
  EXPECT_FALSE(core.complete());
}

TEST_F(Hostile, TheTeamTakesNothingFromReceiversAndBelievesNoImpossibleMap) {
  options.rank = Rank(0);
  DeliveryCollective core(options, kElements, sink, nullptr);
  for (const CollectiveOp op : {CollectiveOp::kReduce, CollectiveOp::kGather, CollectiveOp::kDirect,
                                CollectiveOp::kPayload, CollectiveOp::kDelivery}) {
    EXPECT_EQ(code(core, Rank(2), frame(op, 0)), Code::kCorrupt) << static_cast<int>(op);
    EXPECT_TRUE(core.body_destination(Rank(2), frame(op, 0).head, 1024).empty());
  }
  EXPECT_EQ(code(core, Rank(1), frame(CollectiveOp::kDelivery, 0)), Code::kCorrupt);
  EXPECT_EQ(core.resume(Rank(2), Bytes{2, 0, 0, 0}).code(), Code::kCorrupt) << "nothing was sent";
  EXPECT_EQ(core.resume(Rank(2), Bytes{0, 0, 0}).code(), Code::kCorrupt);
  EXPECT_TRUE(core.resume(Rank(2), {}).ok());
  EXPECT_EQ(sink.sent, 0);
}

}  // namespace
}  // namespace weft::delivery_collective_test
