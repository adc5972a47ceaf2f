// Texts that a model continues side by side.
#include "weft/serve/model/text_generator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/nn/zoo.h"
#include "weft/serve/model/test_checkpoint.h"

namespace weft::text_generator_test {
namespace {

// The logits behind a text by forward(), without a cache.
std::vector<float> logits_behind(Module& model, const std::vector<std::int64_t>& text) {
  const NoGrad no_grad;
  const auto length = static_cast<std::int64_t>(text.size());
  const Array logits = model.forward(Tensor(Array::from(text, {1, length}))).array().contiguous();
  const std::int64_t vocabulary = logits.dim(2);
  const float* const last = logits.data<float>() + (length - 1) * vocabulary;
  return {last, last + vocabulary};
}

// The likeliest token each time.
std::vector<std::int32_t> greedy(Module& model, std::vector<std::int64_t> text, int count) {
  std::vector<std::int32_t> made;
  for (int i = 0; i < count; ++i) {
    const std::vector<float> last = logits_behind(model, text);
    made.push_back(
        static_cast<std::int32_t>(std::max_element(last.begin(), last.end()) - last.begin()));
    text.push_back(made.back());
  }
  return made;
}

class TextTest : public testing::TestWithParam<const char*> {
 protected:
  using Texts = std::map<std::uint64_t, std::vector<std::int32_t>>;

  static CompletionRequest request(const std::string& prompt, std::int64_t tokens,
                                   double temperature, std::uint64_t seed) {
    CompletionRequest made;
    made.prompts = {{{prompt.begin(), prompt.end()}, tokens}};
    made.sampling.temperature = temperature;
    made.seed = seed;
    return made;
  }

  // Generates the requests, each added before step starts[i].
  Texts generate(const std::vector<CompletionRequest>& requests, const std::vector<int>& starts) {
    TextGenerator generator(model_->language_model(), nullptr, 32);
    Texts texts;
    for (int step = 0; step < 80; ++step) {
      for (std::size_t i = 0; i < requests.size(); ++i) {
        if (starts[i] == step) {
          generator.add(JobId(i), requests[i], std::make_shared<Atomic<bool>>(false));
        }
      }
      generator.step([&](const JobAnswer& answer) {
        for (const PlacedToken& token : std::get<NextToken>(answer.result).piece.tokens) {
          texts[answer.id.value()].push_back(token.drawn.token);
        }
      });
    }
    EXPECT_EQ(generator.active(), 0U);
    return texts;
  }

  // What became of one choice.
  struct Choice {
    std::string text;
    std::vector<DrawnToken> tokens;
    std::optional<NextToken::End> end;
    friend bool operator==(const Choice& a, const Choice& b) {
      return a.text == b.text && a.ids() == b.ids() && a.end == b.end;
    }
    std::vector<std::int32_t> ids() const {
      std::vector<std::int32_t> all;
      for (const DrawnToken& token : tokens) all.push_back(token.token);
      return all;
    }
  };
  std::vector<Choice> choices_of(const CompletionRequest& request, std::size_t at_once = 32) {
    TextGenerator generator(model_->language_model(), model_->tokenizer(), at_once);
    generator.add(JobId(1), request, std::make_shared<Atomic<bool>>(false));
    std::vector<Choice> choices(static_cast<std::size_t>(request.choices()));
    while (generator.active() > 0) {
      generator.step([&](const JobAnswer& answer) {
        const auto& next = std::get<NextToken>(answer.result);
        Choice& choice = choices[static_cast<std::size_t>(next.choice)];
        EXPECT_FALSE(choice.end.has_value()) << "more behind the end";
        choice.text += next.piece.text;
        for (const PlacedToken& token : next.piece.tokens) choice.tokens.push_back(token.drawn);
        if (next.end != NextToken::End::kNone) choice.end = next.end;
      });
      const auto going = std::count_if(choices.begin(), choices.end(), [](const Choice& choice) {
        return !choice.tokens.empty() && !choice.end.has_value();
      });
      EXPECT_LE(static_cast<std::size_t>(going), at_once);
    }
    return choices;
  }

