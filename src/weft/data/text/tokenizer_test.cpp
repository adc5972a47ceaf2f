#include "weft/data/tokenizer.h"

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/base/bytes.h"
#include "weft/base/rng.h"
#include "weft/base/utf8.h"
#include "weft/data/text/bpe_tokenizer.h"

namespace weft::tokenizer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::json;

std::string golden(const std::string& name) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/tests/golden/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::int32_t> encode(const Tokenizer& tokenizer, std::string_view text) {
  Result<std::vector<std::int32_t>> tokens = tokenizer.encode(text);
  EXPECT_TRUE(tokens.ok()) << tokens.status().to_string();
  return tokens.ok() ? std::move(*tokens) : std::vector<std::int32_t>();
}

std::string decode(const Tokenizer& tokenizer, std::span<const std::int32_t> tokens) {
  Result<std::string> text = tokenizer.decode(tokens);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? std::move(*text) : std::string();
}

std::unique_ptr<Tokenizer> parse(std::string_view text) {
  Result<std::unique_ptr<Tokenizer>> tokenizer = parse_tokenizer(text);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().to_string();
  return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
}

std::string random_bytes(Rng& rng, std::size_t size, std::uint64_t alphabet) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i) text.push_back(static_cast<char>(rng.below(alphabet)));
  return text;
}

TEST(Utf8, WhatIsValidAndWhatIsNot) {
  EXPECT_EQ(first_character("\xF0\x9F\x8E\x89").code_point, 0x1F389U);
  EXPECT_EQ(first_character("\xC3\xA9").length, 2U);
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
        "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xC3", "\xFF"}) {
    EXPECT_EQ(first_character(bad).length, 0U) << to_hex(as_bytes(std::string_view(bad)));
  }
  EXPECT_EQ(valid_utf8_prefix("0123456789abcdef\xC3\xA9\xC3"), 18U);
  EXPECT_EQ(count_characters("a\xC3\xA9\xF0\x9F\x8E\x89"), 3);
  for (std::uint32_t value = 0; value <= 0x10FFFF; value += value < 0x3000 ? 1 : 251) {
    if (value >= 0xD800 && value < 0xE000) continue;
    std::string text;
    append_utf8(text, value);
    ASSERT_EQ(first_character(text).code_point, value);
    ASSERT_EQ(first_character(text).length, text.size());
  }
}

TEST(ByteTokenizer, AnyBytesComeBack) {
  const auto tokenizer = make_byte_tokenizer();
  EXPECT_EQ(tokenizer->vocabulary(), 256);
  EXPECT_THAT(encode(*tokenizer, "a\xFF"), ElementsAre(97, 255));
  Rng rng(1);
  const std::string text = random_bytes(rng, 5000, 256);
  EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, text)), text);
  EXPECT_EQ(parse(tokenizer->file_text())->vocabulary(), 256);
  EXPECT_FALSE(tokenizer->decode(std::vector<std::int32_t>{256}).ok());
  EXPECT_FALSE(tokenizer->decode(std::vector<std::int32_t>{-1}).ok());
}

TEST(CharacterTokenizer, TheVocabularyIsSortedAndItsFileIsStable) {
  const auto made = make_character_tokenizer("hello w\xC3\xB6rld");
  ASSERT_TRUE(made.ok());
  const Tokenizer& tokenizer = **made;
  EXPECT_EQ(tokenizer.vocabulary(), 9);
  EXPECT_EQ(tokenizer.file_text(),
            "weft-characters 1\nU+0020\nU+0064\nU+0065\nU+0068\nU+006C\nU+006F\nU+0072\nU+0077\n"
            "U+00F6\n");
  EXPECT_THAT(encode(tokenizer, "h\xC3\xB6 d"), ElementsAre(3, 8, 0, 1));
  const auto again = parse(tokenizer.file_text());
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->file_text(), tokenizer.file_text());
  EXPECT_EQ(decode(*again, encode(tokenizer, "w\xC3\xB6lle")), "w\xC3\xB6lle");
}

