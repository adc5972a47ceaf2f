// The bodies of requests and answers.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/base/rng.h"
#include "weft/serve/completion_json.h"
#include "weft/serve/json_text.h"
#include "weft/serve/predict_json.h"

namespace weft::json_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr RowRule kRule = {.features = 4, .rows_max = 3};

std::string refusal(std::string_view body, const RowRule& rule = kRule) {
  const auto rows = parse_predict(body, rule);
  EXPECT_FALSE(rows.ok()) << body;
  if (rows.ok()) return "";
  EXPECT_EQ(rows.status().code(), Code::kInvalidArgument);
  return rows.status().message();
}

TEST(PredictJson, ReadsFlatAndNestedRows) {
  const auto rows =
      parse_predict(R"({"model":"m","inputs":[[1,-2.5,3e2,0],[[[1],[2]],[[3],[4]]]]})", kRule);
  ASSERT_TRUE(rows.ok()) << rows.status().to_string();
  EXPECT_EQ(rows->rows, 2);
  EXPECT_EQ(rows->model, "m");
  EXPECT_THAT(rows->values, ElementsAre(1, -2.5F, 300, 0, 1, 2, 3, 4));
}

TEST(PredictJson, SaysWhereAndWhatWasExpected) {
  EXPECT_EQ(refusal(""), "body: expected JSON, got something else at byte 1");
  EXPECT_THAT(refusal("{\"inputs\":[[1,2,3,4]]} x"), HasSubstr("expected JSON"));
  EXPECT_EQ(refusal("[1]"), "body: expected an object, got an array");
  EXPECT_EQ(refusal("7"), "body: expected an object, got a number");
  EXPECT_EQ(refusal("{}"), "inputs: expected at least one row");
  EXPECT_EQ(refusal(R"({"inputs":[]})"), "inputs: expected at least one row");
  EXPECT_EQ(refusal(R"({"inputs":[[1,2,3]]})"), "inputs[0]: expected 4 numbers, got 3");
  EXPECT_EQ(refusal(R"({"inputs":[[1,2,3,4],[1,2,3,4,5]]})"),
            "inputs[1]: expected 4 numbers, got at least 5");
  EXPECT_EQ(refusal(R"({"inputs":[1]})"), "inputs: expected rows of numbers, got a number");
  EXPECT_EQ(refusal(R"({"inputs":[["a"]]})"), "inputs: expected rows of numbers, got a text");
  EXPECT_EQ(refusal(R"({"inputs":[[null]]})"), "inputs: expected rows of numbers, got null");
  EXPECT_EQ(refusal(R"({"inputs":{"a":1}})"), "inputs: expected rows of numbers, got an object");
  EXPECT_EQ(refusal(R"({"inputs":[[1,2,3,1e300]]})"),
            "inputs[0][3]: expected a number of 32 bits, got 1e+300");
  EXPECT_EQ(refusal(R"({"inputs":[[1],[1],[1],[1]]})", {.features = 1, .rows_max = 3}),
            "inputs: expected at most 3 rows");
  EXPECT_THAT(refusal(R"({"rows":1})"), HasSubstr("\"rows\": expected the keys inputs and model"));
  EXPECT_EQ(refusal(R"({"inputs":[[1,2,3,4]],"inputs":[[1,2,3,4]]})"), "inputs: expected once");
  EXPECT_EQ(refusal(R"({"model":[1]})"), "model: expected a text, got an array");
  EXPECT_THAT(refusal("{\"inputs\":" + std::string(100000, '[')), HasSubstr("at most [channels]"));
}

TEST(PredictJson, PixelsAreWholeNumbersOfAByte) {
  const RowRule pixels = {.features = 2, .pixels = true};
  EXPECT_TRUE(parse_predict(R"({"inputs":[[0,255],[1.0,2]]})", pixels).ok());
  for (const char* wrong : {"256", "-1", "0.5", "1e9"}) {
    EXPECT_THAT(refusal(std::string(R"({"inputs":[[0,)") + wrong + "]]}", pixels),
                HasSubstr("inputs[0][1]: expected a pixel"));
  }
}

TEST(PredictJson, AnswersAreJsonThatReadsBackTheSameNumbers) {
  PredictOutputs outputs{2, 3, {0.1F, 1e-30F, 0.1F, -3, 1.0F / 3, 4}};
  const std::vector<std::string> names = {"a", "b \"quoted\"", "c"};
  const json read = json::parse(predict_answer("m", outputs, true, names));
  EXPECT_EQ(read["classes"], json({0, 2}));
  EXPECT_EQ(read["labels"], json({"a", "c"}));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(read["outputs"][i / 3][i % 3].get<float>(), outputs.values[i]);
  }
  outputs.values[1] = std::numeric_limits<float>::quiet_NaN();
  const json broken = json::parse(predict_answer("m", outputs, false, {}));
  EXPECT_TRUE(broken["outputs"][0][1].is_null());
  EXPECT_FALSE(broken.contains("classes"));
}

TextRule text_rule(const Tokenizer* tokenizer) {
  TextRule rule;
  rule.vocabulary = 256;
  rule.context = 32;
  rule.tokens_max = 30;
  rule.tokenizer = tokenizer;
  return rule;
}

