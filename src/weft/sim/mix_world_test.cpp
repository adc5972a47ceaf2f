#include "weft/sim/mix_world.h"

#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/mix/mix_method.h"
#include "weft/sim/test_world_runs.h"
#include "weft/train/recipe/test_recipe.h"

namespace weft::sim::mix_world_test {
namespace {

using testing::HasSubstr;

Recipe mix_recipe(const std::string& method, std::int64_t rounds) {
  Recipe recipe = small_recipe();
  recipe.group.exchange = "mix";
  recipe.mix.method = method;
  recipe.local.steps = 3;
  recipe.run.steps = 3 * rounds;
  recipe.run.global_batch = 16;
  recipe.data.partition = "dirichlet:alpha=1";
  return recipe;
}

WorldOptions peers(int count) {
  WorldOptions options;
  options.peers = count;
  return options;
}

WorldResult run(const Recipe& recipe, const WorldOptions& options, const WorldEvents& events = {}) {
  auto world = make_world(recipe, {}, options, events);
  EXPECT_TRUE(world.ok()) << world.status().message();
  return world.ok() ? (*world)->run() : WorldResult{};
}

TEST(MixWorld, AServerAndACompleteGraphHaveOneModel) {
  const WorldResult fedavg = run(mix_recipe("fedavg", 6), peers(5));
  EXPECT_EQ(fedavg.fault, "");
  EXPECT_EQ(fedavg.rounds, Round(6));
  const WorldResult replicas = run(mix_recipe("local_sgd", 6), peers(5));
  EXPECT_EQ(replicas.fault, "");
  ASSERT_EQ(replicas.members.size(), 5U);
  for (const WorldResult::Member& member : replicas.members) {
    EXPECT_EQ(member.state, fedavg.state_hash);
  }
  EXPECT_EQ(replicas.distance, 0.0);
  EXPECT_EQ(replicas.mean_model->correct, fedavg.mean_model->correct);
}

TEST(MixWorld, EveryMethodLearns) {
  for (const MixMethodDef& def : mix_methods()) {
    Recipe recipe = mix_recipe(std::string(def.name), 8);
    if (def.name == "fedbuff" || def.name == "afa_cd" || def.name == "afa_cs") {
      recipe.mix.trigger = "buffer:size=3:staleness=0";
    }
    if (def.name == "fedfix") recipe.mix.trigger = "period:seconds=0.05";
    if (def.name == "fedcompass") recipe.mix.trigger = "groups:least=2:most=6";
    if (def.name == "modest") recipe.mix.plan = "sampled:size=4";
    if (def.name == "spsa_byte") {
      recipe.model.name = "linear";
      recipe.mix.local = "spsa:directions=16";
      recipe.mix.outer = "plain:rate=0.0005";
    }
    if (def.name == "dadao") {
      recipe.model.name = "linear";
      recipe.local.steps = 1;
      recipe.mix.plan = "accelerated:smoothness=200:seconds=0.1";
      recipe.mix.local = "gradient:l2=0.1";
    }
    WorldOptions options = peers(6);
    options.samples_per_second = {{500, 1000, 2000}, false};
    double first = 0;
    double last = 0;
    const auto on_round = [&](const WorldRound& round) {
      if (round.round == Round(1)) first = round.report.metrics.loss;
      last = round.report.metrics.loss;
    };
    const WorldResult result = run(recipe, options, {.on_round = on_round});
    EXPECT_EQ(result.fault, "") << def.name;
    EXPECT_LT(last, first) << def.name;
    EXPECT_FALSE(result.state_hash.empty()) << def.name;
    EXPECT_GT(result.bytes_sent, 0U) << def.name;
  }
}

TEST(MixWorld, TheSameSeedHasTheSameEventsWhateverTheThreads) {
  for (const char* const method : {"fedbuff", "dpsgd", "modest", "ad_psgd"}) {
    Recipe recipe = mix_recipe(method, 5);
    recipe.optimizer.name = "adam";  // members have a state of their own
    WorldOptions options = peers(7);
    options.samples_per_second = {{200, 2000}, true};
    options.links.megabits = {{10, 100}, false};
    options.links.latency_ms = {{2, 40}, true};
    options.crashes = {{3, {{0.2}, false}}};
    const std::uint64_t events = expect_same_events([&] { return run(recipe, options); });
    options.seed = 2;
    EXPECT_NE(run(recipe, options).event_hash, events) << method;
  }
}

TEST(MixWorld, OnlyAServerIsMissed) {
  WorldOptions options = peers(6);
  options.crashes = {{0, {{0.3}, false}}};
  const WorldResult star = run(mix_recipe("fedavg", 20), options);
  EXPECT_NE(star.fault, "");
  Recipe sampled = mix_recipe("modest", 20);
  sampled.mix.plan = "sampled:size=3";
  sampled.mix.trigger = "round:timeout=5";
  for (const Recipe& recipe : {sampled, mix_recipe("dpsgd", 20)}) {
    const WorldResult result = run(recipe, options);
    EXPECT_EQ(result.fault, "") << recipe.mix.method;
    EXPECT_EQ(result.rounds, Round(20)) << recipe.mix.method;
    EXPECT_EQ(result.crashed, 1) << recipe.mix.method;
  }
}

TEST(MixWorld, WhatLiarsHoldIsNotMeasured) {
  WorldOptions options = peers(5);
  options.liars = {1, *Attack::parse("sign_flip:scale=8")};
  Recipe recipe = mix_recipe("dpsgd", 3);
  recipe.mix.plan = "pairs:share=0";  // nobody receives the lie
  recipe.data.partition = "shared";
  const WorldResult result = run(recipe, options);
  WorldOptions four = peers(4);
  const WorldResult honest = run(recipe, four);
  EXPECT_EQ(result.mean_model->loss, honest.mean_model->loss);
  EXPECT_EQ(result.distance, honest.distance);
}

TEST(MixWorld, EncodedDeltasTrainWithFewerBytes) {
  const WorldResult whole = run(mix_recipe("fedavg", 12), peers(4));
  for (const char* const wire : {"bf16", "topk:ratio=0.1", "fedzip", "qsgd"}) {
    Recipe recipe = mix_recipe("fedavg", 12);
    recipe.group.wire = wire;
    const WorldResult result = run(recipe, peers(4));
    EXPECT_EQ(result.fault, "") << wire;
    // Models go out whole, so that no more than half can be saved.
    EXPECT_LT(result.bytes_sent, whole.bytes_sent * 4 / 5) << wire;
    EXPECT_GT(result.bytes_sent, whole.bytes_sent / 2) << wire;
    EXPECT_LT(result.mean_model->loss, 1.5 * whole.mean_model->loss + 0.2) << wire;
  }
}

TEST(MixWorld, EveryMethodHasARecipe) {
  for (const MixMethodDef& def : mix_methods()) {
    const std::string path =
        std::string(WEFT_SOURCE_DIR) + "/recipes/methods/" + std::string(def.name) + ".toml";
    const Result<Recipe> recipe = load_recipe(path);
    ASSERT_TRUE(recipe.ok()) << recipe.status().message();
    EXPECT_EQ(recipe->mix.method, def.name);
    EXPECT_TRUE(check_recipe(*recipe).ok()) << check_recipe(*recipe).message();
  }
}

TEST(MixWorld, MembersMayBeginApart) {
  Recipe recipe = mix_recipe("dpsgd", 1);
  recipe.mix.plan = "pairs:share=0";
  recipe.mix.start = "own";
  recipe.optimizer.learning_rate = 0;
  const WorldResult apart = run(recipe, peers(3));
  std::set<std::string> states;
  for (const WorldResult::Member& member : apart.members) states.insert(member.state);
  EXPECT_EQ(states.size(), 3U);
  EXPECT_GT(*apart.distance, 0.1);
  recipe.mix.start = "same";
  EXPECT_EQ(run(recipe, peers(3)).distance, 0.0);
}

TEST(MixWorld, ARobustCombinationLearnsAmongLiars) {
  WorldOptions options = peers(9);
  options.liars = {2, *Attack::parse("sign_flip:scale=8")};
  const auto accuracy = [&](const std::string& combine) {
    Recipe recipe = mix_recipe("fedavg", 20);
    recipe.data.partition = "equal";
    recipe.optimizer.learning_rate = 0.1;
    recipe.mix.combine = combine;
    recipe.aggregate.liars = combine == "mean" ? 0 : 2;
    const WorldResult result = run(recipe, options);
    return result.mean_model->correct / result.mean_model->labels;
  };
  EXPECT_LT(accuracy("mean"), 0.5);
  EXPECT_GT(accuracy("nnm trimmed_mean"), 0.9);
}

TEST(MixWorld, SybilsAreFoundOutByWhatTheyHaveInCommon) {
  // Six honest members with two labels each, and four that are one person's.
  const auto attacked = [](const char* method, int sybils) {
    Recipe recipe = mix_recipe(method, 40);
    recipe.run.global_batch = 32;
    recipe.data.partition = "labels:count=2";
    WorldOptions options = peers(6 + sybils);
    if (sybils > 0) options.liars = *parse_liars("label_swap:from=1:to=7", sybils, 6 + sybils);
    return run(recipe, options);
  };
  const WorldResult trusting = attacked("fedavg", 4);
  const WorldResult careful = attacked("foolsgold", 4);
  ASSERT_TRUE(trusting.attack_rate && careful.attack_rate);
  EXPECT_GT(*trusting.attack_rate, 0.5);
  EXPECT_LT(*careful.attack_rate, 0.2);
  EXPECT_FALSE(attacked("fedavg", 0).attack_rate.has_value());
}

TEST(MixWorld, SybilsAllOverAGraphAreFoundOutByReports) {
  // Twelve honest members, and nine that are one person's, in a random graph of degree four.
  const auto attacked = [](const char* method, std::uint64_t seed) {
    Recipe recipe = mix_recipe(method, 40);
    recipe.mix.plan = "random_regular:degree=4";
    recipe.data.synthetic_samples = 1200;
    recipe.data.partition = "dirichlet:alpha=0.3";
    recipe.run.global_batch = 32;
    recipe.run.seed = static_cast<std::int64_t>(seed);
    WorldOptions options = peers(21);
    options.seed = seed;
    options.liars = *parse_liars("label_swap:from=1:to=7", 9, 21);
    return run(recipe, options);
  };
  double trusting = 0;
  double walled = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    trusting += *attacked("dpsgd", seed).attack_rate;
    const WorldResult careful = attacked("sybilwall", seed);
    walled += *careful.attack_rate;
    EXPECT_GT(*careful.members_accuracy, 0.8);
  }
  EXPECT_GT(trusting, 0.5);
  EXPECT_LT(walled, 0.1);
}

TEST(MixWorld, OutputLayersOfLiarsDoNotCountWhereMembersJudge) {
  // Six of ten lie: more than any rule for an honest majority bears.
  const auto run_of = [](const char* method, int liars) {
    Recipe recipe = mix_recipe(method, 30);
    recipe.mix.plan = "complete";
    recipe.mix.part = "outputs";
    recipe.optimizer.groups = "fc1.* frozen";
    recipe.optimizer.learning_rate = 0.1;
    recipe.data.partition = "equal";
    WorldOptions options = peers(10);
    if (liars > 0) options.liars = *parse_liars("sign_flip:scale=4", liars, 10);
    return run(recipe, options);
  };
  EXPECT_LT(*run_of("dpsgd", 6).members_accuracy, 0.5);
  EXPECT_GT(*run_of("bristle", 6).members_accuracy, 0.9);
  EXPECT_GT(*run_of("dpsgd", 0).members_accuracy, 0.9);
}

TEST(MixWorld, AJudgeNeedsSamplesOfItsOwn) {
  const auto refused = [](const Recipe& recipe) {
    const auto world = make_world(recipe, {}, peers(4), {});
    return world.ok() ? std::string() : std::string(world.status().message());
  };
  Recipe recipe = mix_recipe("bristle", 2);
  recipe.data.partition = "shared";
  EXPECT_THAT(refused(recipe), HasSubstr("data.partition"));
}

TEST(MixWorld, WhatCannotBeIsRefused) {
  const auto refused = [](const Recipe& recipe, const WorldOptions& options) {
    const auto world = make_world(recipe, {}, options, {});
    return world.ok() ? std::string() : std::string(world.status().message());
  };
  WorldOptions late = peers(3);
  late.joins = {{{1}, false}};
  EXPECT_THAT(refused(mix_recipe("fedavg", 2), late), HasSubstr("--join"));
  Recipe robust = mix_recipe("fedavg", 2);
  robust.mix.combine = "median";
  robust.aggregate.liars = 2;
  EXPECT_THAT(refused(robust, peers(3)), HasSubstr("mix.combine"));
  Recipe models = mix_recipe("dpsgd", 2);
  models.group.wire = "int8";
  EXPECT_THAT(refused(models, peers(3)), HasSubstr("whole models"));
  Recipe votes = mix_recipe("fedavg", 2);
  votes.group.wire = "sign";
  EXPECT_THAT(refused(votes, peers(3)), HasSubstr("ef_sign"));
  Recipe unused = small_recipe();
  unused.mix.method = "fedbuff";
  EXPECT_THAT(refused(unused, peers(3)), HasSubstr("group.exchange = \"mix\""));
  Recipe parts = small_recipe();
  parts.data.partition = "equal";
  EXPECT_THAT(refused(parts, peers(3)), HasSubstr("data.partition"));
}

TEST(MixWorld, MembersLeaveAndComeBack) {
  for (const std::string method : {"fedavg", "fedbuff", "ad_psgd", "modest"}) {
    Recipe recipe = mix_recipe(method, 12);
    WorldOptions options = peers(8);
    if (method == "modest") {
      recipe.mix.plan = "sampled:size=3";
      // Shorter than members stay.
      recipe.mix.trigger = "round:timeout=3";
      // With seed 1 all three who hold version 11, its combiner among them, leave while they work.
      options.seed = 2;
    }
    options.samples_per_second = {{40}, false};
    options.churn = {0.1, 1};
    const auto once = [&] {
      int back = 0;
      const auto on_news = [&back](const std::string& text) {
        back += text.ends_with("comes back") ? 1 : 0;
      };
      WorldResult result = run(recipe, options, {.on_news = on_news});
      EXPECT_EQ(result.fault, "") << method;
      EXPECT_GT(result.crashed, 0) << method;
      EXPECT_GT(back, 0) << method;
      return result;
    };
    expect_same_events(once);
  }
}

// The samples of each round, by its number from 1.
std::vector<double> samples_of_rounds(const Recipe& recipe, const WorldOptions& options) {
  std::vector<double> samples;
  const auto on_round = [&](const WorldRound& round) {
    samples.push_back(round.report.metrics.samples);
  };
  const WorldResult result = run(recipe, options, {.on_round = on_round});
  EXPECT_EQ(result.fault, "");
  return samples;
}

TEST(MixWorld, ATraceSaysWhoIsThere) {
  Recipe recipe = mix_recipe("fedavg", 6);
  recipe.data.partition = "shared";
  // 48 samples a round and member: 0.48 s each, and for member 1 half of that.
  WorldOptions options = peers(4);
  options.samples_per_second = {{100}, false};
  options.speeds = {{1, 200}};
  options.trace = {{0.3, 3, false}, {1.6, 3, true}};
  const std::vector<double> samples = samples_of_rounds(recipe, options);
  // It leaves in the first round and is back in the fourth, for the fifth.
  EXPECT_THAT(samples, testing::ElementsAre(144, 144, 144, 144, 192, 192));
}

TEST(MixWorld, RoundsOfNeighboursCannotBeComeBackTo) {
  WorldOptions options = peers(4);
  options.churn = {0.1, 0.1};
  const auto refused = make_world(mix_recipe("dpsgd", 3), {}, options, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("--churn: expected no join"));
  options.churn = {0.1, 0};
  EXPECT_TRUE(make_world(mix_recipe("dpsgd", 3), {}, options, {}).ok());
}

TEST(MixWorld, HubsThatLeaveTakeTheGraphApart) {
  Recipe recipe = mix_recipe("dpsgd", 5);
  recipe.mix.plan = "barabasi_albert:edges=1";
  WorldOptions options = peers(12);
  options.disruptions = {{true, true, 2, 2}};
  const WorldResult result = run(recipe, options);
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.crashed, 2);
  ASSERT_GT(result.components.size(), 1U);
  std::size_t members = 0;
  double weighted = 0;
  for (const WorldResult::Component& part : result.components) {
    members += part.members;
    weighted += part.accuracy * static_cast<double>(part.members);
  }
  EXPECT_EQ(members, 10U);
  EXPECT_NEAR(weighted / 10, *result.members_accuracy, 1e-12);
}

