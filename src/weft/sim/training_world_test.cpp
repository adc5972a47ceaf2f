#include "weft/sim/training_world.h"

#include <gtest/gtest.h>

#include "weft/sim/test_world_runs.h"
#include "weft/train/recipe/test_recipe.h"

namespace weft::sim::training_world_test {
namespace {

WorldOptions unequal_world() {
  WorldOptions options;
  options.peers = 5;
  options.samples_per_second = {{200, 2000}, true};
  options.links.megabits = {{10, 100}, false};
  options.links.latency_ms = {{2, 40}, true};
  options.crashes = {{std::nullopt, {{6}, false}}};
  options.joins = {{{6.5}, false}};
  return options;
}

Recipe long_recipe() {
  Recipe recipe = small_recipe();
  recipe.run.steps = 40;
  return recipe;
}

WorldResult run_world(const Recipe& recipe, const WorldOptions& options,
                      const WorldEvents& events = {}) {
  auto world = TrainingWorld::make(recipe, {}, options, events);
  EXPECT_TRUE(world.ok()) << world.status().message();
  return (*world)->run();
}

}  // namespace

TEST(TrainingWorld, OnePeerTrainsAsATrainerAlone) {
  const SystemClock clock;
  Recipe recipe = small_recipe();
  recipe.run.evaluate = false;
  WorldOptions options;
  const WorldResult result = run_world(recipe, options);
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.rounds, Round(6));
  // A group of one needs 24 samples a round, and has 1,000 a second.
  EXPECT_NEAR(result.seconds, 6 * 0.024, 0.01);
  const auto trainer = std::move(Trainer::make(recipe, {}, clock)).value();
  for (std::uint64_t round = 1; round <= 6; ++round) {
    Turn turn;
    turn.kind = TurnKind::kTrain;
    turn.round = Round(round);
    turn.members = 1;
    const auto group = std::move(GroupTrainer::make(recipe, {}, clock)).value();
    MemberState member = group->first_state();
    ASSERT_TRUE(group->adopt(member, trainer->encode("run")).ok());
    const auto part = group->compute(member, turn);
    ASSERT_TRUE(part.ok());
    turn.kind = TurnKind::kApply;
    turn.reduced = part->values;
    turn.reports = {part->report.encode()};
    ASSERT_TRUE(trainer->apply_round(turn).ok());
  }
  EXPECT_EQ(result.state_hash, trainer->digest());
}

TEST(TrainingWorld, TheSameSeedHasTheSameEventsWhateverTheThreads) {
  const std::uint64_t hash = expect_same_events([] {
    WorldResult result = run_world(long_recipe(), unequal_world());
    EXPECT_EQ(result.crashed, 1);
    EXPECT_EQ(result.finished, 5);
    return result;
  });
  WorldOptions other = unequal_world();
  other.seed = 2;
  EXPECT_NE(run_world(long_recipe(), other).event_hash, hash);
}

// Whoever computes, and over whatever lines, the sums are those of the same samples; with the same
// members in the same order even the same bits.
TEST(TrainingWorld, LinesAndSpeedsChangeTimesAndNoState) {
  Recipe recipe = long_recipe();
  recipe.group.ring = "fixed";
  WorldOptions fast;
  fast.peers = 3;
  WorldOptions slow = fast;
  slow.samples_per_second = {{100, 50}, false};
  slow.links.megabits = {{5}, false};
  slow.links.latency_ms = {{30}, false};
  const WorldResult a = run_world(recipe, fast);
  const WorldResult b = run_world(recipe, slow);
  EXPECT_EQ(a.state_hash, b.state_hash);
  EXPECT_NE(a.event_hash, b.event_hash);
  // The slowest computes 8 samples of 24 at 50 a second.
  EXPECT_GT(b.seconds, 40 * 8.0 / 50);
  EXPECT_LT(a.seconds, b.seconds / 3);
}

TEST(TrainingWorld, LossCostsTime) {
  WorldOptions options;
  options.peers = 2;
  options.links.latency_ms = {{50}, false};
  Recipe recipe = long_recipe();
  recipe.model.hidden_units = 128;
  const WorldResult clean = run_world(recipe, options);
  options.links.loss = {{0.02}, false};
  const WorldResult lossy = run_world(recipe, options);
  EXPECT_EQ(clean.state_hash, lossy.state_hash);
  EXPECT_GT(lossy.seconds, 1.2 * clean.seconds);
}

