// Tokens to text: characters of several tokens, and stop texts across tokens.
#include "weft/serve/text/choice_text.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/base/rng.h"

namespace weft::choice_text_test {
namespace {

using testing::ElementsAre;

// Token i is the i-th of some bytes.
class ListTokenizer : public Tokenizer {
 public:
  explicit ListTokenizer(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {}
  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(tokens_.size()); }
  Result<std::vector<std::int32_t>> encode(std::string_view /*text*/) const override {
    return invalid_argument("not needed");
  }
  Result<std::string> decode(std::span<const std::int32_t> tokens) const override {
    std::string bytes;
    for (const std::int32_t token : tokens) {
      if (token >= vocabulary()) return invalid_argument("token: expected another");
      bytes += tokens_[static_cast<std::size_t>(token)];
    }
    return bytes;
  }
  std::string file_text() const override { return ""; }

 private:
  std::vector<std::string> tokens_;
};

struct Outcome {
  std::vector<std::string> pieces;  // one a token, and that of the end
  std::string text;
  std::vector<std::int32_t> tokens;
  std::vector<std::int64_t> offsets;
  bool stopped = false;

  void add(const TextPiece& piece) {
    pieces.push_back(piece.text);
    text += piece.text;
    for (const PlacedToken& token : piece.tokens) {
      tokens.push_back(token.drawn.token);
      offsets.push_back(token.text_offset);
    }
  }
};

// The text whose tokens are these bytes, one after another.
Outcome outcome_of(const std::vector<std::string>& tokens, const std::vector<std::string>& stops) {
  const ListTokenizer tokenizer(tokens);
  ChoiceText text(&tokenizer, stops);
  Outcome outcome;
  for (std::size_t i = 0; i < tokens.size() && !text.stopped(); ++i) {
    const Result<TextPiece> piece = text.add({static_cast<std::int32_t>(i)});
    EXPECT_TRUE(piece.ok());
    outcome.add(*piece);
  }
  if (!text.stopped()) outcome.add(text.finish());
  outcome.stopped = text.stopped();
  return outcome;
}

TEST(ChoiceText, WithoutStopsEachCharacterComesOnceItIsWhole) {
  const Outcome outcome = outcome_of({"na", "\xC3", "\xAF", "ve", " \xF0\x9F", "\x98\x80!"}, {});
  EXPECT_THAT(outcome.pieces,
              ElementsAre("na", "", "\xC3\xAF", "ve", " ", "\xF0\x9F\x98\x80!", ""));
  EXPECT_THAT(outcome.tokens, ElementsAre(0, 1, 2, 3, 4, 5));
  // Characters, not bytes; both halves begin in the one character.
  EXPECT_THAT(outcome.offsets, ElementsAre(0, 2, 2, 3, 5, 6));
}

TEST(ChoiceText, BytesThatAreNoCharacterAreReplaced) {
  EXPECT_EQ(outcome_of({"a", "\xFF\xC3"}, {}).text, "a\xEF\xBF\xBD\xEF\xBF\xBD");
  const Outcome outcome = outcome_of({"\xE2", "a", "", "b", ""}, {});
  EXPECT_EQ(outcome.text,
            "\xEF\xBF\xBD"
            "ab");
  EXPECT_THAT(outcome.tokens, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(outcome.offsets, ElementsAre(0, 1, 2, 2, 3));
}

TEST(ChoiceText, AStopTextIsFoundAcrossTokensAndLeftOut) {
  const Outcome outcome = outcome_of({"one", " E", "N", "D", " more"}, {"END"});
  EXPECT_TRUE(outcome.stopped);
  // "E" and "EN" might have become the stop text, so nobody has seen them.
  EXPECT_THAT(outcome.pieces, ElementsAre("one", " ", "", ""));
  EXPECT_THAT(outcome.tokens, ElementsAre(0, 1));
}

TEST(ChoiceText, AStopTextWithinATokenCutsIt) {
  const Outcome outcome = outcome_of({"one", " two.\nthree", "four"}, {".\n"});
  EXPECT_EQ(outcome.text, "one two");
  EXPECT_THAT(outcome.tokens, ElementsAre(0, 1));
  EXPECT_EQ(outcome_of({"ENDone"}, {"END"}).text, "");
  EXPECT_TRUE(outcome_of({"ENDone"}, {"END"}).tokens.empty());
}

TEST(ChoiceText, WhatOnlyBeginsLikeAStopTextIsGiven) {
  const Outcome outcome = outcome_of({"a", "b", "a", "b", "x"}, {"abc", "bab!"});
  EXPECT_FALSE(outcome.stopped);
  EXPECT_THAT(outcome.pieces, ElementsAre("", "", "a", "", "babx", ""));
  EXPECT_THAT(outcome.tokens, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(outcome_of({"a", "b"}, {"abc"}).text, "ab");  // the end came first
}

TEST(ChoiceText, TheStopTextThatIsCompleteFirstCounts) {
  for (const std::vector<std::string>& tokens :
       {std::vector<std::string>{"xabcd"}, {"x", "a", "b", "c", "d"}, {"xab", "cd"}}) {
    EXPECT_EQ(outcome_of(tokens, {"abcd", "bc"}).text, "xa");
    EXPECT_EQ(outcome_of(tokens, {"bc", "abc"}).text, "x");
  }
}

TEST(ChoiceText, HoweverTheBytesAreCutTheTextIsTheSame) {
  const std::vector<std::string> stops = {"a\xC3\xA9", "\xE2\x82\xAC\xE2\x82\xAC", "aab"};
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Rng rng(seed);
    std::string bytes;
    for (int i = 0; i < 24; ++i) {
      const char* const parts[] = {"a", "b", "\xC3\xA9", "\xE2\x82\xAC", "\xC3", "\xFF", "aa"};
      bytes += parts[rng.below(rng.chance(0.1) ? 7 : 4)];
    }
    std::vector<std::string> tokens = {""};
    for (const char byte : bytes) {
      if (rng.chance(0.5)) tokens.emplace_back();
      tokens.back() += byte;
    }
    const Outcome whole = outcome_of({bytes}, stops);
    const Outcome cut = outcome_of(tokens, stops);
    ASSERT_EQ(cut.text, whole.text) << seed;
    ASSERT_EQ(cut.stopped, whole.stopped) << seed;
    // By a search that knows the whole text: no stop text in what was given.
    for (const std::string& stop : stops) {
      ASSERT_EQ(cut.text.find(stop), std::string::npos) << seed;
    }
    ASSERT_TRUE(std::is_sorted(cut.offsets.begin(), cut.offsets.end()));
    ASSERT_NO_THROW(static_cast<void>(nlohmann::json(cut.text).dump()));  // throws on no UTF-8
    ASSERT_TRUE(cut.stopped || cut.tokens.size() == tokens.size());
  }
}

TEST(ChoiceText, WithoutATokenizerTokensComeAsTheyAre) {
  ChoiceText text(nullptr, {});
  const Result<TextPiece> piece = text.add({7});
  ASSERT_TRUE(piece.ok());
  EXPECT_EQ(piece->text, "");
  ASSERT_EQ(piece->tokens.size(), 1U);
  EXPECT_EQ(piece->tokens[0].drawn.token, 7);
  EXPECT_TRUE(text.finish().tokens.empty());
}

TEST(ChoiceText, ATokenThatTheTokenizerLacksIsOurMistake) {
  const ListTokenizer tokenizer({"a"});
  ChoiceText text(&tokenizer, {});
  EXPECT_EQ(text.add({1}).status().code(), Code::kInternal);
}

}  // namespace
}  // namespace weft::choice_text_test
