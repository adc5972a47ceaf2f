// A slice of what weft_sim runs, small enough for every change.
#include <gtest/gtest.h>

#include "simulation.h"

namespace weft::sim_test {
namespace {

SimulationOptions options(std::uint64_t seed, int peers) {
  SimulationOptions out;
  out.seed = seed;
  out.peers = peers;
  return out;
}

void expect_sound(int peers, std::uint64_t first, std::uint64_t last) {
  std::uint64_t rounds = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const SimulationResult result = simulate(options(seed, peers));
    EXPECT_EQ(result.fault, "") << "weft_sim --peers " << peers << " --seed " << seed;
    rounds += result.rounds;
  }
  EXPECT_GT(rounds, last - first);
}

void expect_one_again(int peers, std::uint64_t first, std::uint64_t last) {
  std::uint64_t merges = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    SimulationOptions merging = options(seed, peers);
    merging.merge = true;
    const SimulationResult result = simulate(merging);
    EXPECT_EQ(result.fault, "") << "weft_sim --merge --peers " << peers << " --seed " << seed;
    merges += result.merges;
  }
  EXPECT_GT(merges, 0U);
}

TEST(Simulation, TheSeedRepeatsTheRun) {
  const SimulationResult a = simulate(options(5, 6));
  const SimulationResult b = simulate(options(5, 6));
  EXPECT_EQ(a.trace_hash, b.trace_hash);
  EXPECT_EQ(a.events, b.events);
  EXPECT_NE(a.trace_hash, simulate(options(6, 6)).trace_hash);
}

TEST(Simulation, TwoPeers) { expect_sound(2, 1, 40); }
TEST(Simulation, ThreePeers) { expect_sound(3, 1, 40); }
TEST(Simulation, FivePeers) { expect_sound(5, 1, 60); }
TEST(Simulation, EightPeers) { expect_sound(8, 1, 60); }
// Each of these once ended badly: a joiner whose sponsor was no member any more, one that had an
// old ticket, those where nobody lives who knows the newest view, those where all members of the
// view that a peer knew were dead, while the run lived on in members of an earlier one, and one
// where only a newcomer could tell a member of the view that it had accepted.
TEST(Simulation, SeedsThatFoundFaults) {
  expect_sound(3, 3629, 3629);
  expect_sound(3, 5129, 5129);
  expect_sound(3, 8141, 8141);
  expect_sound(3, 955, 955);
  expect_sound(3, 1376, 1376);
  expect_sound(3, 2286, 2286);
  expect_sound(5, 1131, 1131);
  expect_sound(5, 1754, 1754);
  expect_sound(8, 903, 903);
}
// Newcomers that did not know whom the run had lost, a branch that absorbed another one twice, and
// a member that offered the state of a branch that it had been in before.
TEST(Simulation, SeedsOfBranchesThatFoundFaults) {
  expect_one_again(3, 528, 528);
  expect_one_again(3, 541, 541);
  expect_one_again(5, 219, 219);
  expect_one_again(5, 2220, 2220);
}
// With branches: every side goes on, and they become one again.
TEST(Simulation, BranchesOfFiveMerge) { expect_one_again(5, 1, 30); }
TEST(Simulation, BranchesOfEightMerge) { expect_one_again(8, 1, 20); }
TEST(Simulation, SixtyFourPeers) { expect_sound(64, 1, 3); }

}  // namespace
}  // namespace weft::sim_test
