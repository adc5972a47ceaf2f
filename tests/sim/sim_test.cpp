// A slice of what membership_sim runs, small enough for every change.
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/sim/membership/simulation.h"

namespace weft::sim_test {
namespace {

SimulationOptions options(std::uint64_t seed, int peers) {
  SimulationOptions out;
  out.seed = seed;
  out.peers = peers;
  return out;
}

void expect_sound(int peers, const TestSeeds& seeds) {
  std::uint64_t rounds = 0;
  for (const std::uint64_t seed : seeds) {
    const SimulationResult result = simulate(options(seed, peers));
    EXPECT_EQ(result.fault, "") << "membership_sim --peers " << peers << " --seed " << seed;
    rounds += result.rounds;
  }
  EXPECT_GE(rounds, seeds.size());
}

void expect_back(int peers, const TestSeeds& seeds) {
  for (const std::uint64_t seed : seeds) {
    SimulationOptions kept = options(seed, peers);
    kept.records = true;
    const SimulationResult result = simulate(kept);
    EXPECT_EQ(result.fault, "") << "membership_sim --records --peers " << peers << " --seed "
                                << seed;
    EXPECT_GT(result.rounds, 0U);
  }
}

void expect_one_again(int peers, const TestSeeds& seeds) {
  std::uint64_t merges = 0;
  for (const std::uint64_t seed : seeds) {
    SimulationOptions merging = options(seed, peers);
    merging.merge = true;
    const SimulationResult result = simulate(merging);
    EXPECT_EQ(result.fault, "") << "membership_sim --merge --peers " << peers << " --seed " << seed;
    merges += result.merges;
  }
  // A group in which nobody is cut off for long has nothing to merge: some seeds have none.
  if (seeds.whole()) EXPECT_GT(merges, 0U);
}

TEST(Simulation, TheSeedRepeatsTheRun) {
  const SimulationResult a = simulate(options(5, 6));
  const SimulationResult b = simulate(options(5, 6));
  EXPECT_EQ(a.trace_hash, b.trace_hash);
  EXPECT_EQ(a.events, b.events);
  EXPECT_NE(a.trace_hash, simulate(options(6, 6)).trace_hash);
}

TEST(Simulation, TwoPeers) { expect_sound(2, TestSeeds(1, 40)); }
TEST(Simulation, ThreePeers) { expect_sound(3, TestSeeds(1, 40)); }
TEST(Simulation, FivePeers) { expect_sound(5, TestSeeds(1, 60)); }
TEST(Simulation, EightPeers) { expect_sound(8, TestSeeds(1, 60)); }
// Each of these once ended badly: a joiner whose sponsor was no member any more, one that had an
// old ticket, those where nobody lives who knows the newest view, those where all members of the
// view that a peer knew were dead, while the run lived on in members of an earlier one, and one
// where only a newcomer could tell a member of the view that it had accepted.
TEST(Simulation, SeedsThatFoundFaults) {
  expect_sound(3, TestSeeds(3629, 3629));
  expect_sound(3, TestSeeds(5129, 5129));
  expect_sound(3, TestSeeds(8141, 8141));
  expect_sound(3, TestSeeds(955, 955));
  expect_sound(3, TestSeeds(1376, 1376));
  expect_sound(3, TestSeeds(2286, 2286));
  expect_sound(5, TestSeeds(1131, 1131));
  expect_sound(5, TestSeeds(1754, 1754));
  expect_sound(8, TestSeeds(903, 903));
}
// Newcomers that did not know whom the run had lost, a branch that absorbed another one twice, and
// a member that offered the state of a branch that it had been in before.
TEST(Simulation, SeedsOfBranchesThatFoundFaults) {
  expect_one_again(3, TestSeeds(528, 528));
  expect_one_again(3, TestSeeds(541, 541));
  expect_one_again(5, TestSeeds(219, 219));
  expect_one_again(5, TestSeeds(2220, 2220));
}
// One that was let into a branch and lost its others before it had the state.
TEST(Simulation, WhoNeverGotItsBranchsStateFollowsAnother) {
  for (const std::uint64_t seed : {1722U, 7077U}) {
    SimulationOptions merging = options(seed, 3);
    merging.merge = true;
    EXPECT_EQ(simulate(merging).fault, "") << "membership_sim --merge --peers 3 --seed " << seed;
  }
}
// With branches: every side goes on, and they become one again.
TEST(Simulation, BranchesOfFiveMerge) { expect_one_again(5, TestSeeds(1, 30)); }
TEST(Simulation, BranchesOfEightMerge) { expect_one_again(8, TestSeeds(1, 20)); }
// Somebody who was a member tells of views and removals that nobody decided, all the while.
TEST(Simulation, AFormerMemberThatLiesChangesNothing) {
  for (const bool merge : {false, true}) {
    for (const std::uint64_t seed : TestSeeds(1, 30)) {
      SimulationOptions hostile = options(seed, 5);
      hostile.hostile = true;
      hostile.merge = merge;
      const SimulationResult result = simulate(hostile);
      EXPECT_EQ(result.fault, "") << "membership_sim --hostile" << (merge ? " --merge" : "")
                                  << " --peers 5 --seed " << seed;
    }
  }
}
// Machines keep their records: all but one may be lost, and the run goes on once they are back.
TEST(Simulation, TwoPeersComeBackFromTheirRecords) { expect_back(2, TestSeeds(1, 40)); }
TEST(Simulation, ThreePeersComeBackFromTheirRecords) { expect_back(3, TestSeeds(1, 40)); }
TEST(Simulation, EightPeersComeBackFromTheirRecords) { expect_back(8, TestSeeds(1, 30)); }
// The one of two members that may go on alone lacked a committed round, which was lost with the
// other.
TEST(Simulation, WhoLacksACommittedRoundDoesNotGoOnAlone) {
  SimulationOptions hostile = options(145, 3);
  hostile.hostile = true;
  EXPECT_EQ(simulate(hostile).fault, "") << "membership_sim --hostile --peers 3 --seed 145";
}
TEST(Simulation, SixtyFourPeers) { expect_sound(64, TestSeeds(1, 3)); }

}  // namespace
}  // namespace weft::sim_test
