// What the averaging is for: how fast members agree, and that D-PSGD finds the optimum.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "weft/gossip/gossip_core.h"
#include "weft/gossip/test_gossip_network.h"
#include "weft/gossip/topology/test_mixing_matrix.h"
#include "weft/gossip/topology/test_topology_graph.h"

namespace weft::gossip_convergence_test {
namespace {

using testing_gossip::every_topology;
using testing_gossip::MixingMatrix;
using testing_gossip::topology_of;

TestGossipOptions network_options(std::size_t members, const Topology& topology) {
  TestGossipOptions options;
  options.seed = 11;
  options.gossip.topology = topology;
  options.gossip.start_members = members;
  // Nobody is to be late here.
  options.gossip.deadline = std::chrono::seconds(30);
  return options;
}

// All of them are in reach of the first, whose book tells them of each other.
void gather(TestGossipNetwork& network, std::size_t members,
            const std::function<std::vector<float>(std::size_t)>& values) {
  for (std::size_t i = 0; i < members; ++i) {
    network.add(values(i), false,
                i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{0});
  }
}

std::vector<double> means(TestGossipNetwork& network) {
  std::vector<double> sums(network.member(0).values.size());
  for (std::size_t i = 0; i < network.size(); ++i) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += network.member(i).values[k];
  }
  for (double& sum : sums) sum /= static_cast<double>(network.size());
  return sums;
}

double distance(TestGossipNetwork& network) {
  const std::vector<double> mean = means(network);
  double sum = 0;
  for (std::size_t i = 0; i < network.size(); ++i) {
    for (std::size_t k = 0; k < mean.size(); ++k) {
      sum += std::pow(network.member(i).values[k] - mean[k], 2);
    }
  }
  return std::sqrt(sum);
}

MixingMatrix matrix_of(TestGossipNetwork& network, const Topology& topology) {
  std::vector<PeerId> ids;
  for (std::size_t i = 0; i < network.size(); ++i) ids.push_back(network.id(i));
  return {ids, topology};
}

// The distance to the mean falls by the second eigenvalue a round, in the end just by that, and the
// mean stays where it was.
void check_averaging(std::size_t members, const Topology& topology, std::uint64_t rounds) {
  constexpr std::size_t kElements = 32;
  TestGossipOptions options = network_options(members, topology);
  options.gossip.last_round = Round(rounds);
  // By round: members may be a round apart.
  std::map<Round, std::vector<std::vector<float>>> after;
  TestGossipNetwork network(
      options, [&](std::size_t, Round round, std::span<const float>, std::span<float> mixed) {
        after[round].emplace_back(mixed.begin(), mixed.end());
      });
  Rng rng(3);
  gather(network, members, [&](std::size_t) {
    std::vector<float> values(kElements);
    for (float& value : values) value = static_cast<float>(rng.normal());
    return values;
  });
  const std::vector<double> before = means(network);
  const double first = distance(network);
  ASSERT_TRUE(network.run_rounds(Round(rounds), std::chrono::minutes(60)));

  const double lambda = matrix_of(network, topology).second_eigenvalue();
  const std::vector<double> now = means(network);
  for (std::size_t k = 0; k < kElements; ++k) EXPECT_NEAR(now[k], before[k], 2e-6);
  std::vector<double> fell;
  for (const auto& [round, all] : after) {
    ASSERT_EQ(all.size(), members) << round.value();
    double sum = 0;
    for (const std::vector<float>& values : all) {
      for (std::size_t k = 0; k < kElements; ++k) sum += std::pow(values[k] - before[k], 2);
    }
    fell.push_back(std::sqrt(sum));
    EXPECT_LE(fell.back(),
              first * std::pow(lambda, static_cast<double>(round.value())) * 1.001 + 1e-5);
  }
  const std::size_t half = fell.size() / 2;
  const double rate =
      std::pow(fell.back() / fell[half - 1], 1.0 / static_cast<double>(fell.size() - half));
  EXPECT_NEAR(rate, lambda, 0.02);
  for (std::size_t i = 0; i < members; ++i) {
    for (const GossipMix& mix : network.member(i).mixes) ASSERT_EQ(mix.missing, 0U);
    // The first rounds may know an edge that only one end believes in.
    const GossipMix& last = network.member(i).mixes.back();
    EXPECT_EQ(last.mixed, last.degree);
  }
}

TEST(GossipAveraging, FallsAtTheSpectralGapRateOnARing) {
  check_averaging(24, topology_of("ring", 5), 120);
}

// Runs until all have finished the last round. As processes do, each leaves once its neighbours
// need it no more, and ends when its last frames are through.
bool run_and_leave(TestGossipNetwork& network) {
  std::map<std::size_t, TimePoint> left;
  return network.run_until(
      [&] {
        for (std::size_t i = 0; i < network.size(); ++i) {
          const TestGossipNetwork::Member& member = network.member(i);
          if (member.core->phase() != GossipPhase::kOver || !member.core->parted()) continue;
          if (left.try_emplace(i, network.now()).second) network.leave(i);
          const bool ends = network.now() - left.at(i) > std::chrono::milliseconds(100);
          if (member.running && ends) network.crash(i, true);
        }
        return left.size() == network.size();
      },
      std::chrono::minutes(60));
}

// What a simulated run of `members` does to one value of each, round by round, beside the product
// of the weights of those rounds.
void check_rounds(const Topology& topology, std::size_t members, std::size_t weight_degree,
                  Duration compute_spread = std::chrono::milliseconds(20)) {
  constexpr std::uint64_t kRounds = 20;
  TestGossipOptions options = network_options(members, topology);
  options.compute_spread = compute_spread;
  options.gossip.last_round = Round(kRounds);
  options.gossip.weight_degree = weight_degree;
  std::map<Round, std::vector<double>> after;
  TestGossipNetwork network(options, [&](std::size_t member, Round round, std::span<const float>,
                                         std::span<float> mixed) {
    std::vector<double>& values = after[round];
    values.resize(members);
    values[member] = static_cast<double>(mixed[0]);
  });
  Rng rng(3);
  std::vector<double> expected(members);
  gather(network, members, [&](std::size_t member) {
    const auto value = static_cast<float>(rng.normal());
    expected[member] = static_cast<double>(value);
    return std::vector<float>{value};
  });
  std::vector<PeerId> ids;
  for (std::size_t i = 0; i < members; ++i) ids.push_back(network.id(i));
  ASSERT_TRUE(run_and_leave(network));
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    expected = MixingMatrix(ids, topology, Round(round), weight_degree).times(expected);
    const std::vector<double>& got = after.at(Round(round));
    // Twenty roundings of values up to 3.
    for (std::size_t i = 0; i < members; ++i) ASSERT_NEAR(got[i], expected[i], 6e-6) << round;
  }
  for (std::size_t i = 0; i < members; ++i) {
    for (const GossipMix& mix : network.member(i).mixes) ASSERT_EQ(mix.members, members);
  }
}

