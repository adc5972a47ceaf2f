// What is taken of a request for completions, and what is refused.
#include "weft/serve/json/completion_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::completion_json_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CompletionJsonTest : public testing::Test {
 protected:
  CompletionJsonTest() {
    rule_.vocabulary = 256;
    rule_.context = 32;
    rule_.tokens_max = 30;
    rule_.choices_max = 12;
    rule_.tokenizer = tokenizer_.get();
  }
  CompletionRequest taken(const std::string& body) const {
    auto parsed = parse_completion(body, rule_);
    const auto* const error = std::get_if<ApiError>(&parsed);
    EXPECT_EQ(error, nullptr) << body << ": " << (error != nullptr ? error->message : "");
    return error == nullptr ? std::get<CompletionRequest>(parsed) : CompletionRequest();
  }
  ApiError refused(const std::string& body) const {
    auto parsed = parse_completion(body, rule_);
    const auto* const error = std::get_if<ApiError>(&parsed);
    EXPECT_NE(error, nullptr) << body;
    if (error == nullptr) return {};
    EXPECT_EQ(error->status, 400);
    return *error;
  }
  // The same with a good prompt.
  CompletionRequest with(const std::string& fields) const {
    return taken(R"({"prompt":"hi",)" + fields + "}");
  }
  // The message, whose field must be `param`.
  std::string why(const std::string& fields, const std::string& param) const {
    const ApiError error = refused(R"({"prompt":"hi",)" + fields + "}");
    EXPECT_EQ(error.param, param) << error.message;
    return error.message;
  }

  std::unique_ptr<Tokenizer> tokenizer_ = make_byte_tokenizer();
  TextRule rule_;
};

TEST_F(CompletionJsonTest, EveryFieldIsRead) {
  const CompletionRequest request = with(
      R"("model":"m","max_tokens":7,"temperature":0.5,"top_p":0.25,"n":3,"best_of":3,"seed":9,)"
      R"("stop":["a","bc"],"logprobs":2,"stream":true,"stream_options":{"include_usage":true})");
  ASSERT_EQ(request.prompts.size(), 1U);
  EXPECT_THAT(request.prompts[0].tokens, ElementsAre('h', 'i'));
  EXPECT_EQ(request.prompts[0].max_tokens, 7);
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.25);
  EXPECT_EQ(request.n, 3);
  EXPECT_EQ(request.choices(), 3);
  EXPECT_EQ(request.seed, 9U);
  EXPECT_THAT(request.stops, ElementsAre("a", "bc"));
  EXPECT_EQ(request.logprobs, 2);
  EXPECT_TRUE(request.stream);
  EXPECT_TRUE(request.include_usage);
}

TEST_F(CompletionJsonTest, DefaultsAreThoseOfOpenAisApiAndNullMeansThem) {
  const CompletionRequest nothing = taken(R"({"prompt":"hi"})");
  const CompletionRequest nulls = with(
      R"("model":null,"max_tokens":null,"temperature":null,"top_p":null,"n":null,"best_of":null,)"
      R"("seed":null,"stop":null,"logprobs":null,"stream":null,"stream_options":null,"echo":null,)"
      R"("suffix":null,"logit_bias":null,"presence_penalty":null,"user":null)");
  for (const CompletionRequest& request : {nothing, nulls}) {
    EXPECT_EQ(request.prompts[0].max_tokens, 16);
    EXPECT_EQ(request.sampling.temperature, 1);
    EXPECT_EQ(request.sampling.top_p, 1);
    EXPECT_EQ(request.n, 1);
    EXPECT_FALSE(request.seed.has_value());
    EXPECT_TRUE(request.stops.empty());
    EXPECT_FALSE(request.logprobs.has_value());
    EXPECT_FALSE(request.stream);
    EXPECT_TRUE(request.model.empty());
  }
}

