#include "weft/train/recipe/recipe.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/nearest_name.h"
#include "weft/train/recipe/program_recipe.h"
#include "weft/train/recipe/recipe_aliases.h"
#include "weft/train/run/wiring.h"

namespace weft::recipe_test {
namespace {

using testing::HasSubstr;

std::string message_of(std::string_view text) {
  const Result<Recipe> recipe = parse_recipe(text, "r.toml");
  return recipe.ok() ? "" : recipe.status().message();
}

TEST(EditDistance, CountsInsertionsDeletionsChangesAndSwaps) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("stpes", "steps"), 1U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
}

TEST(NearestName, OnlyWhatIsNearIsOffered) {
  const std::vector<std::string> models = {"mlp", "resnet9", "resnet18"};
  EXPECT_EQ(did_you_mean("mpl", models), "; did you mean \"mlp\"?");
  EXPECT_EQ(did_you_mean("resnet-18", models), "; did you mean \"resnet18\"?");
  EXPECT_EQ(did_you_mean("transformer", models), "");
  EXPECT_EQ(did_you_mean("fashon", std::vector<std::string>{"jargon"}), "");
  EXPECT_EQ(did_you_mean("lstm", std::vector<std::string>{"mlp", "lstm_model"}),
            "; did you mean \"lstm_model\"?");
  EXPECT_EQ(did_you_mean("", models), "");
}

TEST(Recipe, TableIsSortedAndDefaultsLieInRange) {
  const auto keys = recipe_keys();
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end(), [](const RecipeKey& a, const RecipeKey& b) {
    return a.name < b.name;
  }));
  // Canonical text of the defaults parses back to itself: every default is allowed.
  const Recipe defaults;
  const Result<Recipe> again = parse_recipe(canonical_text(defaults), "defaults");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(canonical_text(*again), canonical_text(defaults));
  EXPECT_TRUE(check_recipe(defaults).ok());
}

TEST(Recipe, ReadsSectionsAndDottedKeys) {
  const Result<Recipe> recipe = parse_recipe(
      "run.steps = 12\n[optimizer]\nlearning_rate = 1\nname = \"adam\"\n[group]\nlone_survivor = "
      "true\n",
      "r.toml");
  ASSERT_TRUE(recipe.ok()) << recipe.status().message();
  EXPECT_EQ(recipe->run.steps, 12);
  EXPECT_EQ(recipe->optimizer.learning_rate, 1.0);
  EXPECT_EQ(recipe->optimizer.name, "adam");
  EXPECT_TRUE(recipe->group.lone_survivor);
}

TEST(Recipe, UnknownKeyNamesLineAndNearest) {
  EXPECT_EQ(message_of("[run]\nseed = 1\nstpes = 3\n"),
            "r.toml:3: unknown key \"run.stpes\"; did you mean \"run.steps\"?");
  EXPECT_THAT(message_of("[optimiser]\nname = \"sgd\"\n"), HasSubstr("did you mean [optimizer]?"));
  EXPECT_THAT(message_of("[run]\nlearning_rate = 1.0\n"),
              HasSubstr("did you mean \"optimizer.learning_rate\"?"));
  EXPECT_THAT(message_of("[run]\nzzzzzzzz = 1\n"), HasSubstr("`weft recipe` lists every key"));
}

TEST(Recipe, RangeErrorsNameValueAndRange) {
  EXPECT_THAT(message_of("[run]\nsteps = 0\n"),
              HasSubstr("r.toml:2: run.steps: expected 1 or more, got 0"));
  EXPECT_THAT(message_of("[optimizer]\nmomentum = 1.5\n"), HasSubstr("got 1.5"));
  EXPECT_THAT(message_of("[optimizer]\nmomentum = nan\n"), HasSubstr("got nan"));
  EXPECT_THAT(message_of("[run]\nsteps = 1.5\n"), HasSubstr("expected a whole number, got 1.5"));
  EXPECT_THAT(message_of("[run]\nsteps = \"7\"\n"), HasSubstr("expected a whole number"));
  EXPECT_THAT(message_of("[run]\nevaluate = 1\n"), HasSubstr("expected true or false"));
  EXPECT_THAT(
      message_of("[model]\nname = \"vgg\"\n"),
      HasSubstr("expected one of linear|mlp|lenet|cnn|resnet9|resnet18|char_gpt|llama|lstm_lm, got "
                "\"vgg\""));
  EXPECT_THAT(message_of("[optimizer]\nname = \"adamm\"\n"),
              HasSubstr("got \"adamm\"; did you mean \"adam\"?"));
  EXPECT_THAT(message_of("[run]\nname = \"a\\nb\"\n"), HasSubstr("printable"));
  EXPECT_THAT(message_of("[run]\nsteps = [1]\n"), HasSubstr("got an array"));
  EXPECT_THAT(message_of("[run]\nsteps = \n"), HasSubstr("r.toml:2: "));
}

