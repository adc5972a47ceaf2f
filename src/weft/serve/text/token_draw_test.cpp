// Draws against the closed form of the distribution.
#include "weft/serve/text/token_draw.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::token_draw_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<double> frequencies(std::span<const float> logits, const Sampling& sampling) {
  constexpr int kDraws = 40000;
  Rng rng(5);
  std::vector<double> counts(logits.size());
  for (int i = 0; i < kDraws; ++i) {
    counts[static_cast<std::size_t>(*draw_token(logits, sampling, rng))] += 1.0 / kDraws;
  }
  return counts;
}

TEST(DrawToken, FollowsTheSoftmaxOfTheLogits) {
  const std::vector<float> logits = {0.0F, 1.0F, 3.0F, 3.0F};
  for (const double temperature : {0.5, 1.0, 2.0}) {
    double sum = 0;
    for (const float value : logits) sum += std::exp(value / temperature);
    const std::vector<double> drawn = frequencies(logits, {.temperature = temperature});
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(drawn[i], std::exp(logits[i] / temperature) / sum, 0.012);
    }
  }
  Rng rng(5);
  EXPECT_EQ(*draw_token(logits, {.temperature = 0}, rng), 2);
  EXPECT_EQ(*draw_token(logits, {.temperature = 1e-9}, rng) / 2, 1);
}

TEST(DrawToken, TopPLeavesTheLikeliestThatHaveItTogether) {
  // Probabilities 0.1, 0.4, 0.2, 0.3.
  std::vector<float> logits;
  for (const double share : {0.1, 0.4, 0.2, 0.3}) {
    logits.push_back(static_cast<float>(std::log(share)));
  }
  const auto near = [](double value) { return testing::DoubleNear(value, 0.012); };
  EXPECT_THAT(frequencies(logits, {.top_p = 0.3}), ElementsAre(0, near(1), 0, 0));
  EXPECT_THAT(frequencies(logits, {.top_p = 0}), ElementsAre(0, near(1), 0, 0));
  // 0.4 is not enough, so that the token with which it is reached still takes part.
  EXPECT_THAT(frequencies(logits, {.top_p = 0.5}), ElementsAre(0, near(4.0 / 7), 0, near(3.0 / 7)));
  EXPECT_THAT(frequencies(logits, {.top_p = 0.85}),
              ElementsAre(0, near(4.0 / 9), near(2.0 / 9), near(3.0 / 9)));
  EXPECT_THAT(frequencies(logits, {.top_p = 0.95}),
              ElementsAre(near(0.1), near(0.4), near(0.2), near(0.3)));
}

TEST(DrawToken, TopPIsOfTheDistributionAtTheTemperature) {
  // At temperature 0.5 the shares 0.4 and 0.6 become 0.16 and 0.36 of 0.52: 0.6923 is enough.
  const std::vector<float> logits = {std::log(0.4F), std::log(0.6F)};
  EXPECT_EQ(frequencies(logits, {.temperature = 0.5, .top_p = 0.69})[0], 0);
  EXPECT_GT(frequencies(logits, {.temperature = 1, .top_p = 0.69})[0], 0);
}

TEST(DrawToken, TheNucleusOfManyEqualTokensIsTheFirst) {
  const std::vector<float> logits(1000, 1.5F);
  const std::vector<double> drawn = frequencies(logits, {.top_p = 0.7});
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(drawn[i] > 0, i < 700) << i;
}

TEST(DrawToken, ALogitThatIsNoNumberIsTheModelsFault) {
  Rng rng(1);
  const std::vector<float> broken = {0.0F, std::nanf("")};
  EXPECT_EQ(draw_token(broken, {}, rng).status().code(), Code::kInternal);
}

TEST(WithLogprobs, AreTheLogSoftmaxOfTheLogits) {
  const std::vector<float> logits = {-2.0F, 1.0F, 0.5F, 1.0F, 80.0F, -300.0F};
  double sum = 0;
  for (const float value : logits) sum += std::exp(static_cast<double>(value));
  for (std::int32_t token = 0; token < 6; ++token) {
    const DrawnToken drawn = with_logprobs(token, logits, 3);
    EXPECT_EQ(drawn.token, token);
    EXPECT_NEAR(drawn.logprob, logits[static_cast<std::size_t>(token)] - std::log(sum), 1e-9);
    EXPECT_THAT(drawn.likeliest,
                ElementsAre(Pair(4, testing::DoubleNear(80 - std::log(sum), 1e-9)),
                            Pair(1, testing::DoubleNear(1 - std::log(sum), 1e-9)),
                            Pair(3, testing::DoubleNear(1 - std::log(sum), 1e-9))));
  }
  EXPECT_TRUE(with_logprobs(0, logits, 0).likeliest.empty());
  EXPECT_EQ(with_logprobs(0, logits, 100).likeliest.size(), 6U);
}

}  // namespace
}  // namespace weft::token_draw_test
