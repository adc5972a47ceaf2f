// What holds for every collective, however its frames travel and in whatever precision.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/reduce/test_collective_network.h"

namespace weft::collective_contract_test {
namespace {

struct Way {
  CollectiveKind kind{};
  Algorithm algorithm{};
  WirePrecision precision = WirePrecision::kF32;
};

std::vector<Way> ways() {
  std::vector<Way> all;
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kTree}) {
    all.push_back({CollectiveKind::kAllReduce, algorithm, WirePrecision::kF32});
    all.push_back({CollectiveKind::kBarrier, algorithm, WirePrecision::kF32});
  }
  for (const Algorithm algorithm : {Algorithm::kButterfly, Algorithm::kRing}) {
    for (const CollectiveKind kind :
         {CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
          CollectiveKind::kBroadcast, CollectiveKind::kBarrier, CollectiveKind::kReduce}) {
      all.push_back({kind, algorithm, WirePrecision::kF32});
    }
    for (const WirePrecision precision :
         {WirePrecision::kBf16, WirePrecision::kF16, WirePrecision::kInt8}) {
      all.push_back({CollectiveKind::kAllReduce, algorithm, precision});
    }
    all.push_back({CollectiveKind::kReduceScatter, algorithm, WirePrecision::kBf16});
    all.push_back({CollectiveKind::kAllGather, algorithm, WirePrecision::kInt8});
    all.push_back({CollectiveKind::kBroadcast, algorithm, WirePrecision::kF16});
  }
  for (const WirePrecision precision : {WirePrecision::kF32, WirePrecision::kInt8}) {
    all.push_back({CollectiveKind::kAllReduce, Algorithm::kHierarchical, precision});
  }
  return all;
}

// Hosts of one, two and three members, mixed.
std::vector<int> hosts_of(int members) {
  constexpr std::array<int, 8> kHosts = {0, 1, 0, 2, 2, 1, 2, 3};
  return {kHosts.begin(), kHosts.begin() + members};
}

