// Members that lie to their neighbours: those who leave out what is farthest from their own stay
// together, where the mean is carried off.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/gossip/gossip_core.h"
#include "weft/gossip/mixing_rule.h"
#include "weft/gossip/test_gossip_network.h"

namespace weft::gossip_liars_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NearestVectors, LeavesTheFarthestOut) {
  const std::array distances = {4.0, 1.0, 9.0, 1.0, 0.0};
  EXPECT_THAT(nearest_vectors(distances, 0), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(nearest_vectors(distances, 1), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(nearest_vectors(distances, 3), ElementsAre(1, 4)) << "of equal ones the first stay";
  EXPECT_THAT(nearest_vectors(distances, 5), IsEmpty());
  EXPECT_THAT(nearest_vectors(distances, 9), IsEmpty());
  EXPECT_THAT(nearest_vectors({}, 1), IsEmpty());
}

constexpr std::size_t kHonest = 7;
constexpr std::size_t kLiars = 2;
constexpr std::size_t kElements = 16;
constexpr std::uint64_t kRounds = 40;

// Honest members step towards a point of their own near 0, as on data that differ; liars send the
// same vector in each round.
struct Outcome {
  double farthest = 0;  // an honest member's value from 0
  double apart = 0;     // the largest difference between two honest members
};

Outcome run(MixingRule mixing, float lie, const std::string& topology) {
  TestGossipOptions options;
  options.gossip.topology = *Topology::parse(topology, 5);
  options.gossip.start_members = kHonest + kLiars;
  options.gossip.deadline = std::chrono::seconds(30);
  options.gossip.last_round = Round(kRounds);
  options.gossip.mixing = mixing;
  options.gossip.liars = kLiars;
  TestGossipNetwork network(
      options, [&](std::size_t member, Round, std::span<const float>, std::span<float> mixed) {
        for (std::size_t k = 0; k < mixed.size(); ++k) {
          const auto goal = static_cast<float>(std::sin(static_cast<double>(member + 3 * k)));
          mixed[k] = member < kHonest ? mixed[k] + 0.1F * (goal - mixed[k]) : lie;
        }
      });
  for (std::size_t i = 0; i < kHonest + kLiars; ++i) {
    network.add(std::vector<float>(kElements, i < kHonest ? 0.0F : lie), false,
                i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{0});
  }
  EXPECT_TRUE(network.run_rounds(Round(kRounds), std::chrono::minutes(60)));
  Outcome outcome;
  for (std::size_t k = 0; k < kElements; ++k) {
    double low = network.member(0).values[k];
    double high = low;
    for (std::size_t i = 0; i < kHonest; ++i) {
      const double value = network.member(i).values[k];
      low = std::min(low, value);
      high = std::max(high, value);
      outcome.farthest = std::max(outcome.farthest, std::abs(value));
    }
    outcome.apart = std::max(outcome.apart, high - low);
  }
  return outcome;
}

TEST(GossipLiars, TheMeanIsCarriedOffAndNearestNeighboursAreNot) {
  for (const char* topology : {"complete", "random_regular:degree=4"}) {
    EXPECT_GT(run(MixingRule::kByWeights, 1000.0F, topology).farthest, 100.0) << topology;
    const Outcome honest = run(MixingRule::kNearest, 1000.0F, topology);
    // Goals lie in [-1, 1], and nobody who begins there leaves it.
    EXPECT_LE(honest.farthest, 1.0) << topology;
    EXPECT_LT(honest.apart, 1.0) << topology;
  }
}

// The plain mean of a member and the neighbours that it keeps.
TEST(GossipLiars, OneRoundByHand) {
  TestGossipOptions options;
  options.gossip.topology = *Topology::parse("complete", 5);
  options.gossip.start_members = 5;
  options.gossip.deadline = std::chrono::seconds(30);
  options.gossip.last_round = Round(1);
  options.gossip.mixing = MixingRule::kNearest;
  options.gossip.liars = 1;
  TestGossipNetwork network(options, {});
  for (std::size_t i = 0; i < 5; ++i) {
    network.add({static_cast<float>(i * i)}, false,
                i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{0});
  }
  ASSERT_TRUE(network.run_rounds(Round(1), std::chrono::minutes(1)));
  // Values 0, 1, 4, 9, 16; each leaves out the one that is farthest from its own.
  const std::array expected = {14.0F / 4, 14.0F / 4, 14.0F / 4, 30.0F / 4, 30.0F / 4};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(network.member(i).values[0], expected[i], 1e-6F) << i;
    EXPECT_EQ(network.member(i).mixes[0].mixed, 3U);
    EXPECT_EQ(network.member(i).mixes[0].degree, 4U);
    EXPECT_NEAR(network.member(i).mixes[0].own_weight, 0.25, 1e-6);
  }
}

}  // namespace
}  // namespace weft::gossip_liars_test