TEST(Recipe, HostileTextIsRefusedNotFatal) {
  EXPECT_FALSE(parse_recipe(std::string(2U << 20U, '#'), "big").ok());
  EXPECT_FALSE(parse_recipe(std::string(5000, '['), "deep").ok());
  EXPECT_FALSE(parse_recipe("run.steps = 99999999999999999999", "r").ok());
  EXPECT_FALSE(parse_recipe(std::string("\0\xff\xfe", 3), "r").ok());
  for (const char* text :
       {"[!", "\u00e9 = 1", "run.steps = 1\u2009", "a = \"\"\"\n\"\n\"\"\"\u00e9"}) {
    EXPECT_FALSE(parse_recipe(text, "r").ok()) << text;
  }
}

TEST(Recipe, CharactersBeyondAsciiAreWelcomeInComments) {
  const Result<Recipe> recipe =
      parse_recipe("# f\u00fcr alle\n[run]\nname = \"a \\\"#\\\" b\" # \u2713\nseed = 7\n", "r");
  ASSERT_TRUE(recipe.ok()) << recipe.status().message();
  EXPECT_EQ(recipe->run.name, "a \"#\" b");
  EXPECT_EQ(recipe->run.seed, 7);
  const Status beyond = parse_recipe("[run]\nsteps = 5 \u00b5", "r.toml").status();
  EXPECT_THAT(beyond.message(), HasSubstr("r.toml:2: a character beyond ASCII"));
}

TEST(Recipe, NamesAndPathsMayBeInAnyScript) {
  const char* text = "[run]\nname = \"\u00fcn\u00ef \u4e16\u754c\"\n";
  const Result<Recipe> recipe = parse_recipe(text, "r");
  ASSERT_TRUE(recipe.ok()) << recipe.status().message();
  EXPECT_EQ(recipe->run.name, "\u00fcn\u00ef \u4e16\u754c");
  const Result<Recipe> again = parse_recipe(canonical_text(*recipe), "r");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->run.name, recipe->run.name);
  Recipe with_path;
  EXPECT_TRUE(apply_setting(with_path, {"data.path", "/srv/j\u00fcrgen/a b.csv", "--set"}).ok());
}

TEST(Recipe, WhatATerminalObeysIsRefusedAndShownEscaped) {
  Recipe recipe;
  const auto message_for = [&](const std::string& name) {
    return apply_setting(recipe, {"run.name", name, "--set"}).message();
  };
  EXPECT_EQ(message_for("a\x1b[31mred"),
            "--set: run.name: expected at most 200 printable characters, got \"a\\x1b[31mred\"");
  EXPECT_THAT(message_for("right\u202eleft"), HasSubstr("got \"right\\u202eleft\""));
  EXPECT_THAT(message_for("caf\xe9"), HasSubstr("got \"caf\\xe9\""));
  EXPECT_EQ(message_for(std::string(200, 'x')), "");
  EXPECT_THAT(message_for(std::string(201, 'x')), HasSubstr("expected at most 200"));
}

