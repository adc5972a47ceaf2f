// Answers as clients of OpenAI's API read them.
#include "weft/serve/reply.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/serve/model/test_checkpoint.h"

namespace weft::reply_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr JobId kJob(1);

// What the events of a stream say.
std::vector<json> events_of(std::string events) {
  std::vector<json> all;
  for (std::size_t end = 0; (end = events.find("\n\n")) != std::string::npos;) {
    const std::string data = events.substr(6, end - 6);
    events.erase(0, end + 2);
    all.push_back(data == "[DONE]" ? json("done") : json::parse(data));
  }
  EXPECT_EQ(events, "");
  return all;
}

class ReplyTest : public testing::Test {
 protected:
  static CompletionRequest request(std::int64_t n) {
    CompletionRequest made;
    made.prompts = {{{1, 2, 3}, 4}};
    made.n = n;
    return made;
  }
  Reply reply(const CompletionRequest& request) const {
    return {*model_, JobWork(request), {"cmpl-1", 123, "m"}};
  }
  static JobAnswer token(std::int64_t choice, const std::string& text, std::int32_t id,
                         NextToken::End end = NextToken::End::kNone) {
    return {kJob, NextToken{choice, {text, {{{id, -0.5, {{9, -0.25}}}, 7}}}, end}};
  }

  TestFolder folder_;
  std::unique_ptr<TestCheckpoint> checkpoint_ =
      make_test_checkpoint(folder_, text_recipe(folder_.put("text.txt", test_text())));
  std::unique_ptr<ServedModel> model_ = load_served(checkpoint_->path);
};

TEST_F(ReplyTest, AWholeAnswerHasAllChoicesByTheirIndex) {
  Reply answer = reply(request(2));
  EXPECT_FALSE(answer.streams());
  EXPECT_FALSE(answer.take(token(1, "b", 66)).ended);
  EXPECT_FALSE(answer.take(token(0, "a", 65)).ended);
  EXPECT_FALSE(answer.take(token(1, "\"\n", 67, NextToken::End::kStop)).ended);
  const Reply::Step last = answer.take(token(0, "", 68, NextToken::End::kLength));
  ASSERT_TRUE(last.ended);
  const json read = json::parse(std::get<HttpResponse>(last.out).body);
  EXPECT_EQ(read["object"], "text_completion");
  EXPECT_EQ(read["id"], "cmpl-1");
  EXPECT_EQ(read["created"], 123);
  EXPECT_EQ(read["model"], "m");
  ASSERT_EQ(read["choices"].size(), 2U);
  const json first = {{"text", "a"},
                      {"index", 0},
                      {"logprobs", nullptr},
                      {"finish_reason", "length"},
                      {"tokens", {65, 68}}};
  EXPECT_EQ(read["choices"][0], first);
  EXPECT_EQ(read["choices"][1]["text"], "b\"\n");
  EXPECT_EQ(read["choices"][1]["finish_reason"], "stop");
  const json usage = {{"prompt_tokens", 3}, {"completion_tokens", 4}, {"total_tokens", 7}};
  EXPECT_EQ(read["usage"], usage);
}

TEST_F(ReplyTest, LogprobsAreShownByToken) {
  CompletionRequest asked = request(1);
  asked.logprobs = 1;
  Reply answer = reply(asked);
  answer.take(token(0, "a", 'a'));
  const Reply::Step last = answer.take(token(0, "\xEF\xBF\xBD", 0xE2, NextToken::End::kLength));
  const json read = json::parse(std::get<HttpResponse>(last.out).body)["choices"][0]["logprobs"];
  EXPECT_EQ(read["tokens"], json({"a", "bytes:\\xe2"}));
  EXPECT_EQ(read["token_logprobs"], json({-0.5, -0.5}));
  EXPECT_EQ(read["text_offset"], json({7, 7}));
  // The likeliest one, and the drawn one.
  const json first = {{"\t", -0.25}, {"a", -0.5}};
  EXPECT_EQ(read["top_logprobs"][0], first);
}

TEST_F(ReplyTest, AStreamHasUsageOnlyWhereItWasAskedFor) {
  for (const bool usage : {false, true}) {
    CompletionRequest asked = request(2);
    asked.stream = true;
    asked.include_usage = usage;
    Reply answer = reply(asked);
    EXPECT_TRUE(answer.streams());
    std::string all = std::get<std::string>(answer.take(token(1, "b", 66)).out);
    // Held back: it may become a stop text.
    JobAnswer held = token(1, "", 66);
    std::get<NextToken>(held.result).piece.tokens.clear();
    EXPECT_EQ(std::get<std::string>(answer.take(held).out), "");
    all += std::get<std::string>(answer.take(token(0, "a", 65, NextToken::End::kStop)).out);
    const Reply::Step last = answer.take(token(1, "", 67, NextToken::End::kLength));
    EXPECT_TRUE(last.ended);
    const std::vector<json> events = events_of(all + std::get<std::string>(last.out));
    ASSERT_EQ(events.size(), usage ? 5U : 4U);
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(events[i]["choices"].size(), 1U);
      EXPECT_EQ(events[i].contains("usage"), usage);
      EXPECT_TRUE(!usage || events[i]["usage"].is_null());
    }
    EXPECT_EQ(events[0]["choices"][0]["index"], 1);
    EXPECT_TRUE(events[0]["choices"][0]["finish_reason"].is_null());
    EXPECT_EQ(events[1]["choices"][0]["finish_reason"], "stop");
    EXPECT_EQ(events[2]["choices"][0]["finish_reason"], "length");
    if (usage) {
      EXPECT_EQ(events[3]["choices"], json::array());
      EXPECT_EQ(events[3]["usage"]["completion_tokens"], 4);
    }
    EXPECT_EQ(events.back(), "done");
  }
}

TEST_F(ReplyTest, WhatFailsIsAnAnswerOrTheStreamsLastEvent) {
  const JobAnswer failed{kJob, internal_error("model: broken")};
  const Reply::Step whole = reply(request(1)).take(failed);
  EXPECT_TRUE(whole.ended);
  EXPECT_EQ(std::get<HttpResponse>(whole.out).status, 500);
  CompletionRequest asked = request(1);
  asked.stream = true;
  const Reply::Step streamed = reply(asked).take(failed);
  EXPECT_TRUE(streamed.ended);
  const json event = events_of(std::get<std::string>(streamed.out)).at(0);
  EXPECT_EQ(event["error"]["message"], "model: broken");
  EXPECT_EQ(event["error"]["type"], "server_error");
}

TEST(TokenName, IsTheTextOrTheBytesOrTheNumber) {
  const auto tokenizer = make_byte_tokenizer();
  EXPECT_EQ(token_name(tokenizer.get(), 'a'), "a");
  EXPECT_EQ(token_name(tokenizer.get(), 0xFF), "bytes:\\xff");
  EXPECT_EQ(token_name(nullptr, 17), "token:17");
}

}  // namespace
}  // namespace weft::reply_test
