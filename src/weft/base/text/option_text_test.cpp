#include "weft/base/text/option_text.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weft::option_text_test {
namespace {

constexpr Option kOptions[] = {
    {.name = "ratio", .fallback = 0.25, .min = 0.125, .max = 1, .help = "A share."},
    {.name = "rounds", .fallback = 3, .min = 1, .max = 8, .whole = true, .help = "A number."},
};

Result<std::vector<double>> parsed(const std::vector<std::string_view>& texts) {
  return parse_options("rule", kOptions, texts);
}

TEST(OptionText, WhatIsNotGivenHasItsFallback) {
  EXPECT_EQ(*parsed({}), (std::vector<double>{0.25, 3}));
  EXPECT_EQ(*parsed({"rounds=5"}), (std::vector<double>{0.25, 5}));
  EXPECT_EQ(*parsed({"rounds=5", "ratio=0.5"}), (std::vector<double>{0.5, 5}));
}

TEST(OptionText, BoundsMayBeReachedAndNotPassed) {
  EXPECT_EQ(*parsed({"ratio=0.125", "rounds=1"}), (std::vector<double>{0.125, 1}));
  EXPECT_EQ(*parsed({"ratio=1", "rounds=8"}), (std::vector<double>{1, 8}));
  for (const std::string_view text :
       {"ratio=0.1249", "ratio=1.0001", "ratio=nan", "rounds=0", "rounds=9", "rounds=2.5"}) {
    const auto got = parsed({text});
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(OptionText, WhatIsNoOptionIsRefusedByName) {
  for (const std::string_view text : {"", "ratio", "=1", "ratio=", "ratio=1x", "ration=1"}) {
    EXPECT_FALSE(parsed({text}).ok()) << text;
  }
  const std::string said = parsed({"ration=1"}).status().message();
  EXPECT_NE(said.find("rule: expected ratio=NUMBER or rounds=NUMBER"), std::string::npos) << said;
  EXPECT_FALSE(parse_options("bare", {}, std::vector<std::string_view>{"a=1"}).ok());
}

TEST(OptionText, OnlyWhatDiffersFromItsFallbackIsWritten) {
  EXPECT_EQ(format_options(kOptions, std::vector<double>{0.25, 3}), "");
  EXPECT_EQ(format_options(kOptions, std::vector<double>{0.25, 4}), ":rounds=4");
  EXPECT_EQ(format_options(kOptions, std::vector<double>{0.5, 4}), ":ratio=0.5:rounds=4");
}

TEST(OptionText, WordsStandBetweenMarks) {
  EXPECT_EQ(split_words("a:b=1::c:", ':'), (std::vector<std::string_view>{"a", "b=1", "c"}));
  EXPECT_TRUE(split_words("::", ':').empty());
}

}  // namespace
}  // namespace weft::option_text_test
