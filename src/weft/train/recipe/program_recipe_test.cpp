// [program]: what is read, what is refused, and that no other reader of recipes takes it.
#include "weft/train/recipe/program_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::program_recipe_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr const char* kWhole = R"([program]
command = ["sh", "{recipe}/x.sh", "{seed}", "{{{rate}}}"]
timeout_s = 5
rounds = 7
[program.options]
rate = 0.5
count = 3
fast = true
name = "a b"
)";

ProgramRecipe whole() { return **parse_program_recipe(kWhole, "p.toml"); }

std::string refusal(const std::string& text) {
  const auto read = parse_program_recipe(text, "p.toml");
  EXPECT_EQ(read.status().code(), Code::kInvalidArgument) << text;
  return read.status().message();
}

TEST(ProgramRecipe, HasACommandALimitRoundsAndOptions) {
  const ProgramRecipe recipe = whole();
  EXPECT_THAT(recipe.command, ElementsAre("sh", "{recipe}/x.sh", "{seed}", "{{{rate}}}"));
  EXPECT_EQ(recipe.timeout_s, 5);
  EXPECT_EQ(recipe.rounds, 7);
  EXPECT_THAT(
      program_texts(recipe),
      ElementsAre(Pair("program.command", R"(["sh", "{recipe}/x.sh", "{seed}", "{{{rate}}}"])"),
                  Pair("program.options.count", "3"), Pair("program.options.fast", "true"),
                  Pair("program.options.name", "\"a b\""), Pair("program.options.rate", "0.5"),
                  Pair("program.rounds", "7"), Pair("program.timeout_s", "5")));
}

TEST(ProgramRecipe, OtherRecipesHaveNone) {
  EXPECT_FALSE(parse_program_recipe("[run]\nsteps = 3\n", "r.toml")->has_value());
}

TEST(ProgramRecipe, NoReaderOfRecipesTakesOneInAnyForm) {
  for (const char* const text :
       {"[program]\ncommand = [\"true\"]\n", "program.command = [\"true\"]\n",
        "program = {command = [\"true\"]}\n", "program = 1\n", "[run]\nsteps = 3\n[program]\n",
        "\"program\".command = [\"true\"]\n", "[[program]]\ncommand = [\"true\"]\n",
        "['program'.options]\nx = 1\n"}) {
    const Result<Recipe> read = parse_recipe(text, "r.toml");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(read.status().message(), HasSubstr("only `weft compare` starts one")) << text;
    EXPECT_THAT(read.status().message(), HasSubstr("r.toml:")) << text;
  }
  Recipe recipe;
  EXPECT_FALSE(apply_setting(recipe, {"program.command", "true", "--set"}).ok());
}

TEST(ProgramRecipe, WhatIsWrongIsNamed) {
  EXPECT_THAT(refusal("[program]\n"), HasSubstr("p.toml: program.command: expected a list"));
  EXPECT_THAT(refusal("program = 3\n"), HasSubstr("expected a section [program]"));
  EXPECT_THAT(refusal("[program]\ncommand = \"ls\"\n"), HasSubstr("p.toml:2: program.command"));
  EXPECT_THAT(refusal("[program]\ncommand = []\n"), HasSubstr("got 0"));
  EXPECT_THAT(refusal("[program]\ncommand = [\"a\", 3]\n"), HasSubstr("program.command[1]"));
  EXPECT_THAT(refusal("[program]\ncommand = [\"a\\u0007\"]\n"), HasSubstr("program.command[0]"));
  EXPECT_THAT(refusal("[program]\ncommand = [\"" + std::string(4097, 'a') + "\"]\n"),
              HasSubstr("at most 4096"));
  const std::string good = "[program]\ncommand = [\"a\"]\n";
  EXPECT_THAT(refusal(good + "comand = 1\n"), HasSubstr("did you mean \"command\"?"));
  EXPECT_THAT(refusal(good + "timeout_s = 0\n"), HasSubstr("from 1 to 2592000, got 0"));
  EXPECT_THAT(refusal(good + "timeout_s = 1.5\n"), HasSubstr("expected a whole number"));
  EXPECT_THAT(refusal(good + "rounds = -1\n"), HasSubstr("program.rounds"));
  EXPECT_THAT(refusal(good + "options = 1\n"), HasSubstr("program.options: expected a section"));
  EXPECT_THAT(refusal(good + "[program.options]\nx = [1]\n"), HasSubstr("program.options.x"));
  EXPECT_THAT(refusal(good + "[program.options]\nx = nan\n"), HasSubstr("a finite number"));
  EXPECT_THAT(refusal(good + "[program.options]\n\"a b\" = 1\n"), HasSubstr("letters, digits"));
  EXPECT_THAT(refusal(good + "[program.options]\nseed = 1\n"), HasSubstr("choose another name"));
  EXPECT_THAT(refusal(good + "[run]\nsteps = 3\n"), HasSubstr("p.toml:3: [run] beside [program]"));
}

TEST(ProgramRecipe, SettingsKeepTheTypeOfAnOption) {
  ProgramRecipe recipe = whole();
  const auto set = [&](const char* key, const char* value) {
    return apply_program_setting(recipe, {key, value, "--set"});
  };
  EXPECT_TRUE(set("program.rounds", "9").ok());
  EXPECT_TRUE(set("program.options.rate", "1e-3").ok());
  EXPECT_TRUE(set("program.options.count", "-4").ok());
  EXPECT_TRUE(set("program.options.fast", "false").ok());
  EXPECT_TRUE(set("program.options.name", "7").ok());
  EXPECT_EQ(recipe.rounds, 9);
  EXPECT_THAT(recipe.options, ElementsAre(Pair("count", ProgramOption(std::int64_t{-4})),
                                          Pair("fast", ProgramOption(false)),
                                          Pair("name", ProgramOption(std::string("7"))),
                                          Pair("rate", ProgramOption(1e-3))));
  EXPECT_THAT(set("program.options.count", "1.5").message(), HasSubstr("whole number, got 1.5"));
  EXPECT_THAT(set("program.options.rate", "inf").message(), HasSubstr("a number, got inf"));
  EXPECT_THAT(set("program.options.fast", "1").message(), HasSubstr("true or false"));
  EXPECT_THAT(set("program.timeout_s", "x").message(), HasSubstr("got x"));
  EXPECT_THAT(set("program.options.rat", "1").message(),
              HasSubstr("did you mean \"program.options.rate\"?"));
  EXPECT_THAT(set("group.wire", "bf16").message(), HasSubstr("is no setting of this program"));
  EXPECT_FALSE(set("program.command", "rm").ok());
}

TEST(ProgramRecipe, NamesInBracesAreReplacedOnce) {
  const PlaceValue value = [](std::string_view name) -> std::optional<std::string> {
    if (name == "a") return "{b}";
    return std::nullopt;
  };
  EXPECT_EQ(*with_places("x{a}y{a}", value), "x{b}y{b}");
  EXPECT_EQ(*with_places("{{a}} {{{a}}}", value), "{a} {{b}}");
  EXPECT_THAT(with_places("{b}", value).status().message(), HasSubstr("nothing is called {b}"));
  EXPECT_THAT(with_places("{a", value).status().message(), HasSubstr("without its other half"));
  EXPECT_THAT(with_places("a}", value).status().message(), HasSubstr("write }} for"));
}

}  // namespace
}  // namespace weft::program_recipe_test
