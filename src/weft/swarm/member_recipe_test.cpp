#include "weft/swarm/member_recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::member_recipe_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

MemberRecipe sample() {
  MemberRecipe recipe{"spiral 2", "rate 0.1\n\nlines", {}};
  recipe.group.wire = "bf16";
  recipe.group.rounds = 40;
  recipe.group.start_members = 3;
  recipe.group.start_timeout = seconds(5);
  recipe.group.suspicion_timeout = milliseconds(700);
  recipe.group.lone_survivor = true;
  return recipe;
}

TEST(MemberRecipe, ComesBackAsItWas) {
  const MemberRecipe recipe = sample();
  const Result<std::string> text = format_member_recipe(recipe);
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  const Result<MemberRecipe> read = parse_member_recipe(*text);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(read->program, recipe.program);
  EXPECT_EQ(read->settings, recipe.settings);
  EXPECT_EQ(read->group.wire, "bf16");
  EXPECT_EQ(read->group.rounds, 40U);
  EXPECT_EQ(read->group.start_members, 3);
  EXPECT_EQ(read->group.start_timeout, seconds(5));
  EXPECT_EQ(read->group.suspicion_timeout, milliseconds(700));
  EXPECT_TRUE(read->group.lone_survivor);
}

TEST(MemberRecipe, ACutTextIsRefused) {
  const std::string text = *format_member_recipe(sample());
  const std::size_t settings = text.find("settings\n") + 9;
  for (std::size_t size = 0; size < settings; ++size) {
    EXPECT_FALSE(parse_member_recipe(std::string_view(text).substr(0, size)).ok()) << size;
  }
}

TEST(MemberRecipe, TextsOfOthersAreRefused) {
  const std::string text = *format_member_recipe(sample());
  const auto with = [&](const std::string& line, const std::string& other) {
    std::string changed = text;
    return changed.replace(changed.find(line), line.size(), other);
  };
  for (const std::string& wrong :
       {std::string("[model]\nname = \"mlp\"\n"), std::string(R"({"weft_swarm": 1})"),
        with("member 1", "member 2"), with("rounds 40", "rounds -1"),
        with("rounds 40", "rounds 4x"), with("rounds 40", "rounds 99999999999999999999"),
        with("start_members 3", "start_members"),
        with("start_timeout_ms 5000", "start_timeout_ms 99999999999999999"),
        with("lone_survivor 1", "lone_survivor 2"), with("wire bf16\n", ""),
        with("program spiral 2", "program ")}) {
    const Result<MemberRecipe> read = parse_member_recipe(wrong);
    ASSERT_FALSE(read.ok()) << wrong;
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(read.status().message(), testing::HasSubstr("weft join"));
  }
}

TEST(MemberRecipe, AProgramHasAName) {
  for (const std::string& name :
       {std::string(), std::string("two\nlines"), std::string(201, 'x')}) {
    const Result<std::string> text = format_member_recipe({name, "", {}});
    ASSERT_FALSE(text.ok());
    EXPECT_THAT(text.status().message(), testing::HasSubstr("names program and version"));
  }
  EXPECT_FALSE(format_member_recipe({"x", std::string(kSettingsBytesMax + 1, 's'), {}}).ok());
}

}  // namespace
}  // namespace weft::member_recipe_test