TEST(Recipe, NamesOfOtherFrameworksAreRecognised) {
  Recipe recipe;
  const auto message_for = [&](const std::string& key) {
    return apply_setting(recipe, {key, "1", "--set"}).message();
  };
  EXPECT_EQ(message_for("optimizer.lr"),
            "--set: unknown key \"optimizer.lr\"; did you mean \"optimizer.learning_rate\"?");
  for (const char* typed : {"lr", "learning-rate", "train.learningRate", "LR", "training.lr"}) {
    EXPECT_THAT(message_for(typed), HasSubstr("did you mean \"optimizer.learning_rate\"?"))
        << typed;
  }
  EXPECT_THAT(message_for("batch_size"), HasSubstr("\"run.global_batch\""));
  EXPECT_THAT(message_for("data.batch-size"), HasSubstr("\"run.global_batch\""));
  EXPECT_THAT(message_for("epochs"), HasSubstr("\"run.steps\"? (a run is measured in steps"));
  EXPECT_THAT(message_for("model.momentum"), HasSubstr("\"optimizer.momentum\""));
  EXPECT_THAT(message_for("run.global_bach"), HasSubstr("\"run.global_batch\""));
  EXPECT_THAT(message_of("[training]\nlr = 0.1\n"),
              HasSubstr("unknown section [training]; `weft recipe` lists them; \"lr\" is called "
                        "\"optimizer.learning_rate\" here"));
  const std::vector<std::pair<std::string, std::string>> variables = {{"WEFT_OPTIMIZER_LR", "1"}};
  EXPECT_THAT(settings_of_environment(variables).status().message(),
              HasSubstr("did you mean WEFT_OPTIMIZER_LEARNING_RATE?"));
}

TEST(Recipe, EachAliasNamesAKeyAndIsNone) {
  for (const char* word : {"arch", "epochs", "wd", "warmup", "n_layer", "vocab_size"}) {
    const std::optional<RecipeAlias> alias = recipe_alias(word);
    ASSERT_TRUE(alias.has_value()) << word;
    Recipe recipe;
    const Status set = apply_setting(recipe, {std::string(alias->key), "", "--set"});
    EXPECT_THAT(set.message(), testing::Not(HasSubstr("unknown key"))) << word;
  }
  EXPECT_FALSE(recipe_alias("xylophone").has_value());
}

TEST(Recipe, BranchesNeedMembersThatWait) {
  Recipe recipe;
  recipe.group.on_split = "merge";
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("set group.on_quorum_lost = \"wait\""));
  recipe.group.on_quorum_lost = "wait";
  EXPECT_TRUE(check_recipe(recipe).ok());
  recipe.group.lone_survivor = true;
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("group.lone_survivor: expected false"));
}

TEST(Recipe, SettingsOverrideWithTheirOwnNameInErrors) {
  Recipe recipe;
  EXPECT_TRUE(apply_setting(recipe, {"run.steps", "77", "--set"}).ok());
  EXPECT_TRUE(apply_setting(recipe, {"optimizer.learning_rate", "1e-3", "--set"}).ok());
  EXPECT_TRUE(apply_setting(recipe, {"group.lone_survivor", "true", "--set"}).ok());
  EXPECT_TRUE(apply_setting(recipe, {"data.name", "synthetic", "--set"}).ok());
  EXPECT_EQ(recipe.run.steps, 77);
  EXPECT_EQ(recipe.optimizer.learning_rate, 1e-3);
  EXPECT_TRUE(recipe.group.lone_survivor);
  EXPECT_EQ(recipe.data.name, "synthetic");
  EXPECT_TRUE(apply_setting(recipe, {"group.on_quorum_lost", "\"wait\"", "--set"}).ok());
  EXPECT_EQ(recipe.group.on_quorum_lost, "wait");
  const Status unknown = apply_setting(recipe, {"run.step", "1", "--set"});
  EXPECT_THAT(unknown.message(), HasSubstr("--set: unknown key \"run.step\""));
  EXPECT_FALSE(apply_setting(recipe, {"run.steps", "many", "--set"}).ok());
  EXPECT_FALSE(parse_setting("run.steps").ok());
  EXPECT_FALSE(parse_setting("=3").ok());
  EXPECT_EQ(parse_setting("run.name=a=b")->value, "a=b");
}

TEST(Recipe, EnvironmentNamesKeysAndCatchesMisspeltOnes) {
  const std::vector<std::pair<std::string, std::string>> good = {
      {"WEFT_RUN_STEPS", "9"}, {"PATH", "/bin"}, {"WEFT_ISA", "generic"}, {"WEFT_DATA_DIR", "/d"}};
  const auto settings = settings_of_environment(good);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  ASSERT_EQ(settings->size(), 1U);
  EXPECT_EQ(settings->front().key, "run.steps");
  const std::vector<std::pair<std::string, std::string>> bad = {{"WEFT_RUN_STEP", "9"}};
  EXPECT_THAT(settings_of_environment(bad).status().message(),
              HasSubstr("did you mean WEFT_RUN_STEPS?"));
}

