// What holds for every registered code, with its defaults and at the ends of its options.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_plugin_table.h"
#include "weft/base/testing/test_seeds.h"
#include "weft/code/code_def.h"
#include "weft/code/coding_scheme.h"
#include "weft/code/test_code_runs.h"

namespace weft::code_contract_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

constexpr std::size_t kSizes[] = {1, 2, 4, 7, 12};
constexpr std::int64_t kJobs = 8;

CodingScheme scheme_of(const std::string& text) { return CodingScheme::parse(text).value(); }

// Calls `check` with every gradient code that exists for each number of workers.
template <class Check>
void for_each_rounds(const Check& check) {
  std::size_t made = 0;
  for (const std::string& text : every_code()) {
    const CodingScheme scheme = scheme_of(text);
    if (!scheme.has_rounds()) continue;
    for (const std::size_t workers : kSizes) {
      SCOPED_TRACE(fmt::format("{} of {} workers", text, workers));
      auto rounds = scheme.coded_rounds(workers, kJobs);
      if (!rounds.ok()) {
        EXPECT_EQ(rounds.status().code(), Code::kInvalidArgument);
        EXPECT_THAT(std::string(rounds.status().message()), HasSubstr("expected"));
        continue;
      }
      ++made;
      check(**rounds);
    }
  }
  EXPECT_GT(made, 30U);
}

template <class Check>
void for_each_blocks(const Check& check) {
  std::size_t made = 0;
  for (const std::string& text : every_code()) {
    const CodingScheme scheme = scheme_of(text);
    if (scheme.has_rounds()) continue;
    for (const std::size_t workers : {1U, 2U, 4U, 9U, 33U, 64U}) {
      SCOPED_TRACE(fmt::format("{} of {} workers", text, workers));
      auto blocks = scheme.coded_blocks(workers);
      if (!blocks.ok()) {
        EXPECT_EQ(blocks.status().code(), Code::kInvalidArgument);
        continue;
      }
      ++made;
      check(**blocks);
    }
  }
  EXPECT_GT(made, 20U);
}

TEST(CodeContract, NamesAndOptionsAreWords) {
  EXPECT_EQ(plugin_table_fault(codes()), "");
  for (const CodeDef* def : codes()) {
    EXPECT_FALSE(def->load_text.empty()) << def->name;
    EXPECT_NE(def->rounds == nullptr, def->blocks == nullptr) << def->name;
  }
}

TEST(CodeContract, ATextComesBack) {
  for (const std::string& text : every_code()) {
    const std::string again = scheme_of(text).text();
    EXPECT_EQ(scheme_of(again).text(), again) << text;
  }
  EXPECT_EQ(scheme_of("cyclic:stragglers=1").text(), "cyclic");
  EXPECT_EQ(scheme_of("m_sgc:window=4:burst=2").text(), "m_sgc:burst=2:window=4");
}

TEST(CodeContract, AWrongTextIsRefusedWithTheRemedy) {
  const auto fault = [](const std::string& text) {
    const auto scheme = CodingScheme::parse(text);
    EXPECT_EQ(scheme.status().code(), Code::kInvalidArgument) << text;
    return scheme.status().message();
  };
  EXPECT_THAT(fault("ciclic"), HasSubstr("did you mean \"cyclic\"?"));
  EXPECT_THAT(fault(""), HasSubstr("expected one of bacc, cyclic, "));
  EXPECT_THAT(fault("uncoded:stragglers=1"), HasSubstr("expected no option"));
  EXPECT_THAT(fault("cyclic:stragglers=65"), HasSubstr("from 0 to 64"));
  EXPECT_THAT(fault("cyclic:stragglers=1.5"), HasSubstr("whole number"));
  EXPECT_THAT(fault("sr_sgc:burst=2:window=4"), HasSubstr("one more than a multiple of burst"));
  EXPECT_THAT(fault("m_sgc:burst=3:window=3"), HasSubstr("less than window"));
  EXPECT_THAT(fault(std::string(300, 'x')), HasSubstr("at most 200 characters"));
}

TEST(CodeContract, AKindIsNotTakenForTheOther) {
  for (const std::string& text : every_code()) {
    const CodingScheme scheme = scheme_of(text);
    const Status status =
        scheme.has_rounds() ? scheme.coded_blocks(8).status() : scheme.coded_rounds(8, 0).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  }
  for (const std::size_t workers : {0U, 513U}) {
    EXPECT_THAT(scheme_of("uncoded").coded_rounds(workers, 0).status().message(),
                HasSubstr("workers: expected 1 to 512"));
    EXPECT_THAT(scheme_of("sbacc").coded_blocks(workers).status().message(),
                HasSubstr("workers: expected 1 to 512"));
  }
  EXPECT_FALSE(scheme_of("uncoded").coded_rounds(4, -1).ok());
}

TEST(CodeContract, TheSharesOfAllChunksAreABatch) {
  for_each_rounds([](const CodedRounds& rounds) {
    double sum = 0;
    for (std::size_t chunk = 0; chunk < rounds.chunks(); ++chunk) sum += rounds.share(chunk);
    EXPECT_NEAR(sum, 1, 1e-12);
  });
}

TEST(CodeContract, StragglersOfItsModelLeaveEverySumExact) {
  for (const std::uint64_t seed : TestSeeds(1, 3)) {
    for_each_rounds([&](CodedRounds& rounds) {
      Rng rng(seed);
      EXPECT_EQ(fault_of_run(rounds, kJobs, 1, rng), "");
    });
  }
}

