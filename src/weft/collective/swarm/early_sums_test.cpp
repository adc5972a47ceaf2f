// Swarm::early_sums() over TLS on the loopback; swarms that change are in the simulator's
// swarm_early_sums_test.cpp.
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/collective/swarm/swarm.h"

namespace weft::early_sums_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kRecipe = "early sums test\n";
const RoundPlan kPlan({{"all", 2}, {"all", 3}, {"all", 1000}});

SwarmOptions peer_options() {
  SwarmOptions options;
  options.listen = "127.0.0.1:0";
  options.recipe_text = kRecipe;
  options.start_members = 2;
  options.membership.recipe_hash = sha256(as_bytes(std::string_view(kRecipe)));
  // Longer than a busy machine lets a thread wait: no member is suspected here.
  options.membership.suspicion_timeout = seconds(30);
  options.finish_limit = seconds(60);
  return options;
}

// Two members' arrays depend on what came early; what one member has got is to be the other's, too.
struct Found {
  Status status;
  std::vector<float> sums;
};

Found train(Swarm& swarm, float own, int rounds) {
  Found found;
  while (rounds > 0) {
    const Result<Turn> turn = swarm.next();
    if (!turn.ok()) return {turn.status(), {}};
    if (turn->kind == TurnKind::kSnapshot) swarm.publish_state(turn->round, Bytes(8));
    if (turn->kind == TurnKind::kApply) return {internal_error("it missed a round"), {}};
    if (turn->kind != TurnKind::kTrain) continue;
    found.status = swarm.begin(kPlan);
    if (!found.status.ok()) return found;
    std::array<float, 2> first = {own, 10 * own};
    swarm.contribute(0, 0, first);
    std::array<float, 2> early{};
    Result<bool> here = false;
    while (here.ok() && !*here) here = swarm.early_sums(0, early, milliseconds(50));
    if (!here.ok()) return {here.status(), {}};
    std::array<float, 3> second = {early[0], early[1], own};
    swarm.contribute(1, 0, second);
    std::array<float, 3> later{};
    here = false;
    while (here.ok() && !*here) here = swarm.early_sums(1, later, milliseconds(50));
    if (!here.ok()) return {here.status(), {}};
    const std::vector<float> rest(1000, later[0]);
    swarm.contribute(2, 0, rest);
    const Result<std::span<const float>> sums = swarm.finish();
    if (!sums.ok()) return {sums.status(), {}};
    found.sums.assign(sums->begin(), sums->end());
    swarm.applied(turn->round, {});
    --rounds;
  }
  return found;
}

TEST(EarlySums, AreTheSumsOfTheRoundThatGoesOn) {
  auto founded = Swarm::found(peer_options());
  ASSERT_TRUE(founded.ok()) << founded.status().to_string();
  const Ticket ticket = (*founded)->ticket(std::chrono::hours(1)).value();
  auto joined = Swarm::join(peer_options(), ticket);
  ASSERT_TRUE(joined.ok()) << joined.status().to_string();
  Found theirs;
  Found mine;
  {
    Thread other([&] { theirs = train(**joined, 5, 3); });
    mine = train(**founded, 2, 3);
  }
  ASSERT_TRUE(mine.status.ok()) << mine.status.to_string();
  ASSERT_TRUE(theirs.status.ok()) << theirs.status.to_string();
  // The last one's are twice what both got for 7 + 7.
  std::vector<float> want = {7, 70, 14, 140, 7};
  want.resize(1005, 28);
  EXPECT_EQ(mine.sums, want);
  EXPECT_EQ(theirs.sums, want);
}

TEST(EarlySums, WaitForAPartThatIsMissingAndRefuseWhatIsWrong) {
  SwarmOptions alone = peer_options();
  alone.start_members = 1;
  auto founded = Swarm::found(std::move(alone));
  ASSERT_TRUE(founded.ok());
  Swarm& swarm = **founded;
  std::array<float, 2> sums{};
  EXPECT_EQ(swarm.early_sums(0, sums, milliseconds(1)).status().code(), Code::kInvalidArgument)
      << "no round is begun";
  Result<Turn> turn = swarm.next();
  while (turn.ok() && turn->kind == TurnKind::kWait) turn = swarm.next();
  ASSERT_TRUE(turn.ok() && turn->kind == TurnKind::kTrain);
  ASSERT_TRUE(swarm.begin(kPlan).ok());
  const std::array<float, 2> first = {1, 2};
  swarm.contribute(0, 0, first);
  Result<bool> here = swarm.early_sums(1, sums, milliseconds(20));
  EXPECT_TRUE(here.ok() && !*here) << "nothing was given to it";
  here = swarm.early_sums(0, sums, seconds(20));
  EXPECT_TRUE(here.ok() && *here);
  EXPECT_EQ(sums, first);
  std::array<float, 1> narrow{};
  EXPECT_EQ(swarm.early_sums(0, narrow, seconds(20)).status().code(), Code::kInvalidArgument);
  const std::vector<float> rest(1003, 4);
  swarm.contribute(1, 0, std::span(rest).first(3));
  swarm.contribute(2, 0, std::span(rest).subspan(3));
  ASSERT_TRUE(swarm.finish().ok());
  EXPECT_EQ(swarm.early_sums(0, sums, milliseconds(1)).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace weft::early_sums_test