TEST(Recipe, HashDependsOnEveryKeyAndNotOnTheWayItWasWritten) {
  const Result<Recipe> sections = parse_recipe("[run]\nsteps=5\nseed=2", "a");
  const Result<Recipe> dotted = parse_recipe("# hi\nrun.seed = 2\nrun.steps = 5\n", "b");
  ASSERT_TRUE(sections.ok() && dotted.ok());
  EXPECT_EQ(recipe_hash(*sections), recipe_hash(*dotted));
  for (const RecipeKey& key : recipe_keys()) {
    Recipe changed = *sections;
    std::visit(
        [](auto* value) {
          using Value = std::remove_pointer_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, bool>) {
            *value = !*value;
          } else if constexpr (std::is_same_v<Value, std::string>) {
            *value += "x";
          } else {
            *value += 1;
          }
        },
        key.slot(changed));
    EXPECT_NE(recipe_hash(changed), recipe_hash(*sections)) << key.name;
  }
}

TEST(Recipe, RulesBetweenKeys) {
  Recipe recipe;
  recipe.group.heartbeat_interval_ms = 500;
  recipe.group.suspicion_timeout_ms = 600;
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("at least twice"));
  recipe = {};
  recipe.optimizer.nesterov = true;
  recipe.optimizer.momentum = 0;
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("momentum above 0"));
  recipe = {};
  recipe.data.name = "synthetic";
  recipe.run.global_batch = recipe.data.synthetic_samples + 1;
  EXPECT_FALSE(check_recipe(recipe).ok());
}

// Each setting that a rule cannot go together with is refused in words that name it and the remedy.
TEST(Recipe, ARuleInPlaceOfTheMeanExcludesWhatHidesSingleUpdates) {
  Recipe robust;
  robust.aggregate = {"nnm trimmed_mean", 2};
  robust.group.hosts = "apart";
  robust.group.start_members = 5;
  ASSERT_TRUE(check_recipe(robust).ok()) << check_recipe(robust).message();
  const auto fault_with = [&](auto&& change) {
    Recipe changed = robust;
    change(changed);
    return std::string(check_recipe(changed).message());
  };
  EXPECT_EQ(
      fault_with([](Recipe& r) { r.group.hosts = "together"; }),
      "group.hosts: \"together\" cannot go with aggregate.rule = \"nnm trimmed_mean\": a host "
      "that sums its members' updates hides them; set group.hosts = \"apart\"");
  EXPECT_THAT(fault_with([](Recipe& r) { r.group.wire = "int8"; }), HasSubstr("group.wire"));
  EXPECT_THAT(fault_with([](Recipe& r) { r.group.shares = "speed"; }), HasSubstr("group.shares"));
  EXPECT_THAT(fault_with([](Recipe& r) { r.group.wait = "deadline"; }), HasSubstr("group.wait"));
  EXPECT_THAT(fault_with([](Recipe& r) { r.local.steps = 4; }), HasSubstr("local.steps"));
  EXPECT_THAT(fault_with([](Recipe& r) { r.group.audit = true; }), HasSubstr("group.audit"));
  EXPECT_THAT(fault_with([](Recipe& r) {
                r.group.on_split = "merge";
                r.group.on_quorum_lost = "wait";
              }),
              HasSubstr("set group.on_split = \"pause\""));
  EXPECT_THAT(fault_with([](Recipe& r) { r.group.start_members = 4; }),
              HasSubstr("nnm takes 2 f + 1 = 5 members against 2 liars, got 4"));
  EXPECT_THAT(fault_with([](Recipe& r) { r.run.global_batch = 4; }), HasSubstr("got 4; raise it"));
  EXPECT_THAT(fault_with([](Recipe& r) { r.aggregate.rule = "mean"; }),
              HasSubstr("aggregate.liars: expected 0"));
  EXPECT_THAT(fault_with([](Recipe& r) { r.aggregate.rule = "medain"; }),
              HasSubstr("aggregate.rule: expected one of mean, "));
}