TEST(CompletionJson, ReadsWhatClientsSend) {
  const auto tokenizer = make_byte_tokenizer();
  const auto request = parse_completion(
      R"({"model":"m","prompt":"hi","max_tokens":7,"temperature":0.5,"seed":9,"stream":true,)"
      R"("n":1,"stop":null,"echo":false,"user":"u"})",
      text_rule(tokenizer.get()));
  ASSERT_TRUE(request.ok()) << request.status().to_string();
  EXPECT_THAT(request->prompt, ElementsAre('h', 'i'));
  EXPECT_EQ(request->max_tokens, 7);
  EXPECT_EQ(request->temperature, 0.5);
  EXPECT_EQ(request->seed, 9U);
  EXPECT_TRUE(request->stream);
  const auto tokens = parse_completion(R"({"prompt":[1,255]})", text_rule(nullptr));
  ASSERT_TRUE(tokens.ok());
  EXPECT_THAT(tokens->prompt, ElementsAre(1, 255));
  EXPECT_EQ(tokens->max_tokens, 16);
  EXPECT_FALSE(tokens->seed.has_value());
}

TEST(CompletionJson, RefusesWhatItCannotDo) {
  const auto tokenizer = make_byte_tokenizer();
  const auto why = [&](std::string_view body, const Tokenizer* with) {
    const auto request = parse_completion(body, text_rule(with));
    EXPECT_FALSE(request.ok()) << body;
    return request.ok() ? std::string() : request.status().message();
  };
  const auto refused = [&](const std::string& part) {
    return why(R"({"prompt":"hi",)" + part + "}", tokenizer.get());
  };
  EXPECT_EQ(why("", nullptr), "body: expected JSON");
  EXPECT_EQ(why("[]", nullptr), "body: expected an object");
  EXPECT_EQ(why("{}", nullptr), "prompt: expected one, got none");
  EXPECT_THAT(why(R"({"prompt":"hi"})", nullptr), HasSubstr("no tokenizer"));
  EXPECT_EQ(why(R"({"prompt":[256]})", nullptr), "prompt: expected tokens below 256, got 256");
  EXPECT_EQ(why(R"({"prompt":[-1]})", nullptr), "prompt: expected tokens below 256, got -1");
  EXPECT_EQ(why(R"({"prompt":[]})", nullptr), "prompt: expected 1 to 31 tokens, got 0");
  EXPECT_THAT(why(R"({"prompt":[[1]]})", nullptr), HasSubstr("within an array"));
  EXPECT_THAT(why("{\"prompt\":" + std::string(100000, '['), nullptr), HasSubstr("body"));
  EXPECT_EQ(refused(R"("max_tokens":0)"), "max_tokens: expected 1 to 30, got 0");
  EXPECT_EQ(refused(R"("max_tokens":1.5)"), "max_tokens: expected 1 to 30, got 1.5");
  EXPECT_EQ(why(R"({"prompt":[1,2,3],"max_tokens":30})", nullptr),
            "max_tokens: expected at most 29 behind a prompt of 3 tokens (the model's context is "
            "32), got 30");
  EXPECT_EQ(refused(R"("temperature":-1)"), "temperature: expected 0 to 100, got -1");
  EXPECT_EQ(refused(R"("stream":"yes")"), "stream: expected true or false, got string");
  EXPECT_EQ(refused(R"("seed":0.5)"), "seed: expected an integer, got 0.5");
  EXPECT_THAT(refused(R"("stop":"x")"), HasSubstr("stop: expected one of"));
  EXPECT_THAT(refused(R"("n":2)"), HasSubstr("n: expected one of"));
}

TEST(CompletionJson, WritesOpenAisObject) {
  CompletionPiece piece;
  piece.id = "cmpl-1";
  piece.model = "m";
  piece.text = "a\n\"";
  const std::vector<std::int32_t> tokens = {1, 2};
  piece.tokens = tokens;
  json read = json::parse(completion_json(piece));
  EXPECT_EQ(read["object"], "text_completion");
  EXPECT_EQ(read["choices"][0]["text"], "a\n\"");
  EXPECT_TRUE(read["choices"][0]["finish_reason"].is_null());
  EXPECT_FALSE(read.contains("usage"));
  piece.finish_reason = "length";
  piece.with_usage = true;
  piece.prompt_tokens = 3;
  piece.completion_tokens = 2;
  read = json::parse(completion_json(piece));
  EXPECT_EQ(read["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(read["usage"]["total_tokens"], 5);
}

std::string assembled(const std::string& bytes, const std::vector<std::size_t>& cuts) {
  TextAssembler assembler;
  std::string text;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    text += assembler.add(bytes.substr(begin, cut - begin));
    begin = cut;
  }
  text += assembler.add(bytes.substr(begin));
  return text + assembler.finish();
}

TEST(TextAssembler, CutsChangeNothingAndWhatComesOutIsUtf8) {
  EXPECT_EQ(assembled("na\xC3\xAFve \xF0\x9F\x98\x80", {3, 7, 8, 9}),
            "na\xC3\xAFve \xF0\x9F\x98\x80");
  EXPECT_EQ(assembled("a\xFF\xC3", {1}), "a\xEF\xBF\xBD\xEF\xBF\xBD");
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Rng rng(seed);
    std::string bytes;
    std::vector<std::size_t> cuts;
    for (int i = 0; i < 12; ++i)
      bytes += "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xFF"[rng.below(11)];
    for (std::size_t i = 1; i < bytes.size(); ++i) {
      if (rng.chance(0.5)) cuts.push_back(i);
    }
    const std::string whole = assembled(bytes, {});
    ASSERT_EQ(assembled(bytes, cuts), whole);
    ASSERT_NO_THROW(static_cast<void>(json(whole).dump()));  // throws on what is no UTF-8
  }
}

TEST(JsonText, ErrorsAreJsonWhateverTheMessage) {
  const json read = json::parse(error_json(400, "a \"b\"\n\xFF"));
  EXPECT_EQ(read["error"]["code"], 400);
  EXPECT_EQ(read["error"]["type"], "invalid_request_error");
  EXPECT_EQ(json::parse(error_json(503, "x"))["error"]["type"], "server_error");
}

}  // namespace
}  // namespace weft::json_test