TEST(CharacterTokenizer, WhatItCannotEncodeIsNamed) {
  const auto made = make_character_tokenizer("abc");
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->encode("abxc").status().message(),
            "encode: expected one of the 3 characters of the vocabulary, got U+0078 at offset 2");
  EXPECT_EQ((*made)->encode("a\xFF").status().message(),
            "encode: expected UTF-8, got byte ff at offset 1");
  EXPECT_FALSE((*made)->decode(std::vector<std::int32_t>{3}).ok());
  EXPECT_FALSE(make_character_tokenizer("").ok());
  EXPECT_FALSE(make_character_tokenizer("a\xC3").ok());
}

TEST(CharacterTokenizer, DamagedFilesAreRefused) {
  for (const std::string_view lines :
       {"", "U+0041", "U+0042\nU+0041\n", "U+0041\nU+0041\n", "U+D800\n", "U+110000\n", "U+\n",
        "U+-1\n", "0041\n", "U+0041 \n", "\n"}) {
    const auto tokenizer = parse_tokenizer("weft-characters 1\n" + std::string(lines));
    EXPECT_EQ(tokenizer.status().code(), Code::kCorrupt) << lines;
  }
  EXPECT_EQ(parse_tokenizer("weft-bytes 2\n").status().code(), Code::kCorrupt);
  EXPECT_EQ(parse_tokenizer("").status().code(), Code::kCorrupt);
}

// The oracle is tests/golden/make_bpe.py, written after the paper with nothing of this code.
TEST(Bpe, TrainingMakesTheMergesOfThePlainAlgorithm) {
  const Json cases = Json::parse(golden("bpe_cases.json"));
  const auto& merges = cases["merges"];
  const auto& tokens = cases["tokens"];
  const auto trained =
      train_bpe(cases["corpus"].get<std::string>(),
                {.vocabulary = static_cast<std::int64_t>(tokens.size()), .pair_count_min = 1});
  ASSERT_TRUE(trained.ok()) << trained.status().to_string();
  ASSERT_EQ(trained->tokens.size(), tokens.size());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_EQ(to_hex(as_bytes(trained->tokens[i])), tokens[i].get<std::string>()) << i;
  }
  ASSERT_LE(trained->merges.size(), merges.size());
  for (std::size_t i = 0; i < trained->merges.size(); ++i) {
    ASSERT_EQ(trained->merges[i].first, merges[i][0].get<std::int32_t>()) << i;
    ASSERT_EQ(trained->merges[i].second, merges[i][1].get<std::int32_t>()) << i;
  }
}

TEST(Bpe, TokenizerJsonEncodesAsThePlainAlgorithm) {
  const auto tokenizer = parse(golden("bpe_tokenizer.json"));
  ASSERT_NE(tokenizer, nullptr);
  const auto again = parse(tokenizer->file_text());
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->file_text(), tokenizer->file_text());
  const Json cases = Json::parse(golden("bpe_cases.json"));
  for (const Json& each : cases["cases"]) {
    const auto text = each["text"].get<std::string>();
    const auto expected = each["tokens"].get<std::vector<std::int32_t>>();
    EXPECT_EQ(encode(*tokenizer, text), expected) << text;
    EXPECT_EQ(encode(*again, text), expected) << text;
    EXPECT_EQ(decode(*tokenizer, expected), text);
  }
}

TEST(Bpe, PiecesAreThoseOfGpt2sPattern) {
  const auto splitter = PieceSplitter::make({{std::string(kGpt2Pattern)}});
  ASSERT_TRUE(splitter.ok());
  const Json cases = Json::parse(golden("bpe_cases.json"));
  for (const Json& each : cases["cases"]) {
    const auto text = each["text"].get<std::string>();
    const auto pieces = splitter->split(text);
    ASSERT_TRUE(pieces.ok());
    EXPECT_EQ(std::vector<std::string>(pieces->begin(), pieces->end()),
              each["pieces"].get<std::vector<std::string>>());
  }
}