TEST(Recipe, GossipAgainstLiarsTakesTwiceAsManyNeighbours) {
  Recipe recipe;
  recipe.gossip.rule = "nna";
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("gossip.rule: expected \"mean\""));
  recipe.group.exchange = "gossip";
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("aggregate.liars: expected 1 or more"));
  recipe.aggregate.liars = 2;
  EXPECT_TRUE(check_recipe(recipe).ok()) << check_recipe(recipe).message();
  EXPECT_TRUE(gossips_robustly(recipe));
  recipe.aggregate.liars = 3;
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("set gossip.degree to 6"));
  recipe.gossip.degree = 6;
  EXPECT_TRUE(check_recipe(recipe).ok()) << check_recipe(recipe).message();
  recipe.gossip.weights = "uniform";
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("gossip.weights"));
  recipe.gossip.weights = "metropolis";
  recipe.gossip.rule = "mean";
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("gossip.rule = \"nna\""));
}

TEST(Recipe, AutoTakesMomentaUnlessTheRecipeHasItsOwn) {
  Recipe recipe;
  EXPECT_EQ(aggregate_momentum(recipe), 0.0);
  recipe.aggregate.member_momentum = 0.5;
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("set optimizer.momentum"));
  recipe.aggregate = {"median", 1};
  EXPECT_EQ(aggregate_momentum(recipe), 0.0);
  recipe.aggregate.rule = "auto";
  EXPECT_EQ(aggregate_momentum(recipe), 0.9);
  recipe.aggregate.member_momentum = 0.5;
  EXPECT_EQ(aggregate_momentum(recipe), 0.5);
  recipe.group.hosts = "apart";
  recipe.group.start_members = 3;
  EXPECT_TRUE(check_recipe(recipe).ok()) << check_recipe(recipe).message();
  EXPECT_TRUE(aggregates(recipe));
}

// What a loose exchange has no use for is not passed over in silence.
TEST(Recipe, GossipRefusesByNameWhatOnlyMembersThatAgreeCanDo) {
  const auto refused = [](const char* lines) {
    const Result<Recipe> recipe =
        parse_recipe("[group]\nexchange = \"gossip\"\n" + std::string(lines), "r.toml");
    return std::string(recipe.ok() ? check_recipe(*recipe).message() : recipe.status().message());
  };
  EXPECT_EQ(refused(""), "");
  EXPECT_EQ(refused("[gossip]\ntopology = \"ring\"\ndeadline_ms = 500\n"), "");
  for (const auto& [lines, key] : std::vector<std::pair<const char*, const char*>>{
           {"[gossip]\ndegree = 3\n", "gossip.degree"},
           {"[local]\nsteps = 4\n", "local.steps"},
           {"audit = true\n", "group.audit"},
           {"wait = \"deadline\"\n", "group.wait"},
           {"shares = \"speed\"\n", "group.shares"},
           {"wire = \"int8\"\n", "group.wire"},
           {"on_split = \"merge\"\non_quorum_lost = \"wait\"\n", "group.on_split"},
           {"[aggregate]\nrule = \"median\"\n", "aggregate.rule"}}) {
    EXPECT_THAT(refused(lines), HasSubstr(std::string(key) + ": expected ")) << lines;
    EXPECT_THAT(refused(lines), HasSubstr("group.exchange = \"gossip\"")) << lines;
  }
}

TEST(Recipe, GossipTakesEachTopologyWithItsOptionsAndTheDegreeOfItsKey) {
  const auto recipe_of = [](const std::string& lines) {
    const Result<Recipe> recipe = parse_recipe(
        "[group]\nexchange = \"gossip\"\n[gossip]\n" + lines + "[run]\nseed = 7\n", "r.toml");
    EXPECT_TRUE(recipe.ok()) << recipe.status().message();
    return *recipe;
  };
  const auto text_of = [&](const std::string& lines) {
    const Recipe recipe = recipe_of(lines);
    EXPECT_EQ(check_recipe(recipe).message(), "");
    return gossip_topology(recipe)->text();
  };
  EXPECT_EQ(text_of(""), "random_regular");
  EXPECT_EQ(text_of("degree = 6\n"), "random_regular:degree=6");
  EXPECT_EQ(text_of("topology = \"random_regular:degree=8\"\n"), "random_regular:degree=8");
  EXPECT_EQ(text_of("topology = \"ring\"\ndegree = 6\n"), "ring");
  EXPECT_EQ(text_of("topology = \"erdos_renyi:p=0.05\"\n"), "erdos_renyi:p=0.05");
  const auto fault = [&](const std::string& lines) {
    return std::string(check_recipe(recipe_of(lines)).message());
  };
  EXPECT_THAT(fault("topology = \"trous\"\n"), HasSubstr("gossip.topology: expected one of"));
  EXPECT_THAT(fault("topology = \"trous\"\n"), HasSubstr("did you mean \"torus\"?"));
  EXPECT_THAT(fault("topology = \"random_regular:degree=8\"\ndegree = 6\n"),
              HasSubstr("gossip.degree: expected none beside"));
}