std::string name_of(const Way& way) {
  std::string name = std::string(to_string(way.kind)) + "_" +
                     std::string(to_string(way.algorithm)) + "_" +
                     std::string(to_string(way.precision));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// A rounding of values below `members`, once a hop and once more.
double tolerance(const Way& way, int members) {
  const double hops = members + 1;
  switch (way.precision) {
    case WirePrecision::kF32:
      return 1e-6 * members;
    case WirePrecision::kBf16:
      return hops * members / 256.0 / 2;
    case WirePrecision::kF16:
      return hops * members / 2048.0 / 2;
    case WirePrecision::kInt8:
      break;
  }
  return hops * members / 127.0 / 2;
}

class CollectiveContract : public testing::TestWithParam<Way> {
 protected:
  CollectiveOptions options(int members) const {
    CollectiveOptions options = small_segments(members);
    options.kind = GetParam().kind;
    options.algorithm = GetParam().algorithm;
    options.precision = GetParam().precision;
    options.root = Rank(members / 2);
    options.hosts = hosts_of(members);
    return options;
  }
  // About `wanted`, as the kind allows.
  std::int64_t elements(std::int64_t wanted, int members) const {
    if (GetParam().kind == CollectiveKind::kBarrier) return 0;
    const bool parts = GetParam().kind == CollectiveKind::kReduceScatter ||
                       GetParam().kind == CollectiveKind::kAllGather;
    return parts ? (wanted + members - 1) / members * members : wanted;
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, CollectiveContract, testing::ValuesIn(ways()),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(CollectiveContract, ResultsAreTheOraclesAndBitEqual) {
  for (const int members : {1, 2, 3, 4, 5, 7, 8}) {
    for (const std::int64_t wanted : {0, 1, 3, 129, 1000, 4097, 20011}) {
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        SCOPED_TRACE(testing::Message() << members << " members, " << wanted << ", seed " << seed);
        TestCollectiveNetwork network(options(members), elements(wanted, members), seed);
        network.run();
        network.expect_results(tolerance(GetParam(), members));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(CollectiveContract, OrderOfEventsDoesNotChangeTheBits) {
  const int members = 5;
  std::vector<float> first;
  for (std::uint64_t order = 0; order < 4; ++order) {
    TestCollectiveNetwork network(options(members), elements(5001, members), 9);
    for (std::uint64_t i = 0; i < order; ++i) network.below(2);
    network.run();
    const auto [begin, end] = network.result_range(members - 1);
    const std::shared_ptr<FloatBuffer> buffer = network.core(members - 1).result();
    const auto part = buffer->span().subspan(static_cast<std::size_t>(begin),
                                             static_cast<std::size_t>(end - begin));
    if (order == 0) first.assign(part.begin(), part.end());
    EXPECT_TRUE(std::ranges::equal(first, part));
  }
}

TEST_P(CollectiveContract, LinksBreakAndComeBackAtAnyMoment) {
  for (const int members : {2, 3, 6}) {
    for (const std::int64_t wanted : {100, 9001}) {
      for (const std::uint64_t seed : TestSeeds(1, 25)) {
        SCOPED_TRACE(testing::Message() << members << " members, " << wanted << ", seed " << seed);
        TestCollectiveNetwork network(options(members), elements(wanted, members), seed);
        network.break_links(4, 60);
        network.run();
        network.expect_results(tolerance(GetParam(), members));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(CollectiveContract, NothingIsSentBeforeResume) {
  CollectiveOptions closed = options(3);
  closed.start_open = false;
  TestCollectiveNetwork network(closed, elements(5000, 3), 5);
  network.run();
  EXPECT_EQ(network.frames_sent(), 0U);
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      if (a == b) continue;
      ASSERT_TRUE(network.core(a).resume(Rank(b), {}).ok());
    }
  }
  network.run();
  network.expect_results(tolerance(GetParam(), 3));
}

TEST_P(CollectiveContract, AnyFrameIsTakenOrRefusedAndNothingElse) {
  struct Silent final : CollectiveSink {
    void send(Rank, Frame) override {}
    std::size_t queued_bytes(Rank) const override { return 0; }
  } sink;
  CollectiveOptions own = options(4);
  own.rank = Rank(1);
  const std::int64_t size = elements(4000, 4);
  const auto core = make_collective(own, size, sink);
  const std::vector<float> input(static_cast<std::size_t>(size), 1.0F);
  core->contribute(0, input);
  Rng rng(4);
  for (int i = 0; i < 30000; ++i) {
    SegmentHead head;
    head.id = own.id;
    head.op = static_cast<CollectiveOp>(rng.below(4));
    head.form = static_cast<std::uint8_t>(rng.below(256));
    head.elements = rng.below(2) == 0 ? static_cast<std::uint64_t>(size) : rng.below(9000);
    head.segment = static_cast<std::uint32_t>(rng.below(60));
    const Bytes bytes = head.encode();
    const Bytes body(4 * rng.below(400));
    const Rank from(static_cast<int>(rng.below(6)) - 1);
    const MutableByteSpan out = core->body_destination(from, bytes, body.size());
    ASSERT_TRUE(out.empty() || out.size() == body.size());
    const Code code = core->on_frame(from, {frame_type::kSegment, bytes, body}).code();
    ASSERT_THAT(code, testing::AnyOf(Code::kOk, Code::kCorrupt, Code::kInvalidArgument));
  }
  EXPECT_EQ(core->on_frame(Rank(0), {frame_type::kSegment, {}, {}}).code(), Code::kCorrupt);
  EXPECT_EQ(core->resume(Rank(2), Bytes(100000)).code(), Code::kCorrupt);
}

TEST(Barrier, NobodyEndsItAlone) {
  struct Silent final : CollectiveSink {
    void send(Rank, Frame) override {}
    std::size_t queued_bytes(Rank) const override { return 0; }
  } sink;
  for (const CollectiveKind kind : {CollectiveKind::kBarrier, CollectiveKind::kAllReduce}) {
    for (const Algorithm algorithm :
         {Algorithm::kAuto, Algorithm::kDirect, Algorithm::kTree, Algorithm::kButterfly,
          Algorithm::kRing, Algorithm::kHierarchical}) {
      CollectiveOptions options = small_segments(3);
      options.kind = kind;
      options.algorithm = algorithm;
      options.hosts = hosts_of(3);
      const auto core = make_collective(options, 0, sink);
      EXPECT_TRUE(core->contributed());
      EXPECT_FALSE(core->complete()) << to_string(algorithm);
    }
  }
}

// --- Precision.

class WirePrecisions : public testing::TestWithParam<Way> {};
INSTANTIATE_TEST_SUITE_P(
    Ways, WirePrecisions,
    testing::Values(Way{CollectiveKind::kAllReduce, Algorithm::kRing, WirePrecision::kBf16},
                    Way{CollectiveKind::kAllReduce, Algorithm::kRing, WirePrecision::kF16},
                    Way{CollectiveKind::kAllReduce, Algorithm::kRing, WirePrecision::kInt8},
                    Way{CollectiveKind::kAllReduce, Algorithm::kButterfly, WirePrecision::kBf16},
                    Way{CollectiveKind::kAllReduce, Algorithm::kButterfly, WirePrecision::kInt8},
                    Way{CollectiveKind::kAllReduce, Algorithm::kHierarchical,
                        WirePrecision::kInt8}),
    [](const auto& way) { return name_of(way.param); });

TEST_P(WirePrecisions, ItTravelsShort) {
  constexpr std::int64_t kElements = 30000;
  CollectiveOptions options = small_segments(4);
  options.algorithm = GetParam().algorithm;
  options.hosts = {0, 1, 2, 3};
  TestCollectiveNetwork exact(options, kElements, 3);
  exact.run();
  options.precision = GetParam().precision;
  TestCollectiveNetwork network(options, kElements, 3);
  network.run();
  network.expect_results(tolerance(GetParam(), 4));
  const double ratio =
      static_cast<double>(exact.body_bytes_sent()) / static_cast<double>(network.body_bytes_sent());
  EXPECT_GT(ratio, GetParam().precision == WirePrecision::kInt8 ? 3.5 : 1.95);
}

TEST_P(WirePrecisions, WithFeedbackTheSumOfManyRoundsIsTheSum) {
  constexpr int kMembers = 4;
  constexpr std::size_t kElements = 2000;
  constexpr int kRounds = 60;
  CollectiveOptions options = small_segments(kMembers);
  options.algorithm = GetParam().algorithm;
  options.hosts = {0, 1, 1, 0};
  options.precision = GetParam().precision;
  const auto worst_after = [&](bool feedback) {
    std::vector<std::shared_ptr<FloatBuffer>> residuals;
    for (int rank = 0; rank < kMembers && feedback; ++rank) {
      residuals.push_back(std::make_shared<FloatBuffer>(kElements));
      std::ranges::fill(residuals.back()->span(), 0.0F);
    }
    std::vector<double> total(kElements, 0.0);
    std::vector<double> wanted(kElements, 0.0);
    for (int round = 0; round < kRounds; ++round) {
      // The same inputs each time: what rounding drops is always on the same side.
      TestCollectiveNetwork network(options, kElements, 21, residuals);
      network.run();
      const std::shared_ptr<FloatBuffer> result = network.core(0).result();
      for (std::size_t i = 0; i < kElements; ++i) {
        total[i] += static_cast<double>(result->span()[i]);
        wanted[i] += network.wanted(i);
      }
    }
    double worst = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      worst = std::max(worst, std::abs(total[i] - wanted[i]));
    }
    return worst;
  };
  const double with = worst_after(true);
  EXPECT_LT(with, 2 * tolerance(GetParam(), kMembers));
  EXPECT_GT(worst_after(false), 4 * with);
}

TEST(WirePrecisionsDiffer, MembersAreToldInWords) {
  CollectiveOptions options = small_segments(2);
  options.rank = Rank(0);
  struct Silent final : CollectiveSink {
    void send(Rank, Frame frame) override { sent.push_back(std::move(frame)); }
    std::size_t queued_bytes(Rank) const override { return 0; }
    std::vector<Frame> sent;
  } sink;
  options.algorithm = Algorithm::kRing;
  const std::vector<float> input(3000, 1.0F);
  const auto theirs = make_collective(options, 3000, sink);
  theirs->contribute(0, input);
  ASSERT_FALSE(sink.sent.empty());
  options.rank = Rank(1);
  options.precision = WirePrecision::kBf16;
  Silent other;
  const auto own = make_collective(options, 3000, other);
  const Frame& frame = sink.sent.front();
  const Status status = own->on_frame(Rank(0), {frame.type, frame.head, frame.body.span()});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(),
              testing::AllOf(testing::HasSubstr("f32"), testing::HasSubstr("bf16")));
}

// --- The choice.

TEST(ChooseAlgorithm, FollowsSizeMembersAndLine) {
  const auto choice = [](int members, std::int64_t bytes, LinkProfile link = {}) {
    CollectiveOptions options;
    options.size = members;
    options.link = link;
    return choose_algorithm(options, bytes / 4);
  };
  EXPECT_EQ(choice(4, 4096), Algorithm::kDirect);
  EXPECT_EQ(choice(64, 64), Algorithm::kTree);
  EXPECT_EQ(choice(8, 64 << 10), Algorithm::kButterfly);
  EXPECT_EQ(choice(8, 64 << 20), Algorithm::kRing);
  EXPECT_EQ(choice(1, 64 << 20), Algorithm::kRing);
  // A link round the world: fewer delays win for longer.
  const LinkProfile far{0.1, 10e6, 20e-6};
  EXPECT_EQ(choice(8, 4 << 20, far), Algorithm::kButterfly);
  EXPECT_EQ(choice(8, 512 << 20, far), Algorithm::kRing);
}

TEST(ChooseAlgorithm, FollowsWhatTheViewSaysOfItsLines) {
  const auto choice = [](const LinkSummary& links, std::int64_t bytes) {
    CollectiveOptions options;
    options.size = 8;
    options.link = profile_of(links, options.link);
    return choose_algorithm(options, bytes / 4);
  };
  const LinkCode slow = LinkCode::of(1e6);
  const LinkCode fast = LinkCode::of(1e7);
  EXPECT_EQ(choice({}, 256 << 10), Algorithm::kButterfly);
  EXPECT_EQ(choice({fast, fast, LinkCode::of(100)}, 256 << 10), Algorithm::kRing);
  EXPECT_EQ(choice({fast, fast, LinkCode::of(50e3)}, 256 << 10), Algorithm::kButterfly);
  // Slow links that the ring leaves out.
  EXPECT_EQ(choice({fast, slow, LinkCode::of(50e3)}, 1 << 20), Algorithm::kRing);
  EXPECT_EQ(choice({slow, slow, LinkCode::of(500e3)}, 1 << 20), Algorithm::kButterfly);
}

// Among so many members there are no connections between most of them.
TEST(ChooseAlgorithm, InALargeViewOnlyTheTreeAndTheRingAreChosen) {
  CollectiveOptions options;
  options.link = {0.1, 10e6, 20e-6};
  for (const std::int64_t elements : {std::int64_t{0}, std::int64_t{10}, std::int64_t{8 << 10},
                                      std::int64_t{64 << 10}, std::int64_t{16 << 20}}) {
    options.size = options.mesh_members;
    const Algorithm small = choose_algorithm(options, elements);
    options.size = options.mesh_members + 1;
    const Algorithm large = choose_algorithm(options, elements);
    EXPECT_TRUE(large == Algorithm::kTree || large == Algorithm::kRing) << elements;
    if (elements == 64 << 10) {
      EXPECT_EQ(small, Algorithm::kButterfly);
    }
  }
}

TEST(ChooseAlgorithm, OnlyButterfliesCanAggregate) {
  CollectiveOptions options;
  options.size = 3;
  options.algorithm = Algorithm::kRing;
  options.aggregator = *Aggregator::parse("median");
  EXPECT_EQ(choose_algorithm(options, 10), Algorithm::kButterfly);
}

}  // namespace
}  // namespace weft::collective_contract_test