TEST(Bpe, AnyBytesComeBack) {
  const auto tokenizer = parse(golden("bpe_tokenizer.json"));
  ASSERT_NE(tokenizer, nullptr);
  Rng rng(3);
  for (const std::uint64_t alphabet : {2U, 128U, 200U, 256U}) {
    for (int i = 0; i < 50; ++i) {
      const std::string text =
          random_bytes(rng, static_cast<std::size_t>(rng.below(300)), alphabet);
      ASSERT_EQ(decode(*tokenizer, encode(*tokenizer, text)), text) << to_hex(as_bytes(text));
    }
  }
  // One piece of a million bytes is no problem either: the work is n log n.
  const std::string long_piece(1000000, 't');
  EXPECT_EQ(decode(*tokenizer, encode(*tokenizer, long_piece)), long_piece);
}

TEST(Bpe, TrainingStopsWhereTheTextGivesOut) {
  const auto model = train_bpe("ab ab ab", {.vocabulary = 1000, .special = {"<s>"}});
  ASSERT_TRUE(model.ok());
  // "ab" (3 times), then " ab" (twice); after that no pair is left that occurs twice.
  ASSERT_EQ(model->merges.size(), 2U);
  EXPECT_EQ(model->tokens.size(), 259U);
  const auto tokenizer = BpeTokenizer::make(*model);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_THAT(encode(**tokenizer, "ab ab<s>"), ElementsAre(256, 257, 258));
  EXPECT_FALSE(train_bpe("x", {.vocabulary = 255}).ok());
  EXPECT_TRUE(train_bpe("", {.vocabulary = 256}).ok());
}

TEST(Bpe, WholePiecesAndSpaceBeforeAreFollowed) {
  BpeModel model = *train_bpe("ab ab ab", {.vocabulary = 1000});
  model.tokens.emplace_back("xyz");  // no merge leads to it
  model.whole_pieces = true;
  model.space_before = true;
  const auto tokenizer = BpeTokenizer::make(model);
  ASSERT_TRUE(tokenizer.ok());
  EXPECT_THAT(encode(**tokenizer, "ab"), ElementsAre(257));
  EXPECT_EQ(encode(**tokenizer, " xyz").size(), 4U);
  model.space_before = false;
  const auto plain = parse((*BpeTokenizer::make(model))->file_text());
  ASSERT_NE(plain, nullptr);
  EXPECT_THAT(encode(*plain, "xyz"), ElementsAre(258));
}

// Changes one place of the golden file and expects a refusal with these words.
void expect_refused(const std::function<void(Json&)>& change, const std::string& words) {
  Json json = Json::parse(golden("bpe_tokenizer.json"));
  change(json);
  const auto tokenizer = parse_tokenizer(json.dump());
  ASSERT_FALSE(tokenizer.ok()) << words;
  EXPECT_EQ(tokenizer.status().code(), Code::kCorrupt);
  EXPECT_THAT(tokenizer.status().message(), HasSubstr(words));
}

TEST(Bpe, FilesThatAskForMoreAreRefused) {
  expect_refused([](Json& j) { j["model"]["type"] = "Unigram"; }, "expected \"BPE\"");
  expect_refused([](Json& j) { j["model"]["vocab"].erase("\xC4\x80"); }, "none for 00");
  expect_refused([](Json& j) { j["model"]["vocab"]["a"] = -1; }, "expected an id below");
  expect_refused([](Json& j) { j["model"]["vocab"]["a"] = 4000000000U; }, "expected an id below");
  expect_refused([](Json& j) { j["model"]["vocab"]["a"] = 66; }, "expected one token for id 66");
  expect_refused([](Json& j) { j["model"]["merges"][0] = "nobody here"; }, "two tokens of the voc");
  expect_refused([](Json& j) { j["model"]["merges"][0] = 7; }, "expected two tokens");
  expect_refused([](Json& j) { j["model"]["merges"].push_back("z z"); }, "expected a token for");
  expect_refused([](Json& j) { j["model"].erase("merges"); }, "expected an array");
  expect_refused([](Json& j) { j["model"]["byte_fallback"] = true; }, "byte_fallback");
  expect_refused([](Json& j) { j["model"]["dropout"] = 0.1; }, "model.dropout: expected none");
  expect_refused([](Json& j) { j["normalizer"] = {{"type", "NFC"}}; }, "normalizer: expected none");
  expect_refused([](Json& j) { j["decoder"] = {{"type", "Metaspace"}}; }, "expected ByteLevel");
  expect_refused([](Json& j) { j["pre_tokenizer"] = {{"type", "Digits"}}; }, "got \"Digits\"");
  expect_refused([](Json& j) { j["added_tokens"][0]["lstrip"] = true; }, "expected lstrip false");
  expect_refused([](Json& j) { j["added_tokens"][0]["content"] = ""; }, "an id and a content");
  const Json split = {{"type", "Split"}, {"pattern", {{"Regex", "(a"}}}, {"behavior", "Isolated"}};
  expect_refused([&](Json& j) { j["pre_tokenizer"] = split; }, "pattern: ");
  EXPECT_THAT(parse_tokenizer("{" + std::string(100000, '[')).status().message(),
              HasSubstr("JSON"));
  EXPECT_THAT(parse_tokenizer("{\"a\":" + std::string(100, '[')).status().message(),
              HasSubstr("levels"));
}