  TestFolder folder_;
  std::unique_ptr<TestCheckpoint> checkpoint_ =
      make_test_checkpoint(folder_, text_recipe(folder_.put("text.txt", test_text()), GetParam()));
  std::unique_ptr<ServedModel> model_ = load_served(checkpoint_->path);
};

TEST_P(TextTest, TheLikeliestTokensAreThoseOfTheWholeText) {
  const auto texts = generate({request("the quick", 20, 0, 0)}, {0});
  std::vector<std::int64_t> prompt;
  for (const char byte : std::string("the quick")) prompt.push_back(byte);
  EXPECT_EQ(texts.at(0), greedy(model_->language_model(), prompt, 20));
}

TEST_P(TextTest, ATextIsTheSameWhateverIsGeneratedBesideIt) {
  const std::vector<CompletionRequest> all = {
      request("the", 30, 1, 1), request("a longer prompt than the other", 10, 0.7, 2),
      request("x", 40, 1.5, 3), request("the", 30, 1, 1), request("the", 30, 1, 4)};
  const Texts together = generate(all, {0, 0, 3, 7, 7});
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(together.at(i), generate({all[i]}, {0}).at(0)) << i;
    EXPECT_EQ(static_cast<std::int64_t>(together.at(i).size()), all[i].prompts[0].max_tokens);
  }
  EXPECT_EQ(together.at(0), together.at(3));
  EXPECT_NE(together.at(0), together.at(4));
}

TEST_P(TextTest, ACancelledTextStops) {
  TextGenerator generator(model_->language_model(), nullptr, 32);
  const auto cancelled = std::make_shared<Atomic<bool>>(false);
  generator.add(JobId(1), request("a", 30, 1, 1), cancelled);
  int tokens = 0;
  const auto count = [&](const JobAnswer& /*answer*/) { ++tokens; };
  generator.step(count);
  generator.step(count);
  cancelled->store(true);
  generator.step(count);
  EXPECT_EQ(tokens, 2);
  EXPECT_EQ(generator.active(), 0U);
}

TEST_P(TextTest, ChoicesDifferAndASeedRepeatsThem) {
  CompletionRequest asked = request("the qu", 20, 1, 7);
  asked.n = 3;
  const std::vector<Choice> first = choices_of(asked);
  ASSERT_EQ(first.size(), 3U);
  for (const Choice& choice : first) {
    EXPECT_EQ(choice.tokens.size(), 20U);
    EXPECT_EQ(choice.end, NextToken::End::kLength);
  }
  EXPECT_NE(first[0].text, first[1].text);
  EXPECT_NE(first[1].text, first[2].text);
  EXPECT_EQ(choices_of(asked), first);
  // However many are computed at once, and whether the others are asked for.
  EXPECT_EQ(choices_of(asked, 1), first);
  asked.n = 1;
  EXPECT_EQ(choices_of(asked)[0], first[0]);
  asked.seed = 8;
  EXPECT_NE(choices_of(asked)[0].text, first[0].text);
}

TEST_P(TextTest, EachPromptHasItsOwnContinuations) {
  CompletionRequest asked = request("the", 8, 0, 0);
  asked.prompts.push_back({{'q', 'u'}, 5});
  asked.n = 2;
  const std::vector<Choice> choices = choices_of(asked);
  ASSERT_EQ(choices.size(), 4U);
  EXPECT_EQ(choices[0].ids(), greedy(model_->language_model(), {'t', 'h', 'e'}, 8));
  EXPECT_EQ(choices[1], choices[0]);
  EXPECT_EQ(choices[2].ids(), greedy(model_->language_model(), {'q', 'u'}, 5));
  EXPECT_EQ(choices[3], choices[2]);
}

TEST_P(TextTest, LogprobsAreTheLogSoftmaxBehindTheWholeText) {
  CompletionRequest asked = request("the qu", 10, 0.7, 3);
  asked.sampling.top_p = 0.9;
  asked.logprobs = 2;
  const Choice choice = choices_of(asked)[0];
  std::vector<std::int64_t> text = {'t', 'h', 'e', ' ', 'q', 'u'};
  ASSERT_EQ(choice.tokens.size(), 10U);
  for (const DrawnToken& token : choice.tokens) {
    const std::vector<float> logits = logits_behind(model_->language_model(), text);
    double sum = 0;
    for (const float value : logits) sum += std::exp(static_cast<double>(value));
    EXPECT_NEAR(token.logprob, logits[static_cast<std::size_t>(token.token)] - std::log(sum), 1e-4);
    ASSERT_EQ(token.likeliest.size(), 2U);
    EXPECT_NEAR(token.likeliest[0].second,
                *std::max_element(logits.begin(), logits.end()) - std::log(sum), 1e-4);
    EXPECT_GE(token.likeliest[0].second, token.likeliest[1].second);
    text.push_back(token.token);
  }
}

TEST_P(TextTest, AStopTextEndsAChoiceWhereItComes) {
  CompletionRequest asked = request("the qu", 40, 1, 11);
  const Choice whole = choices_of(asked)[0];
  // Characters of one byte alone, so that the text can be cut anywhere.
  ASSERT_GT(whole.text.size(), 20U);
  std::size_t at = 10;
  while ((static_cast<unsigned char>(whole.text[at]) & 0xC0U) == 0x80U) ++at;
  std::size_t end = at + 3;
  while ((static_cast<unsigned char>(whole.text[end]) & 0xC0U) == 0x80U) ++end;
  const std::string stop = whole.text.substr(at, end - at);
  asked.stops = {"never to be found", stop};
  const Choice cut = choices_of(asked)[0];
  EXPECT_EQ(cut.end, NextToken::End::kStop);
  EXPECT_EQ(cut.text, whole.text.substr(0, whole.text.find(stop)));
  EXPECT_LT(cut.tokens.size(), whole.tokens.size());
  asked.stops = {"never to be found"};
  EXPECT_EQ(choices_of(asked)[0], whole);
}

INSTANTIATE_TEST_SUITE_P(Models, TextTest, testing::Values("char_gpt", "llama", "lstm_lm"));

}  // namespace
}  // namespace weft::text_generator_test