TEST(MixWorld, MembersWithoutDataPassOn) {
  Recipe recipe = mix_recipe("dpsgd", 4);
  recipe.data.partition = "shared";
  WorldOptions options = peers(6);
  options.disruptions = {{false, false, 2, 1}};
  const WorldResult result = run(recipe, options);
  EXPECT_EQ(result.crashed, 0);
  ASSERT_EQ(result.components.size(), 1U);
  EXPECT_EQ(result.components.front().members, 6U);
  const std::vector<double> samples = samples_of_rounds(recipe, options);
  ASSERT_EQ(samples.size(), 4U);
  // On a ring each sample is in three combinations.
  EXPECT_EQ(samples.front(), 3 * 6 * 48);
  EXPECT_EQ(samples.back(), 3 * 4 * 48);
}

TEST(MixWorld, DisruptionsThatCannotBeAreRefused) {
  WorldOptions options = peers(4);
  options.disruptions = {{true, true, 1, 1}};
  const auto hubs = make_world(mix_recipe("fedavg", 3), {}, options, {});
  ASSERT_FALSE(hubs.ok());
  EXPECT_THAT(hubs.status().message(), HasSubstr("--disrupt: expected random"));
  const auto exact = make_world(small_recipe(), {}, options, {});
  ASSERT_FALSE(exact.ok());
  EXPECT_THAT(exact.status().message(), HasSubstr("--disrupt: expected none"));
}

}  // namespace
}  // namespace weft::sim::mix_world_test
