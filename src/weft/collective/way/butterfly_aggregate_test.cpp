// Robust rules over a butterfly: what owners compute apart is what one place would compute, bit by
// bit.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/aggregate/aggregator_def.h"
#include "weft/base/testing/test_seeds.h"
#include "weft/collective/reduce/segment_plan.h"
#include "weft/collective/reduce/test_collective_network.h"
#include "weft/collective/verify/test_verified_network.h"

namespace weft::butterfly_aggregate_test {
namespace {

CollectiveOptions aggregating(int members, std::string_view rule) {
  CollectiveOptions options = small_segments(members);
  options.aggregator = *Aggregator::parse(rule);
  options.aggregate_round = {1, 99};
  EXPECT_TRUE(options.aggregator.check(members, 1).ok()) << rule;
  return options;
}

// What one place computes from all inputs, with distances added up in the order of the owners and
// of their segments.
std::vector<float> aggregated_at_one_place(const CollectiveOptions& options,
                                           const std::vector<std::span<const float>>& inputs) {
  const auto elements = static_cast<std::int64_t>(inputs.front().size());
  Distances sum(options.size);
  for (int owner = 0; owner < options.size; ++owner) {
    Distances table(options.size);
    for (const Segment& segment : plan_collective(options, elements)) {
      if (segment.owner != Rank(owner)) continue;
      std::vector<std::span<const float>> piece;
      piece.reserve(inputs.size());
      for (const std::span<const float> input : inputs) {
        piece.push_back(input.subspan(static_cast<std::size_t>(segment.offset),
                                      static_cast<std::size_t>(segment.elements)));
      }
      table.measure(piece);
    }
    sum.add(table);
  }
  const WeightMatrix weights = options.aggregator.select(sum, options.aggregate_round);
  std::vector<float> out(inputs.front().size());
  options.aggregator.combine(inputs, weights, options.aggregate_round, out);
  return out;
}

void expect_aggregated(const CollectiveOptions& options, TestCollectiveNetwork& network) {
  std::vector<std::span<const float>> inputs;
  inputs.reserve(static_cast<std::size_t>(options.size));
  for (int rank = 0; rank < options.size; ++rank) inputs.emplace_back(network.input(rank));
  const std::vector<float> expected = aggregated_at_one_place(options, inputs);
  for (int rank = 0; rank < options.size; ++rank) {
    ASSERT_TRUE(network.core(rank).complete()) << options.aggregator.text() << ", rank " << rank;
    EXPECT_EQ(network.core(rank).waits_for(), Rank(rank));
    const auto [begin, end] = network.result_range(rank);
    const std::shared_ptr<FloatBuffer> result = network.core(rank).result();
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      ASSERT_EQ(result->span()[i], expected[i])
          << options.aggregator.text() << ", rank " << rank << ", element " << i;
    }
  }
}

TEST(ButterflyAggregate, EveryRuleGivesTheBitsThatOnePlaceWouldGive) {
  std::vector<std::string> rules = {"nnm trimmed_mean", "bucketing nnm median"};
  for (const AggregatorDef* def : aggregators()) rules.emplace_back(def->name);
  for (const std::string& rule : rules) {
    for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter}) {
      CollectiveOptions options = aggregating(7, rule);
      options.kind = kind;
      TestCollectiveNetwork network(options, 3500, 8);
      network.run();
      expect_aggregated(options, network);
    }
  }
}

TEST(ButterflyAggregate, EveryRuleGivesTheSameBitsWhereOwnersAreChecked) {
  std::vector<std::string> rules = {"nnm trimmed_mean", "bucketing nnm median"};
  for (const AggregatorDef* def : aggregators()) rules.emplace_back(def->name);
  std::uint64_t seed = 30;
  for (const std::string& rule : rules) {
    for (const int verifiers : {1, 3, 200}) {
      const CollectiveOptions options = verified(aggregating(7, rule), verifiers);
      TestCollectiveNetwork network(options, 3500, ++seed, {}, {}, make_signing);
      network.run();
      expect_aggregated(options, network);
      for (int rank = 0; rank < options.size; ++rank) {
        EXPECT_TRUE(network.core(rank).take_findings().empty()) << rule;
        EXPECT_TRUE(network.core(rank).sent_all()) << rule;
      }
    }
  }
}

TEST(ButterflyAggregate, MembersThatOwnNoChunkGetTheCheckedResultAllTheSame) {
  for (const std::int64_t elements : {1, 2, 3, 17, 40}) {
    const CollectiveOptions options = verified(aggregating(5, "krum"), 1);
    TestCollectiveNetwork network(options, elements, 21, {}, {}, make_signing);
    network.run();
    expect_aggregated(options, network);
  }
}

