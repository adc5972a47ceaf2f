// Berrut's interpolant on f = sigmoid(W x): its error, its poles, its nodes, and liars.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/testing/test_seeds.h"
#include "weft/code/blocks/coded_blocks.h"
#include "weft/code/coding_scheme.h"

namespace weft::block_code_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t kSize = 16;
using Block = std::vector<double>;

std::unique_ptr<CodedBlocks> blocks_of(const std::string& text, std::size_t workers) {
  return CodingScheme::parse(text).value().coded_blocks(workers).value();
}

// f(x) = sigmoid(W x) with random W and blocks.
class SigmoidProblem {
 public:
  SigmoidProblem(std::size_t blocks, std::uint64_t seed) : rng_(seed) {
    for (std::size_t i = 0; i < kSize; ++i) weights_.push_back(drawn(1 / std::sqrt(double{kSize})));
    for (std::size_t j = 0; j < blocks; ++j) blocks_.push_back(drawn(1));
  }

  Block value(const Block& x) const {
    Block out;
    for (const Block& row : weights_) {
      out.push_back(1 /
                    (1 + std::exp(-std::inner_product(row.begin(), row.end(), x.begin(), 0.0))));
    }
    return out;
  }

  // The answers of all workers, one after another.
  std::vector<double> answers(const CodedBlocks& code) const {
    std::vector<double> all;
    for (std::size_t worker = 0; worker < code.workers(); ++worker) {
      const std::vector<double> shares = code.encode(worker);
      Block input(kSize);
      for (std::size_t j = 0; j < shares.size(); ++j) {
        for (std::size_t i = 0; i < kSize; ++i) input[i] += shares[j] * blocks_[j][i];
      }
      const Block answer = value(input);
      all.insert(all.end(), answer.begin(), answer.end());
    }
    return all;
  }

  // Relative to the size of the result, over all blocks together.
  double error(const CodedBlocks& code, const std::vector<bool>& answered) const {
    const std::vector<double> all = answers(code);
    const auto decoded = code.decode(answered).value();
    double wrong = 0;
    double whole = 0;
    for (std::size_t j = 0; j < decoded.size(); ++j) {
      const Block expected = value(blocks_[j]);
      for (std::size_t i = 0; i < kSize; ++i) {
        double got = 0;
        for (std::size_t k = 0; k < code.workers(); ++k) got += decoded[j][k] * all[k * kSize + i];
        wrong += (got - expected[i]) * (got - expected[i]);
        whole += expected[i] * expected[i];
      }
    }
    return std::sqrt(wrong / whole);
  }

 private:
  Block drawn(double scale) {
    Block values(kSize);
    for (double& value : values) value = rng_.normal() * scale;
    return values;
  }

  Rng rng_;
  std::vector<Block> weights_;
  std::vector<Block> blocks_;
};

double mean_error(const std::string& text, std::size_t blocks, std::size_t workers) {
  const auto code = blocks_of(text, workers);
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    sum += SigmoidProblem(blocks, seed).error(*code, std::vector<bool>(workers, true));
  }
  return sum / 8;
}

TEST(CodedBlocks, TheErrorHalvesWithTwiceTheWorkers) {
  for (const char* const text : {"bacc", "sbacc", "bacc:blocks=8", "sbacc:blocks=8"}) {
    const std::size_t blocks = std::string(text).find('8') == std::string::npos ? 4 : 8;
    double before = mean_error(text, blocks, 16);
    RecordProperty(text, std::to_string(before));
    EXPECT_LT(before, 0.08) << text;
    for (const std::size_t workers : {32U, 64U, 128U}) {
      const double now = mean_error(text, blocks, workers);
      EXPECT_GT(now, before * 0.35) << text << " " << workers;
      EXPECT_LT(now, before * 0.65) << text << " " << workers;
      before = now;
    }
  }
}

double weight_sum_max(const std::vector<std::vector<double>>& rows) {
  double largest = 0;
  for (const std::vector<double>& row : rows) {
    double sum = 0;
    for (const double weight : row) sum += std::abs(weight);
    largest = std::max(largest, sum);
  }
  return largest;
}

// The sum of absolute weights is what errors of answers are multiplied by; at a pole it is
// infinite.
TEST(CodedBlocks, NoHalfOfTheWorkersMissingMakesAPole) {
  for (const char* const text : {"bacc", "sbacc"}) {
    const auto code = blocks_of(text, 16);
    double largest = 0;
    for (std::uint32_t bits = 0; bits < 1U << 16U; ++bits) {
      std::vector<bool> answered(16);
      std::size_t missing = 0;
      for (std::size_t i = 0; i < 16; ++i) {
        answered[i] = (bits >> i & 1U) == 0;
        missing += answered[i] ? 0 : 1;
      }
      if (missing > 8 || bits % 7 > 1) continue;
      largest = std::max(largest, weight_sum_max(*code->decode(answered)));
    }
    EXPECT_LT(largest, 20) << text;
  }
}

TEST(CodedBlocks, MissingAnswersAtRandomLeaveASmallError) {
  for (const char* const text : {"bacc", "sbacc"}) {
    const auto code = blocks_of(text, 64);
    for (const std::uint64_t seed : TestSeeds(1, 20)) {
      Rng rng(seed);
      std::vector<bool> answered(64, true);
      for (int i = 0; i < 8; ++i) answered[rng.below(64)] = false;
      EXPECT_LT(SigmoidProblem(4, seed).error(*code, answered), 0.04) << text << ", seed " << seed;
    }
  }
}