TEST_F(CompletionJsonTest, APromptIsATextOrTokensOrSeveralOfEither) {
  const auto prompts = [&](const std::string& prompt) {
    std::vector<std::vector<std::int32_t>> all;
    for (const auto& each : taken(R"({"n":2,"prompt":)" + prompt + "}").prompts) {
      all.push_back(each.tokens);
    }
    return all;
  };
  EXPECT_THAT(prompts(R"("ab")"), ElementsAre(ElementsAre('a', 'b')));
  EXPECT_THAT(prompts("[1,255]"), ElementsAre(ElementsAre(1, 255)));
  EXPECT_THAT(prompts(R"(["ab","c"])"), ElementsAre(ElementsAre('a', 'b'), ElementsAre('c')));
  EXPECT_THAT(prompts("[[1],[2,3]]"), ElementsAre(ElementsAre(1), ElementsAre(2, 3)));
  EXPECT_EQ(taken(R"({"n":2,"prompt":["a","b","c"]})").choices(), 6);
  const auto message = [&](const std::string& prompt) {
    const ApiError error = refused(R"({"prompt":)" + prompt + "}");
    EXPECT_EQ(error.param, "prompt");
    return error.message;
  };
  EXPECT_EQ(message("[256]"), "prompt: expected tokens below 256, got 256");
  EXPECT_EQ(message("[-1]"), "prompt: expected tokens below 256, got -1");
  EXPECT_EQ(message("[]"), "prompt: expected 1 to 31 tokens, got 0");
  EXPECT_EQ(message("\"\""), "prompt: expected 1 to 31 tokens, got 0");
  EXPECT_EQ(message("[[]]"), "prompt: expected 1 to 31 tokens, got 0");
  EXPECT_EQ(message("null"), "prompt: expected one, got none");
  EXPECT_EQ(message("7"), "prompt: expected a text, tokens, or an array of these, got 7");
  EXPECT_THAT(message(R"(["a",[1]])"), HasSubstr("texts alone or arrays of tokens alone"));
  EXPECT_THAT(message(R"(["a",1])"), HasSubstr("got 1"));
  EXPECT_THAT(message("[1,\"a\"]"), HasSubstr("tokens below 256, got string"));
  EXPECT_THAT(message("[" + std::string(12, '1') + "]"), HasSubstr("tokens below"));
  std::string many = "[\"a\"";
  for (int i = 0; i < 12; ++i) many += ",\"a\"";
  EXPECT_EQ(message(many + "]"), "prompt: expected at most 12 prompts, got 13");
  rule_.tokenizer = nullptr;
  EXPECT_THAT(message("\"hi\""), HasSubstr("no tokenizer"));
  EXPECT_EQ(taken(R"({"prompt":[[7]]})").prompts[0].tokens.size(), 1U);
}

TEST_F(CompletionJsonTest, ATooLongPromptHasACodeForPrograms) {
  const ApiError error = refused(R"({"prompt":")" + std::string(32, 'a') + "\"}");
  EXPECT_EQ(error.message, "prompt: expected 1 to 31 tokens, got 32");
  EXPECT_EQ(error.code, "context_length_exceeded");
}

TEST_F(CompletionJsonTest, TokensAreClippedToTheContextAndTheServersLimit) {
  const auto room = [&](std::size_t prompt, const std::string& fields) {
    return taken(R"({"prompt":")" + std::string(prompt, 'a') + "\"" + fields + "}")
        .prompts[0]
        .max_tokens;
  };
  EXPECT_EQ(room(1, ""), 16);
  EXPECT_EQ(room(30, ""), 2);  // the default too
  EXPECT_EQ(room(31, R"(,"max_tokens":20)"), 1);
  EXPECT_EQ(room(1, R"(,"max_tokens":1000000)"), 30);
  EXPECT_EQ(room(1, R"(,"max_completion_tokens":5)"), 5);
  EXPECT_EQ(room(1, R"(,"max_completion_tokens":5,"max_tokens":4)"), 4);
  // Each prompt by itself.
  const auto two = taken(R"({"prompt":[[1],[1,2,3,4,5,6,7,8,9,10]],"max_tokens":25})");
  EXPECT_EQ(two.prompts[0].max_tokens, 25);
  EXPECT_EQ(two.prompts[1].max_tokens, 22);
  rule_.context = 0;
  EXPECT_EQ(room(31, R"(,"max_tokens":20)"), 20);
}

TEST_F(CompletionJsonTest, ValuesOutOfBoundsAreRefusedNamingTheField) {
  EXPECT_EQ(why(R"("max_tokens":0)", "max_tokens"),
            "max_tokens: expected a whole number of at least 1, got 0");
  EXPECT_THAT(why(R"("max_tokens":1.5)", "max_tokens"), HasSubstr("got 1.5"));
  EXPECT_EQ(why(R"("temperature":-1)", "temperature"), "temperature: expected 0 to 100, got -1");
  EXPECT_EQ(why(R"("top_p":1.1)", "top_p"), "top_p: expected 0 to 1, got 1.1");
  EXPECT_EQ(why(R"("n":0)", "n"), "n: expected 1 to 12, got 0");
  EXPECT_EQ(why(R"("n":13)", "n"), "n: expected 1 to 12, got 13");
  EXPECT_THAT(why(R"("n":2,"best_of":5)", "best_of"), HasSubstr("the same as n (2)"));
  EXPECT_EQ(why(R"("seed":0.5)", "seed"), "seed: expected an integer of 64 bits, got 0.5");
  EXPECT_EQ(why(R"("logprobs":6)", "logprobs"), "logprobs: expected 0 to 5, got 6");
  EXPECT_EQ(why(R"("logprobs":true)", "logprobs"), "logprobs: expected 0 to 5, got true");
  EXPECT_EQ(why(R"("stream":"yes")", "stream"), "stream: expected true or false, got string");
  EXPECT_THAT(why(R"("model":7)", "model"), HasSubstr("expected a text, got 7"));
  EXPECT_THAT(refused(R"({"n":7,"prompt":["a","b"]})").message,
              HasSubstr("at most 12 texts in all, got 7 for each of 2 prompts"));
}