// A pattern that backtracks without end is stopped by its bound, not by the user's patience.
TEST(Bpe, HostilePatternsEnd) {
  const auto splitter = PieceSplitter::make({{"(a*)*(a*)*(a*)*b"}});
  ASSERT_TRUE(splitter.ok());
  const auto pieces = splitter->split(std::string(5000, 'a'));
  EXPECT_TRUE(pieces.ok() || pieces.status().code() == Code::kCorrupt);
  EXPECT_FALSE(PieceSplitter::make({{std::string(20000, 'a')}}).ok());
  const auto empty = PieceSplitter::make({{"x*"}});
  ASSERT_TRUE(empty.ok());
  EXPECT_THAT(*empty->split("axxb"), ElementsAre("a", "xx", "b"));
}

// U+180E is a space to PCRE2 but not to Unicode; U+0085 and U+2028 are spaces to both.
TEST(PieceSplitter, SpacesAreThoseOfUnicode) {
  const auto cut = [](const std::string& pattern, std::string_view text) {
    const auto splitter = PieceSplitter::make({{pattern, false}});
    EXPECT_TRUE(splitter.ok()) << splitter.status().to_string();
    const auto pieces = splitter->split(text);
    return std::vector<std::string>(pieces->begin(), pieces->end());
  };
  constexpr std::string_view kText = "a\u180eb\u2028c\u0085d \u3000e";
  const auto words = ElementsAre("a\u180eb", "c", "d", "e");
  EXPECT_THAT(cut(R"(\S+)", kText), words);
  EXPECT_THAT(cut(R"([^\s]+)", kText), words);
  EXPECT_THAT(cut(R"((?:(?!\s).)+)", kText), words);
  EXPECT_THAT(cut(R"(\s+)", kText), ElementsAre("\u2028", "\u0085", " \u3000"));
  EXPECT_THAT(cut(R"([]\s]+)", "] x]"), ElementsAre("] ", "]"));
  EXPECT_THAT(cut(R"([a[]\s)", "a [ ] "), ElementsAre("a ", "[ "));
  EXPECT_THAT(cut(R"([\[]\s)", "a [ ] "), ElementsAre("[ "));
  EXPECT_THAT(cut(R"(\\s|[\]\\]s)", R"(\s ]s xs)"), ElementsAre(R"(\s)", "]s"));
  const auto gpt2 = PieceSplitter::make({{std::string(kGpt2Pattern)}});
  EXPECT_THAT(*gpt2->split("it \u180e's"), ElementsAre("it", " \u180e'", "s"));
}

TEST(PieceSplitter, RulesFollowEachOtherAndGapsMayBeDropped) {
  const auto splitter = PieceSplitter::make({{R"(\p{N}{1,3})"}, {R"([^\s]+)", false}});
  ASSERT_TRUE(splitter.ok());
  EXPECT_THAT(*splitter->split("ab 12345 c"), ElementsAre("ab", "123", "45", "c"));
  EXPECT_THAT(*PieceSplitter().split("as it is"), ElementsAre("as it is"));
}

}  // namespace
}  // namespace weft::tokenizer_test