TEST(Recipe, UniformWeightsTakeATopologyWhoseDegreeAllMembersKnow) {
  Recipe recipe;
  recipe.group.exchange = "gossip";
  EXPECT_EQ(gossip_weight_degree(recipe), 0U);
  recipe.gossip.weights = "uniform";
  for (const auto& [topology, degree] : std::vector<std::pair<const char*, std::size_t>>{
           {"ring", 2}, {"random_regular:degree=6", 6}, {"grid", 4}, {"one_peer_exponential", 1}}) {
    recipe.gossip.topology = topology;
    EXPECT_EQ(check_recipe(recipe).message(), "");
    EXPECT_EQ(gossip_weight_degree(recipe), degree) << topology;
  }
  for (const char* const topology : {"star", "complete", "exponential", "erdos_renyi"}) {
    recipe.gossip.topology = topology;
    EXPECT_THAT(check_recipe(recipe).message(),
                HasSubstr("gossip.weights: expected \"metropolis\" with"));
  }
}

TEST(Recipe, OnlyLengthGroupAndCheckpointsMayChangeOnResume) {
  const Recipe base;
  Recipe other;
  other.run.steps = 5;
  other.group.bucket_bytes = 8192;
  other.checkpoint.keep = 7;
  EXPECT_EQ(first_difference(base, other), "");
  other.run.seed = 9;
  EXPECT_EQ(first_difference(base, other), "run.seed");
}

TEST(Recipe, ShippedRecipesAreValid) {
  int count = 0;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(std::string(WEFT_SOURCE_DIR) + "/recipes")) {
    if (file.is_directory()) continue;
    SCOPED_TRACE(file.path().string());
    const auto program = load_program_recipe(file.path().string());
    ASSERT_TRUE(program.ok()) << program.status().message();
    if (program->has_value()) continue;  // methods_test.cpp has the claims about those
    const auto recipe = load_recipe(file.path().string());
    ASSERT_TRUE(recipe.ok()) << recipe.status().message();
    EXPECT_TRUE(check_recipe(*recipe).ok());
    EXPECT_TRUE(schedule_options(*recipe).ok());
    EXPECT_TRUE(optimizer_options(*recipe).ok());
    EXPECT_TRUE(recipe_transforms(*recipe).ok());
    ++count;
  }
  EXPECT_GE(count, 30);
  EXPECT_FALSE(load_recipe("/nonexistent.toml").ok());
}

// The choices in the table are written by hand.
TEST(Recipe, ChoicesAreTheNamesThatExist) {
  const auto choices = [](std::string_view name) {
    std::vector<std::string> parts;
    for (const RecipeKey& key : recipe_keys()) {
      if (key.name != name) continue;
      std::istringstream stream{std::string(key.choices)};
      for (std::string part; std::getline(stream, part, '|');) parts.push_back(part);
    }
    std::sort(parts.begin(), parts.end());
    return parts;
  };
  EXPECT_EQ(choices("optimizer.name"), optimizer_names());
  EXPECT_EQ(choices("schedule.name"), schedule_names());
  EXPECT_EQ(choices("model.name"), model_names());
}

TEST(Recipe, ThePageOfGossipHasEveryTopologyAndOption) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/docs/gossip.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(topology_table()))
      << "write the output of `weft recipe` into docs/gossip.md";
}

TEST(Recipe, DocumentedTableIsTheRealOne) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/docs/recipe.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(aggregator_table())) << "write the output of `weft recipe`";
  EXPECT_THAT(page.str(), HasSubstr(recipe_key_table()))
      << "write the output of `weft recipe` into docs/recipe.md";
}

}  // namespace
}  // namespace weft::recipe_test