// One more verifier fetches all inputs of each chunk but its own; the rest is short.
TEST(ButterflyAggregate, EachVerifierCostsTheBytesOfItsInputs) {
  constexpr std::int64_t kLong = 200'000;
  constexpr std::size_t kInputs = 6 * kLong * sizeof(float);
  constexpr std::size_t kShort = 200'000;
  std::vector<std::size_t> bytes;
  for (const int verifiers : {0, 1, 2}) {
    CollectiveOptions options = verified(aggregating(7, "nnm trimmed_mean"), verifiers);
    options.segment_bytes = 16'384;
    options.bucket_bytes = 262'144;
    TestCollectiveNetwork network(options, kLong, 3, {}, {}, make_signing);
    network.run();
    bytes.push_back(network.body_bytes_sent());
  }
  EXPECT_GE(bytes[1], bytes[0] + kInputs);
  EXPECT_LE(bytes[1], bytes[0] + kInputs + kShort);
  EXPECT_GE(bytes[2], bytes[1] + kInputs);
  EXPECT_LE(bytes[2], bytes[1] + kInputs + kShort);
}

TEST(ButterflyAggregate, LinksBreakAndComeBackWhileOwnersAreChecked) {
  for (const std::uint64_t seed : TestSeeds(1, 60)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const CollectiveOptions options =
        verified(aggregating(5, seed % 2 == 0 ? "median" : "nnm trimmed_mean"),
                 1 + static_cast<int>(seed % 3));
    TestCollectiveNetwork network(options, 3000, seed, {}, {}, make_signing);
    network.break_links(16, 60);
    network.run();
    expect_aggregated(options, network);
    for (int rank = 0; rank < options.size; ++rank) {
      EXPECT_TRUE(network.core(rank).take_findings().empty());
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(ButterflyAggregate, MembersThatOwnNoChunkGetTheResultAllTheSame) {
  for (const std::int64_t elements : {1, 2, 3, 6}) {
    const CollectiveOptions options = aggregating(5, "krum");
    TestCollectiveNetwork network(options, elements, 21);
    network.run();
    expect_aggregated(options, network);
  }
}

TEST(ButterflyAggregate, LinksBreakAndComeBackAtAnyMoment) {
  for (const std::uint64_t seed : TestSeeds(1, 60)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const CollectiveOptions options = aggregating(5, "nnm trimmed_mean");
    TestCollectiveNetwork network(options, 3000, seed);
    network.break_links(12, 40);
    network.run();
    expect_aggregated(options, network);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// A liar's input is far out; what all get lies among the honest.
TEST(ButterflyAggregate, OneLiarOfSevenMovesNothingFar) {
  const CollectiveOptions options = aggregating(7, "nnm trimmed_mean");
  TestCollectiveNetwork network(options, 2000, 4);
  network.set_input(3, std::vector<float>(2000, -1e9F));
  network.run();
  expect_aggregated(options, network);
  for (const float value : network.core(0).result()->span()) ASSERT_LT(std::abs(value), 1);
}

TEST(ButterflyAggregate, ATableThatNobodyAskedForIsCorrupt) {
  struct Kept final : CollectiveSink {
    void send(Rank, Frame frame) override { sent.push_back(std::move(frame)); }
    std::size_t queued_bytes(Rank) const override { return 0; }
    std::vector<Frame> sent;
  };
  const auto answer = [](std::string_view rule, std::uint32_t segment, std::size_t bytes) {
    CollectiveOptions options = aggregating(5, rule);
    options.algorithm = Algorithm::kButterfly;
    options.rank = Rank(1);
    Kept sink;
    const auto core = make_collective(options, 3000, sink);
    const std::vector<float> input(3000, 1.0F);
    core->contribute(0, input);
    SegmentHead head = *SegmentHead::decode(sink.sent.at(0).head);
    head.op = CollectiveOp::kDistances;
    head.segment = segment;
    const Bytes encoded = head.encode();
    const Bytes body(bytes);
    const FrameView frame{frame_type::kSegment, encoded, body};
    const Code first = core->on_frame(Rank(0), frame).code();
    EXPECT_EQ(core->on_frame(Rank(0), frame).code(), Code::kCorrupt) << "twice, or refused before";
    return first;
  };
  constexpr std::size_t kTableBytes = 15 * sizeof(double);
  EXPECT_EQ(answer("krum", 0, kTableBytes), Code::kOk);
  EXPECT_EQ(answer("krum", 1, kTableBytes), Code::kCorrupt);
  EXPECT_EQ(answer("krum", 0, kTableBytes - 8), Code::kCorrupt);
  EXPECT_EQ(answer("krum", 0, 0), Code::kCorrupt);
  EXPECT_EQ(answer("median", 0, kTableBytes), Code::kCorrupt);
  EXPECT_EQ(answer("mean", 0, kTableBytes), Code::kCorrupt);
}

}  // namespace
}  // namespace weft::butterfly_aggregate_test
