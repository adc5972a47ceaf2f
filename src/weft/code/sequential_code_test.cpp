// Codes over several rounds: their loads against published figures, all patterns of their models,
// and what workers do, by hand.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/code/coding_scheme.h"
#include "weft/code/test_code_runs.h"

namespace weft::sequential_code_test {
namespace {

using testing::HasSubstr;

std::unique_ptr<CodedRounds> rounds_of(const std::string& text, std::size_t workers,
                                       std::int64_t jobs = 0) {
  return CodingScheme::parse(text).value().coded_rounds(workers, jobs).value();
}

// Krishnan et al. 2023, section 4.1, have 256 workers with these parameters and loads.
TEST(SequentialCode, LoadsAreThoseOfThePaper) {
  EXPECT_NEAR(rounds_of("m_sgc:burst=1:window=2:distinct=27", 256)->load(), 0.0075, 5e-5);
  EXPECT_NEAR(rounds_of("cyclic:stragglers=15", 256)->load(), 0.0625, 1e-12);
  EXPECT_NEAR(rounds_of("uncoded", 256)->load(), 1.0 / 256, 1e-12);
}

TEST(SequentialCode, LoadsAndDelaysAreThoseOfTheFormulas) {
  // (lambda + 1) (W - 1 + B) / (n (B + (W - 1) (lambda + 1))) = 3 * 5 / (8 * (2 + 3 * 3)).
  const auto multiplexed = rounds_of("m_sgc:burst=2:window=4:distinct=2", 8);
  EXPECT_NEAR(multiplexed->load(), 15.0 / 88, 1e-15);
  EXPECT_EQ(multiplexed->delay(), 4);
  // lambda = n: (W - 1 + B) / (n (W - 1)).
  EXPECT_NEAR(rounds_of("m_sgc:burst=2:window=4:distinct=8", 8)->load(), 5.0 / 24, 1e-15);
  // s = ceil(2 * 4 / (4 + 2)) = 2.
  const auto repeating = rounds_of("sr_sgc:burst=2:window=5:distinct=4", 8);
  EXPECT_NEAR(repeating->load(), 3.0 / 8, 1e-15);
  EXPECT_EQ(repeating->delay(), 2);
}

// Stragglers as the model admits them: as many as it can, and fewer.
TEST(SequentialCode, EveryPatternOfTheModelIsDecodedInTime) {
  const char* const texts[] = {
      "sr_sgc:burst=1:window=2:distinct=3", "sr_sgc:burst=2:window=3:distinct=5",
      "sr_sgc:burst=2:window=7:distinct=6", "sr_sgc:burst=3:window=4:distinct=10",
      "m_sgc:burst=1:window=2:distinct=4",  "m_sgc:burst=2:window=3:distinct=1",
      "m_sgc:burst=2:window=5:distinct=7",  "m_sgc:burst=3:window=4:distinct=10",
  };
  for (const std::uint64_t seed : TestSeeds(1, 12)) {
    for (const char* const text : texts) {
      for (const double chance : {1.0, 0.3}) {
        Rng rng(seed);
        const auto rounds = rounds_of(text, 10, 15);
        EXPECT_EQ(fault_of_run(*rounds, 15, chance, rng), "") << text << ", seed " << seed;
      }
    }
  }
}

// Two of 4 workers are missing where 1 straggler a round is allowed: the first of them repeats its
// task.
TEST(SequentialCode, SelectiveRepeatRepeatsWhatWasTooMuch) {
  const auto rounds = rounds_of("sr_sgc:burst=1:window=2:distinct=2", 4);
  ASSERT_TRUE(deliver(*rounds, {false, true, true, false}).ok());
  // Fractional repetition in pairs: each has one left.
  EXPECT_TRUE(rounds->decode(1).ok());
  rounds->end_round();
  for (std::size_t worker = 0; worker < 4; ++worker) {
    ASSERT_EQ(rounds->task(worker, 2).size(), 1U);
    EXPECT_EQ(rounds->task(worker, 2)[0].job, worker == 1 ? 1 : 2);
  }
  ASSERT_TRUE(deliver(*rounds, {false, false, false, false}).ok());
  EXPECT_TRUE(rounds->decode(1).ok());
  EXPECT_TRUE(rounds->decode(2).ok());
}

// B = 1, W = 2: one own chunk per worker, then one group.
TEST(SequentialCode, MultiplexedRepeatsItsOwnChunkInPlaceOfTheGroup) {
  const auto rounds = rounds_of("m_sgc:burst=1:window=2:distinct=1", 4);
  for (std::size_t worker = 0; worker < 4; ++worker) {
    ASSERT_EQ(rounds->task(worker, 1).size(), 1U);
    EXPECT_EQ(rounds->task(worker, 1)[0].terms.front().chunk, worker);
  }
  ASSERT_TRUE(deliver(*rounds, {false, false, true, false}).ok());
  rounds->end_round();
  for (std::size_t worker = 0; worker < 4; ++worker) {
    const std::vector<MiniTask>& tasks = rounds->task(worker, 2);
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_EQ(tasks[0].job, 2);
    EXPECT_EQ(tasks[1].job, 1);
    // The chunks of the group come after the 4 own ones, one for each pair of workers.
    EXPECT_EQ(tasks[1].terms.front().chunk, worker == 2 ? 2 : 4 + worker / 2);
  }
  EXPECT_THAT(rounds->decode(1).status().message(),
              HasSubstr("worker 2 has not sent its own chunk 1 of 1"));
  ASSERT_TRUE(deliver(*rounds, {false, false, false, false}).ok());
  EXPECT_TRUE(rounds->decode(1).ok());
}

TEST(SequentialCode, OneStragglerBeyondTheModelIsNotDecodable) {
  // Worker 1 straggles twice: its own chunk is lost.
  const auto rounds = rounds_of("m_sgc:burst=1:window=2:distinct=1", 4);
  for (int round = 1; round <= 2; ++round) {
    ASSERT_TRUE(deliver(*rounds, {false, true, false, false}).ok());
    if (round == 1) rounds->end_round();
  }
  const Status status = rounds->decode(1).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("job 1: not decodable"));
}

TEST(SequentialCode, MoreStragglersThanWorkersAreRefused) {
  for (const char* const text : {"sr_sgc:distinct=9", "m_sgc:distinct=9"}) {
    const auto rounds = CodingScheme::parse(text).value().coded_rounds(8, 0);
    EXPECT_THAT(rounds.status().message(), HasSubstr("expected at most the 8 workers, got 9"));
  }
}

}  // namespace
}  // namespace weft::sequential_code_test