TEST(GossipAveraging, EachRoundOfEveryTopologyMixesByItsWeights) {
  for (const std::string& text : every_topology()) {
    for (const std::size_t members : {16U, 27U}) {
      SCOPED_TRACE(text + " of " + std::to_string(members));
      check_rounds(topology_of(text, 5), members, 0);
    }
  }
}

// A member may be ahead of its neighbours by as many rounds as need nothing of them.
TEST(GossipAveraging, MembersOfUnequalSpeedMissNoRoundOfAnyTopology) {
  for (const std::string& text : every_topology()) {
    for (const std::size_t members : {8U, 40U}) {
      SCOPED_TRACE(text + " of " + std::to_string(members));
      check_rounds(topology_of(text, 5), members, 0, std::chrono::seconds(20));
    }
  }
}

// More than the inbox has room for before it knows the graph.
TEST(GossipAveraging, AHubMixesTheParametersOfHundreds) {
  check_rounds(topology_of("star", 5), 290, 0);
}

TEST(GossipAveraging, UniformWeightsAreThoseOfTheLargestDegree) {
  for (const std::string& text : every_topology()) {
    const Topology topology = topology_of(text, 5);
    if (topology.has_fixed_degree()) check_rounds(topology, 14, topology.degree_max(14));
  }
}

TEST(GossipAveraging, FallsAtTheSpectralGapRateOnARandomRegularGraph) {
  check_averaging(200, random_regular(6, 5), 24);
}

// Member i minimises |x - c_i|^2 / 2; together they minimise the sum, whose optimum is the mean of
// the c_i. With W symmetric and a small constant rate the mean of the members goes exactly as
// gradient descent on the mean function does, and the distance from it is at most
// rate * max |grad| / (1 - lambda): Lian et al., lemma 5 and theorem 1, without noise.
TEST(GossipDpsgd, FindsTheOptimumOfASumOfQuadraticsWithinTheBound) {
  constexpr std::size_t kMembers = 40;
  constexpr std::size_t kElements = 8;
  constexpr std::uint64_t kRounds = 150;
  constexpr float kRate = 0.1F;
  const Topology topology = random_regular(4, 5);
  Rng rng(17);
  std::vector<std::vector<float>> centres(kMembers, std::vector<float>(kElements));
  std::vector<double> optimum(kElements);
  double largest = 0;
  for (std::vector<float>& centre : centres) {
    double square = 0;
    for (std::size_t k = 0; k < kElements; ++k) {
      centre[k] = static_cast<float>(3 * rng.normal());
      optimum[k] += centre[k] / static_cast<double>(kMembers);
      square += centre[k] * centre[k];
    }
    largest = std::max(largest, std::sqrt(square));
  }
  TestGossipOptions options = network_options(kMembers, topology);
  options.gossip.last_round = Round(kRounds);
  TestGossipNetwork network(options, [&](std::size_t member, Round, std::span<const float> before,
                                         std::span<float> mixed) {
    for (std::size_t k = 0; k < kElements; ++k) {
      mixed[k] -= kRate * (before[k] - centres[member][k]);
    }
  });
  gather(network, kMembers, [](std::size_t) { return std::vector<float>(kElements, 1.0F); });
  ASSERT_TRUE(network.run_rounds(Round(kRounds), std::chrono::minutes(60)));

  // The mean has made kRounds steps of gradient descent: what is left is (1 - rate)^rounds.
  const std::vector<double> mean = means(network);
  for (std::size_t k = 0; k < kElements; ++k) {
    const double left = std::pow(1 - kRate, kRounds) * std::abs(1.0 - optimum[k]);
    EXPECT_NEAR(mean[k], optimum[k], left + 1e-4);
  }
  const double lambda = matrix_of(network, topology).second_eigenvalue();
  const double bound = kRate * 2 * largest / (1 - lambda);
  double farthest = 0;
  for (std::size_t i = 0; i < kMembers; ++i) {
    double square = 0;
    for (std::size_t k = 0; k < kElements; ++k) {
      square += std::pow(network.member(i).values[k] - optimum[k], 2);
    }
    farthest = std::max(farthest, std::sqrt(square));
  }
  EXPECT_LT(farthest, bound);
  // Not because they would all stand still at their own centres.
  EXPECT_GT(largest / farthest, 3);
}

}  // namespace
}  // namespace weft::gossip_convergence_test