TEST_F(CompletionJsonTest, StopIsATextOrUpToFour) {
  EXPECT_THAT(with(R"("stop":"\n\n")").stops, ElementsAre("\n\n"));
  EXPECT_TRUE(with(R"("stop":[])").stops.empty());
  for (const char* const wrong : {R"("")", R"([""])", "7", "[1]", R"(["a","b","c","d","e"])"}) {
    EXPECT_THAT(why(std::string("\"stop\":") + wrong, "stop"),
                HasSubstr("stop: expected a text of 1 to 1000 bytes, or 1 to 4 of them"));
  }
  why(R"("stop":")" + std::string(1001, 'a') + "\"", "stop");
  rule_.tokenizer = nullptr;
  EXPECT_THAT(refused(R"({"prompt":[1],"stop":"a"})").message, HasSubstr("no tokenizer"));
}

TEST_F(CompletionJsonTest, StreamOptionsBelongToStreams) {
  EXPECT_FALSE(
      with(R"("stream":true,"stream_options":{"include_obfuscation":true})").include_usage);
  EXPECT_THAT(why(R"("stream_options":{"include_usage":true})", "stream_options"),
              HasSubstr("without \"stream\": true"));
  EXPECT_THAT(why(R"("stream":true,"stream_options":{"usage":true})", "stream_options.usage"),
              HasSubstr("known is include_usage"));
  why(R"("stream":true,"stream_options":{"include_usage":1})", "stream_options.include_usage");
  why(R"("stream":true,"stream_options":true)", "stream_options");
}

TEST_F(CompletionJsonTest, WhatHasNoEffectIsIgnoredAndWhatWouldHaveOneIsRefused) {
  with(R"("user":"u","metadata":{"a":"b"},"store":true,"service_tier":"auto",)"
       R"("safety_identifier":"s","prompt_cache_key":"k")");
  with(R"("echo":false,"suffix":"","logit_bias":{},"presence_penalty":0,"frequency_penalty":0.0)");
  for (const char* const field :
       {R"("echo":true)", R"("suffix":"x")", R"("logit_bias":{"50256":-100})",
        R"("presence_penalty":0.5)", R"("frequency_penalty":-1)"}) {
    const ApiError error = refused(R"({"prompt":"hi",)" + std::string(field) + "}");
    EXPECT_EQ(error.code, "unsupported_value") << field;
    EXPECT_THAT(error.message, HasSubstr("not supported here"));
  }
  const ApiError unknown = refused(R"({"prompt":"hi","tempurature":1})");
  EXPECT_EQ(unknown.code, "unknown_parameter");
  EXPECT_EQ(unknown.param, "tempurature");
  EXPECT_THAT(unknown.message,
              AllOf(HasSubstr("tempurature: unknown field; known are prompt, model, max_tokens"),
                    HasSubstr("stream_options"), Not(HasSubstr("suffix"))));
  EXPECT_EQ(refused(R"({"prompt":"hi",")" + std::string(1000, 'k') + "\":1}").param.size(), 64U);
}

TEST_F(CompletionJsonTest, AKeyMayNotStandTwice) {
  EXPECT_EQ(why(R"("seed":1,"seed":1)", "seed"), "seed: expected once, got it twice");
  EXPECT_THAT(refused(R"({"prompt":"a","prompt":"b"})").message,
              HasSubstr("prompt: expected once"));
  EXPECT_THAT(why(R"("stream":true,"stream_options":{"a":1,"a":1})", "a"), HasSubstr("once"));
  // The same name in different objects is no second time.
  with(R"("metadata":{"seed":"1","user":"2"},"seed":3,"user":"4")");
}

TEST_F(CompletionJsonTest, WhatIsNoJsonObjectIsRefused) {
  for (const char* const wrong : {"", "{", "{} x", "\"a\"x", "{\"a\":\"\xFF\"}"}) {
    EXPECT_EQ(refused(wrong).message, "body: expected JSON") << wrong;
  }
  EXPECT_EQ(refused("[]").message, "body: expected an object");
  EXPECT_EQ(refused("{}").message, "prompt: expected one, got none");
  EXPECT_THAT(refused(R"({"prompt":[[[1]]]})").message, HasSubstr("at most 3 arrays"));
  EXPECT_THAT(refused("{\"prompt\":" + std::string(100000, '[')).message, HasSubstr("at most 3"));
}

}  // namespace
}  // namespace weft::completion_json_test
