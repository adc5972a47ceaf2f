// MixingRule: how a member makes one vector of its own parameters and its neighbours'.
//
// by_weights is the mean with the weights of the topology, which any one neighbour moves wherever
// it likes. nearest holds against f liars among the neighbours: the member leaves the f vectors out
// that are farthest from its own, and takes the plain mean of the others with its own. So whatever
// liars send moves it no farther than an honest neighbour could. W is not symmetric then: the mean
// of all honest members may drift, though no farther than they are apart.
// IMPLEMENTATION: nearest neighbour averaging of Farhadkhani, Guerraoui, Gupta, Hoang, Pinot and
// Stephan, "Robust collaborative learning with linear gradient overhead", ICML 2023 (MoNNA),
// section 3: of n' vectors in hand, one's own among them, the n' - f nearest. There a member waits
// for a fixed number; here for all neighbours, at most for the deadline. Cost: one pass over each
// vector more. Where it stands: GossipCore::finish(). Threads: pure. Fails: never.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace weft {

enum class MixingRule : std::uint8_t { kByWeights, kNearest };

// The places of those vectors that are in the mean, ascending: all but the `liars` ones with the
// largest distances; of equal ones the first stay. Empty where there are no more than `liars`.
inline std::vector<std::size_t> nearest_vectors(std::span<const double> distances,
                                                std::size_t liars) {
  std::vector<std::size_t> places(distances.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::stable_sort(places.begin(), places.end(),
                   [&](std::size_t a, std::size_t b) { return distances[a] < distances[b]; });
  places.resize(places.size() - std::min(places.size(), liars));
  std::sort(places.begin(), places.end());
  return places;
}

}  // namespace weft
