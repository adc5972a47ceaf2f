#include "weft/app/compare/contender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::contender_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const ContenderTexts& texts) {
  const Result<std::vector<Contender>> made = contenders_of(texts);
  return made.ok() ? "" : made.status().message();
}

TEST(Contender, ARecipeIsCalledByItsFile) {
  EXPECT_THAT(contenders_of({{"r/a.toml", "b.toml"}, {}, {}}).value(),
              ElementsAre(Contender{"a", "r/a.toml", {}}, Contender{"b", "b.toml", {}}));
  EXPECT_THAT(
      contenders_of({{"x/a.toml", "y/a.toml"}, {}, {}}).value(),
      ElementsAre(Contender{"x/a.toml", "x/a.toml", {}}, Contender{"y/a.toml", "y/a.toml", {}}));
}

TEST(Contender, AVariantHasANameARecipeAndSettings) {
  EXPECT_THAT(
      contenders_of(
          {{}, {"one per cent: a.toml group.wire=topk:ratio=0.01 'run.name=with blanks'"}, {}})
          .value(),
      ElementsAre(Contender{
          "one per cent", "a.toml", {"group.wire=topk:ratio=0.01", "run.name=with blanks"}}));
  EXPECT_THAT(contenders_of({{}, {"a.toml local.steps=5"}, {}}).value(),
              ElementsAre(Contender{"a local.steps=5", "a.toml", {"local.steps=5"}}));
}

TEST(Contender, VaryMakesAllCombinations) {
  EXPECT_THAT(
      contenders_of({{"a.toml"}, {}, {"group.wire=f32,topk:ratio=0.1", "local.steps=1,5"}}).value(),
      ElementsAre(Contender{"wire=f32 steps=1", "a.toml", {"group.wire=f32", "local.steps=1"}},
                  Contender{"wire=f32 steps=5", "a.toml", {"group.wire=f32", "local.steps=5"}},
                  Contender{"wire=topk:ratio=0.1 steps=1",
                            "a.toml",
                            {"group.wire=topk:ratio=0.1", "local.steps=1"}},
                  Contender{"wire=topk:ratio=0.1 steps=5",
                            "a.toml",
                            {"group.wire=topk:ratio=0.1", "local.steps=5"}}));
  EXPECT_EQ(contenders_of({{"a.toml", "b.toml"}, {}, {"run.steps=7"}}).value()[1].name,
            "b steps=7");
}

TEST(Contender, WhatIsWrongIsNamed) {
  EXPECT_THAT(refusal({{}, {}, {}}), HasSubstr("expected a recipe"));
  EXPECT_THAT(refusal({{}, {"a: 'b"}, {}}), HasSubstr("a quote has no end"));
  EXPECT_THAT(refusal({{}, {"name: "}, {}}), HasSubstr("NAME: RECIPE"));
  EXPECT_THAT(refusal({{}, {"a.toml steps"}, {}}), HasSubstr("key=value, got 'steps'"));
  EXPECT_THAT(refusal({{"a.toml"}, {}, {"x=1,"}}), HasSubstr("--vary"));
  EXPECT_THAT(refusal({{}, {"a.toml"}, {"x=1"}}), HasSubstr("expected a recipe to vary"));
  EXPECT_THAT(refusal({{"a.toml", "a.toml"}, {}, {}}), HasSubstr("two contenders are called 'a'"));
  EXPECT_THAT(refusal({{}, {"\x1b[2J: a.toml"}, {}}), HasSubstr("printable"));
  EXPECT_THAT(refusal({{"a.toml"}, {}, {"x=1,2,3,4,5,6,7,8,9", "y=1,2,3,4,5,6,7,8"}}),
              HasSubstr("at most 64"));
}

TEST(CompareSeeds, AreANumberOrARange) {
  EXPECT_THAT(compare_seeds("3").value(), ElementsAre(1, 2, 3));
  EXPECT_THAT(compare_seeds("5..7").value(), ElementsAre(5, 6, 7));
  for (const char* text :
       {"0", "-1", "x", "", "3..2", "1..", "1,2", "1..2000", "9999999999999999999"}) {
    EXPECT_EQ(compare_seeds(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(ShellCommand, QuotesWhatAShellWouldChange) {
  EXPECT_EQ(shell_command({"compare", "a.toml", "--variant", "it's: $b"}),
            "weft compare a.toml --variant 'it'\\''s: $b'");
  EXPECT_EQ(shell_command({""}), "weft ''");
}

}  // namespace
}  // namespace weft::contender_test