// cos(3 pi / 24) = cos(pi / 8): worker 1 of 12 stands where block 0 of 4 does; so does worker 1 of
// 9 of bacc.
TEST(CodedBlocks, AWorkerAtABlocksNodeComputesThatBlock) {
  for (const auto& [text, workers] : {std::pair{"sbacc", 12U}, {"bacc", 9U}}) {
    const auto code = blocks_of(text, workers);
    EXPECT_THAT(code->encode(1), ElementsAre(1, 0, 0, 0)) << text;
    const auto decoded = code->decode(std::vector<bool>(workers, true));
    ASSERT_TRUE(decoded.ok());
    std::vector<double> only_it(workers);
    only_it[1] = 1;
    EXPECT_EQ(decoded->front(), only_it) << text;
  }
}

// By hand: blocks at cos(pi/4) and -cos(pi/4), a worker at 1: weights 1 / (1 - c) and -1 / (1 + c)
// over their sum, which is 2 c / (1 - c^2) = 2 sqrt(2).
TEST(CodedBlocks, TheWeightsOfTwoBlocksByHand) {
  const auto code = blocks_of("bacc:blocks=2", 3);
  const double c = std::sqrt(0.5);
  EXPECT_NEAR(code->encode(0)[0], 1 / (1 - c) / (2 * std::sqrt(2.0)), 1e-14);
  EXPECT_NEAR(code->encode(0)[1], -1 / (1 + c) / (2 * std::sqrt(2.0)), 1e-14);
  // The middle worker is as far from both.
  EXPECT_NEAR(code->encode(1)[0], 0.5, 1e-14);
}

std::vector<std::size_t> lie(std::vector<double>& answers, std::size_t liars, double by, Rng& rng) {
  std::vector<std::size_t> all;
  while (all.size() < liars) {
    const std::size_t worker = rng.below(answers.size() / kSize);
    if (std::find(all.begin(), all.end(), worker) != all.end()) continue;
    all.push_back(worker);
    for (std::size_t i = 0; i < kSize; ++i) {
      answers[worker * kSize + i] += rng.below(2) == 0 ? by : -by;
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(CodedBlocks, LiarsAreLocatedWhereverTheyAre) {
  const auto code = blocks_of("sbacc", 64);
  EXPECT_EQ(code->liars_max(), 8U);
  const std::vector<bool> all(64, true);
  for (const std::uint64_t seed : TestSeeds(1, 6)) {
    Rng rng(seed);
    const std::vector<double> honest = SigmoidProblem(4, seed).answers(*code);
    EXPECT_THAT(*code->liars(honest, kSize, all), IsEmpty());
    for (const std::size_t liars : {1U, 2U, 5U, 8U}) {
      for (const double by : {0.05, 0.2, 1.0, 1e6}) {
        std::vector<double> answers = honest;
        const std::vector<std::size_t> lied = lie(answers, liars, by, rng);
        const auto found = code->liars(answers, kSize, all);
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_EQ(*found, lied) << "seed " << seed << ", by " << by;
      }
    }
  }
}

TEST(CodedBlocks, LiarsAreLocatedAmongMissingAnswers) {
  const auto code = blocks_of("sbacc", 64);
  for (const std::uint64_t seed : TestSeeds(1, 6)) {
    Rng rng(seed);
    std::vector<double> answers = SigmoidProblem(4, seed).answers(*code);
    const std::vector<std::size_t> lied = lie(answers, 3, 0.2, rng);
    std::vector<bool> answered(64, true);
    for (int missing = 0; missing < 6;) {
      const std::size_t worker = rng.below(64);
      if (!answered[worker] || std::find(lied.begin(), lied.end(), worker) != lied.end()) continue;
      answered[worker] = false;
      answers[worker * kSize] = std::numeric_limits<double>::quiet_NaN();
      ++missing;
    }
    const auto found = code->liars(answers, kSize, answered);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(*found, lied) << "seed " << seed;
  }
}

TEST(CodedBlocks, ValuesThatAreNotFiniteAreLies) {
  const auto code = blocks_of("sbacc", 64);
  std::vector<double> answers = SigmoidProblem(4, 1).answers(*code);
  answers[7 * kSize] = std::numeric_limits<double>::quiet_NaN();
  answers[9 * kSize + 3] = std::numeric_limits<double>::infinity();
  answers[30 * kSize + 1] = 1e300;
  answers[31 * kSize + 1] += 0.5;
  EXPECT_THAT(*code->liars(answers, kSize, std::vector<bool>(64, true)), ElementsAre(7, 9, 30, 31));
}

TEST(CodedBlocks, MoreLiarsThanCanBeLocatedAreReported) {
  const auto code = blocks_of("sbacc", 64);
  Rng rng(5);
  std::vector<double> answers = SigmoidProblem(4, 5).answers(*code);
  lie(answers, 20, 1, rng);
  const Status status = code->liars(answers, kSize, std::vector<bool>(64, true)).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("more than 8 of 64 answers are wrong"));
  std::vector<double> odd(64 * kSize, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(code->liars(odd, kSize, std::vector<bool>(64, true)).status().code(),
            Code::kUnavailable);
}

TEST(CodedBlocks, WhatCannotBeSearchedIsRefused) {
  const std::vector<double> answers(64);
  const std::vector<bool> all(64, true);
  EXPECT_EQ(blocks_of("bacc", 64)->liars(answers, 1, all).status().code(), Code::kUnavailable);
  const auto code = blocks_of("sbacc", 64);
  EXPECT_TRUE(code->liars(answers, 1, all).ok());
  EXPECT_EQ(code->liars(answers, 0, all).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(code->liars(answers, 2, all).status().code(), Code::kInvalidArgument);
  std::vector<bool> half(64, true);
  std::fill_n(half.begin(), 32, false);
  EXPECT_THAT(code->liars(answers, 1, half).status().message(),
              HasSubstr("expected at least 34 usable answers of 64, got 32"));
}

}  // namespace
}  // namespace weft::block_code_test