TEST(CodeContract, WithoutStragglersTheWorkIsTheLoad) {
  for_each_rounds([](CodedRounds& rounds) {
    double load = 0;
    for (std::int64_t round = 1; round <= kJobs; ++round) {
      load = std::max(load, counted_load(rounds));
      ASSERT_TRUE(deliver(rounds, std::vector<bool>(rounds.workers(), false)).ok());
      rounds.end_round();
    }
    // With fewer jobs than a code has open, or where its last rounds are only for repeating, less.
    if (rounds.delay() < kJobs && rounds.model().distinct < rounds.workers()) {
      EXPECT_NEAR(load, rounds.load(), 1e-12);
    } else {
      EXPECT_LE(load, rounds.load() * (1 + 1e-12));
    }
  });
}

// Any messages at all may be missing: then there is no sum, or the right one.
TEST(CodeContract, APatternOfNoModelNeverGivesAnotherSum) {
  for (const std::uint64_t seed : TestSeeds(1, 3)) {
    std::size_t refused = 0;
    for_each_rounds([&](CodedRounds& rounds) {
      Rng rng(seed);
      SentMessages sent;
      for (std::int64_t round = 1; round <= kJobs; ++round) {
        sent.add(rounds);
        for (std::size_t worker = 0; worker < rounds.workers(); ++worker) {
          for (std::size_t i = 0; i < rounds.task(worker, round).size(); ++i) {
            if (!rng.chance(0.7)) continue;
            ASSERT_TRUE(rounds.delivered({worker, round, i}).ok());
          }
        }
        for (std::int64_t job = std::max<std::int64_t>(1, round - rounds.delay()); job <= round;
             ++job) {
          const Result<JobDecode> decoded = rounds.decode(job);
          if (decoded.ok()) {
            EXPECT_LT(sent.error_of(rounds, job, *decoded), 1e-7);
          } else {
            EXPECT_EQ(decoded.status().code(), Code::kUnavailable);
            EXPECT_THAT(decoded.status().message(), HasSubstr("not decodable"));
            ++refused;
          }
        }
        rounds.end_round();
      }
    });
    EXPECT_GT(refused, 0U);
  }
}

TEST(CodeContract, MessagesThatCannotBeCreditedAreRefused) {
  for_each_rounds([](CodedRounds& rounds) {
    const std::size_t workers = rounds.workers();
    EXPECT_EQ(rounds.delivered({workers, 1, 0}).code(), Code::kInvalidArgument);
    EXPECT_EQ(rounds.delivered({0, 2, 0}).code(), Code::kInvalidArgument);
    EXPECT_EQ(rounds.delivered({0, 1, 99}).code(), Code::kInvalidArgument);
    EXPECT_TRUE(rounds.delivered({0, 1, 0}).ok());
    EXPECT_TRUE(rounds.delivered({0, 1, 0}).ok());
    rounds.end_round();
    const Status late = rounds.delivered({workers - 1, 1, 0});
    EXPECT_EQ(late.code(), Code::kAborted);
    EXPECT_THAT(late.message(), HasSubstr("drop the message"));
    EXPECT_EQ(rounds.decode(0).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(rounds.decode(3).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(rounds.decode(2).status().code(), Code::kUnavailable);
  });
}

TEST(CodeContract, AJobIsForgottenOnceItsDelayIsLongOver) {
  for (const char* const text : {"cyclic", "sr_sgc", "m_sgc:burst=2:window=3"}) {
    auto rounds = scheme_of(text).coded_rounds(4, 0);
    ASSERT_TRUE(rounds.ok());
    for (std::int64_t round = 1; round <= 2 * (*rounds)->delay() + 2; ++round) {
      ASSERT_TRUE(deliver(**rounds, std::vector<bool>(4, false)).ok());
      const bool due = round > (*rounds)->delay();
      EXPECT_TRUE(!due || (*rounds)->decode(1).ok()) << text;
      (*rounds)->end_round();
    }
    EXPECT_EQ((*rounds)->decode(1).status().code(), Code::kInvalidArgument) << text;
    EXPECT_TRUE((*rounds)->decode(2).ok()) << text;
  }
}

TEST(CodeContract, BlocksAndAnswersAreWeightedByOneInTotal) {
  for_each_blocks([](const CodedBlocks& blocks) {
    const auto total = [](const std::vector<double>& weights) {
      double sum = 0;
      for (const double weight : weights) sum += weight;
      return sum;
    };
    for (std::size_t worker = 0; worker < blocks.workers(); ++worker) {
      EXPECT_EQ(blocks.encode(worker).size(), blocks.blocks());
      EXPECT_NEAR(total(blocks.encode(worker)), 1, 1e-9);
    }
    std::vector<bool> answered(blocks.workers(), true);
    for (std::size_t i = 0; i < blocks.missing_max(); ++i) answered[i * 2] = false;
    const auto decoded = blocks.decode(answered);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(decoded->size(), blocks.blocks());
    for (const std::vector<double>& row : *decoded) EXPECT_NEAR(total(row), 1, 1e-9);
  });
}

TEST(CodeContract, TooFewAnswersAreNotDecodable) {
  for_each_blocks([](const CodedBlocks& blocks) {
    std::vector<bool> answered(blocks.workers(), true);
    for (std::size_t i = 0; i <= blocks.missing_max(); ++i) answered[i] = false;
    const Status status = blocks.decode(answered).status();
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_THAT(status.message(), HasSubstr("not decodable"));
  });
}

}  // namespace
}  // namespace weft::code_contract_test