TEST(TrainingWorld, BytesAreCountedOnTheWires) {
  Recipe recipe = small_recipe();
  recipe.run.evaluate = false;
  recipe.run.steps = 20;
  WorldOptions options;
  options.peers = 2;
  const SystemClock clock;
  const auto trainer = std::move(Trainer::make(recipe, {}, clock)).value();
  const auto elements = static_cast<std::uint64_t>(trainer->layout().num_elements());
  std::uint64_t last = 0;
  WorldEvents events;
  events.on_round = [&](const WorldRound& round) {
    // In the first rounds more is sent, until the links are known.
    if (round.round > Round(10)) {
      // Each of two members sends half of the vector to be summed and half of the sums.
      const std::uint64_t least = 2 * elements * sizeof(float);
      EXPECT_GE(round.bytes_sent - last, least);
      EXPECT_LE(round.bytes_sent - last, least + least / 20 + 4000);
    }
    last = round.bytes_sent;
  };
  const WorldResult result = run_world(recipe, options, events);
  EXPECT_EQ(result.fault, "");
  EXPECT_GT(last, 0U);
}

TEST(TrainingWorld, LocalStepsGoOnThroughCrashAndJoin) {
  Recipe recipe = long_recipe();
  recipe.run.steps = 120;
  recipe.local.steps = 6;
  recipe.optimizer.name = "adam";
  const WorldResult result = run_world(recipe, unequal_world());
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.finished, 5);
  EXPECT_EQ(result.rounds, Round(21));
}

TEST(TrainingWorld, WhoIsAloneAfterAllCrashedIsSaid) {
  WorldOptions options;
  options.peers = 2;
  options.crashes = {{0, {{0.1}, false}}, {1, {{0.1}, false}}};
  const WorldResult result = run_world(long_recipe(), options);
  EXPECT_EQ(result.fault, "no peer came to the last round");
  EXPECT_EQ(result.state_hash, "");
}

TEST(TrainingWorld, EndsWhereItIsAskedTo) {
  int asked = 0;
  WorldEvents events;
  events.stop_asked = [&] { return ++asked > 2; };
  const WorldResult result = run_world(long_recipe(), unequal_world(), events);
  EXPECT_TRUE(result.stopped);
  EXPECT_LT(result.rounds, Round(40));
}

TEST(TrainingWorld, MoreMembersNeedMoreMemory) {
  EXPECT_NEAR(TrainingWorld::bytes_needed(200, 200'000), 200 * (4 * 800'000.0 + 262'144), 1);
}

namespace {

// The loss of the last training round by seven peers, of whom `liars` send their gradients the
// other way round, four times as long: two of them outweigh the five others, 5 - 2 * 4 < 0.
double loss_with(int liars, const std::string& rule) {
  constexpr int kPeers = 7;
  Recipe recipe = small_recipe();
  recipe.run.steps = 30;
  recipe.run.evaluate = false;
  recipe.run.on_not_finite = "go_on";
  recipe.group.hosts = "apart";
  recipe.aggregate.rule = rule;
  recipe.aggregate.liars = rule == "mean" ? 0 : 2;
  WorldOptions options;
  options.peers = kPeers;
  if (liars > 0) options.liars = *parse_liars("sign_flip:scale=4", liars, kPeers);
  double loss = 0;
  WorldEvents events;
  events.on_round = [&](const WorldRound& round) { loss = round.report.metrics.loss; };
  const WorldResult result = run_world(recipe, options, events);
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.finished, kPeers);
  return loss;
}

}  // namespace

TEST(TrainingWorld, ARobustRuleLearnsAmongLiarsAndTheMeanDoesNot) {
  const double honest = loss_with(0, "mean");
  const double robust = loss_with(2, "nnm trimmed_mean");
  const double mean = loss_with(2, "mean");
  EXPECT_LT(robust, 2 * honest);
  // It has climbed: ln 10 is the loss of a model that knows nothing.
  EXPECT_FALSE(mean < 2.3) << mean;
}

}  // namespace weft::sim::training_world_test
