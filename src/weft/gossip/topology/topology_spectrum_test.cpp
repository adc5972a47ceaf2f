// The second eigenvalue of the weights, which is how fast members agree, against closed forms.
#include <cmath>
#include <fstream>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/gossip/topology/test_mixing_matrix.h"
#include "weft/gossip/topology/test_topology_graph.h"

namespace weft::topology_spectrum_test {
namespace {

using testing_gossip::edge_count;
using testing_gossip::graph_of;
using testing_gossip::MixingMatrix;
using testing_gossip::test_ids;
using testing_gossip::topology_of;

double second_eigenvalue(const std::string& text, std::size_t members, std::uint64_t seed = 2) {
  return MixingMatrix(test_ids(members, seed), topology_of(text, seed)).second_eigenvalue();
}

// cos(2 pi k / n).
double turn_cosine(std::size_t k, std::size_t n) {
  return std::cos(2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
}

TEST(TopologySpectrum, ARing) {
  for (const std::size_t members : {8U, 16U, 40U}) {
    const double expected = 1.0 / 3 + 2.0 / 3 * turn_cosine(1, members);
    EXPECT_NEAR(second_eigenvalue("ring", members), expected, 1e-9);
  }
}

// The sums of the eigenvalues of its two rings.
TEST(TopologySpectrum, ATorus) {
  for (const auto& [members, longest] : std::map<std::size_t, std::size_t>{
           {16, 4}, {30, 6}, {64, 8}, {100, 10}, {182, 14}, {196, 14}}) {
    const double expected = 3.0 / 5 + 2.0 / 5 * turn_cosine(1, longest);
    EXPECT_NEAR(second_eigenvalue("torus", members), expected, 1e-9) << members;
  }
}

// With all edges of weight 1/5, I - L / 5: the path of c members has the eigenvalue
// 2 - 2 cos(pi / c) of its Laplacian L.
TEST(TopologySpectrum, AGridWithUniformWeights) {
  for (const auto& [members, longest] :
       std::map<std::size_t, std::size_t>{{16, 4}, {30, 6}, {64, 8}, {196, 14}}) {
    const Topology grid = topology_of("grid", 2);
    const MixingMatrix weights(test_ids(members, 2), grid, Round(1), grid.degree_max(members));
    const double expected = 1 - (2 - 2 * turn_cosine(1, 2 * longest)) / 5;
    EXPECT_NEAR(weights.second_eigenvalue(), expected, 1e-9) << members;
  }
}

TEST(TopologySpectrum, ACompleteGraphAgreesAtOnce) {
  for (const std::size_t members : {2U, 3U, 50U}) {
    EXPECT_NEAR(second_eigenvalue("complete", members), 0, 1e-9);
  }
}

// Each edge has the weight 1/n: what leaves differ in falls by 1 - 1/n.
TEST(TopologySpectrum, AStar) {
  for (const std::size_t members : {3U, 10U, 50U}) {
    EXPECT_NEAR(second_eigenvalue("star", members), 1 - 1.0 / static_cast<double>(members), 1e-9);
  }
}

// A circulant matrix: its eigenvalues are the Fourier sums of its first row.
TEST(TopologySpectrum, AnExponentialGraph) {
  for (const std::size_t members : {5U, 16U, 32U, 100U, 129U}) {
    std::set<std::size_t> steps;
    for (std::size_t distance = 1; distance < members; distance *= 2) {
      steps.insert(distance);
      steps.insert(members - distance);
    }
    double expected = 0;
    for (std::size_t k = 1; k < members; ++k) {
      double sum = 1;
      for (const std::size_t step : steps) sum += turn_cosine(k * step % members, members);
      expected = std::max(expected, std::abs(sum) / static_cast<double>(1 + steps.size()));
    }
    EXPECT_NEAR(second_eigenvalue("exponential", members), expected, 1e-9) << members;
  }
}

// The product of the weights of all rounds of a period takes any start to its mean.
TEST(TopologySpectrum, OnePeerOfAPowerOfTwoGivesTheExactMeanInOnePeriod) {
  for (const std::size_t members : {2U, 8U, 64U}) {
    const Topology topology = topology_of("one_peer_exponential", 3);
    const std::vector<PeerId> ids = test_ids(members, 3);
    const std::uint64_t period = topology.neighbours(ids[0], ids).period;
    EXPECT_EQ(std::uint64_t{1} << period, members);
    for (const std::uint64_t first : {1U, 2U, 100U}) {
      std::vector<double> values(members);
      values[members / 3] = 1;
      for (std::uint64_t round = first; round < first + period; ++round) {
        values = MixingMatrix(ids, topology, Round(round)).times(values);
      }
      for (const double value : values) EXPECT_EQ(value, 1 / static_cast<double>(members));
    }
  }
}

// The factor by which the distance falls in the mean of many periods.
double factor_by_rounds(const Topology& topology, const std::vector<PeerId>& ids) {
  const std::uint64_t period = topology.neighbours(ids[0], ids).period;
  std::vector<MixingMatrix> weights;
  for (std::uint64_t round = 0; round < period; ++round) {
    weights.emplace_back(ids, topology, Round(period + round));
  }
  Rng rng(1);
  std::vector<double> values(ids.size());
  for (double& value : values) value = rng.normal();
  double logarithms = 0;
  constexpr std::uint64_t kPeriods = 300;
  for (std::uint64_t i = 0; i < 2 * kPeriods; ++i) {
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    double square = 0;
    for (double& value : values) square += std::pow(value -= mean, 2);
    for (double& value : values) value /= std::sqrt(square);
    if (i >= kPeriods) logarithms += std::log(square) / 2;
    for (const MixingMatrix& round : weights) values = round.times(values);
  }
  return std::exp(logarithms / static_cast<double>(kPeriods * period));
}

// A row of docs/gossip.md: the mean of five seeds.
std::string row_of(const std::string& text) {
  constexpr std::uint64_t kSeeds = 5;
  double degree = 0;
  double factor = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Topology topology = topology_of(text, seed);
    const std::vector<PeerId> ids = test_ids(200, seed);
    const bool varies = topology.neighbours(ids[0], ids).period > 1;
    factor += varies ? factor_by_rounds(topology, ids) : second_eigenvalue(text, 200, seed);
    const double edges = static_cast<double>(edge_count(graph_of(ids, topology)));
    degree += varies ? static_cast<double>(topology.degree_max(200)) : 2 * edges / 200;
  }
  return fmt::format("| `{}` | {:.1f} | {:.3f} |", text, degree / kSeeds, factor / kSeeds);
}

TEST(TopologySpectrum, ThePageHasTheFiguresOfEachTopology) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/docs/gossip.md");
  std::ostringstream page;
  page << file.rdbuf();
  std::vector<std::string> texts = {"random_regular:degree=6", "erdos_renyi:p=0.05"};
  for (const TopologyDef* def : topologies()) texts.emplace_back(def->name);
  for (const std::string& text : texts) EXPECT_THAT(page.str(), testing::HasSubstr(row_of(text)));
}

// Friedman's bound for random regular graphs, with room for unions of rings of this size.
TEST(TopologySpectrum, RandomRegularGraphsHaveALargeGap) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const double friedman = (1 + 2 * std::sqrt(5.0)) / 7;
    const double lambda = second_eigenvalue("random_regular:degree=6", 200, seed);
    EXPECT_LT(lambda, friedman + 0.05);
    EXPECT_GT(lambda, friedman - 0.15);
  }
}

}  // namespace
}  // namespace weft::topology_spectrum_test
