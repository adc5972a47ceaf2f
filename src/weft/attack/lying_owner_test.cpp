// One member of a verified round lies: what the honest ones find, and what they never get.
#include "weft/attack/lying_owner.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/verify/test_verified_network.h"
#include "weft/collective/verify/verified_butterfly.h"

namespace weft::lying_owner_test {
namespace {

using testing::HasSubstr;

constexpr int kMembers = 6;
constexpr std::int64_t kElements = 3000;
constexpr std::uint64_t kSeeds = 20;

CollectiveOptions options_for(const std::string& rule, int verifiers) {
  CollectiveOptions options = verified(small_segments(kMembers), verifiers);
  options.aggregator = *Aggregator::parse(rule);
  options.aggregate_round = {1, 99};
  return options;
}

struct Outcome {
  // By honest member, what it has found of the liar, and of anybody else.
  std::vector<std::string> of_liar;
  std::vector<std::string> of_others;
  int complete = 0;
};

// What honest members found with that liar; where one is complete it has the honest result.
Outcome run(const std::string& rule, OwnerLie lie, int liar, std::uint64_t seed) {
  const CollectiveOptions options = options_for(rule, 1);
  const auto maker = [&](const CollectiveOptions& own, std::int64_t elements,
                         CollectiveSink& sink) {
    if (own.rank != Rank(liar)) return make_signing(own, elements, sink);
    return make_lying_owner({lie})(signing(own), elements, sink, nullptr);
  };
  CollectiveNetwork honest(options, kElements, seed, {}, {}, make_signing);
  CollectiveNetwork network(options, kElements, seed, {}, {}, maker);
  honest.run();
  network.run();
  Outcome outcome;
  for (int rank = 0; rank < kMembers; ++rank) {
    if (rank == liar) continue;
    Collective& core = network.core(rank);
    std::string texts;
    for (const ExchangeFinding& finding : core.take_findings()) {
      if (finding.member == Rank(liar)) {
        texts += finding.text + "; ";
      } else {
        outcome.of_others.push_back(std::to_string(rank) + " of " +
                                    std::to_string(finding.member.value()) + ": " + finding.text);
      }
    }
    if (!texts.empty()) outcome.of_liar.push_back(texts);
    if (!core.complete()) continue;
    ++outcome.complete;
    const auto got = core.result()->span();
    const auto wanted = honest.core(rank).result()->span();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end())) << rank;
  }
  return outcome;
}

void expect_all_find(const std::string& rule, OwnerLie lie, const std::string& text) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Outcome outcome = run(rule, lie, static_cast<int>(seed % kMembers), seed);
    ASSERT_THAT(outcome.of_liar, testing::SizeIs(kMembers - 1));
    EXPECT_THAT(outcome.of_liar, testing::Each(HasSubstr(text)));
    EXPECT_THAT(outcome.of_others, testing::IsEmpty());
    EXPECT_EQ(outcome.complete, 0) << "nobody applies anything of that round";
  }
}

TEST(LyingOwner, AFalsifiedChunkConvictsItsOwnerBeforeAnybodyGetsIt) {
  expect_all_find("nnm trimmed_mean", OwnerLie::kAddsConstant, "falsified its chunk of round 7");
  expect_all_find("median", OwnerLie::kFlipsBit, "falsified its chunk of round 7");
}

TEST(LyingOwner, FalseDistancesConvictTheirOwner) {
  expect_all_find("krum", OwnerLie::kFalseDistances, "falsified its chunk of round 7");
}

TEST(LyingOwner, TwoSignedChunksConvictTheirOwner) {
  expect_all_find("median", OwnerLie::kEquivocates, "signed two different results of round 7");
}

TEST(LyingOwner, AnInputThatWasNotCommittedToConvictsItsSender) {
  expect_all_find("nnm trimmed_mean", OwnerLie::kFalseInput,
                  "sent an input of round 7 that is not what it committed to");
}

// Only its victims can know; all get the right result all the same.
TEST(LyingOwner, WhatHarmsSomeOnlyIsRepairedByTheOthers) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const int liar = static_cast<int>(seed % kMembers);
    const Outcome spoils = run("median", OwnerLie::kSpoilsOnTheWay, liar, seed);
    EXPECT_THAT(spoils.of_liar, testing::SizeIs(liar % 2 == 1 ? 2 : 3));
    EXPECT_THAT(spoils.of_liar, testing::Each(HasSubstr("sent another chunk of round 7 than")));
    EXPECT_THAT(spoils.of_others, testing::IsEmpty());
    EXPECT_EQ(spoils.complete, kMembers - 1);

    const Outcome one = run("krum", OwnerLie::kFalseInputToOne, liar, seed);
    EXPECT_THAT(one.of_liar, testing::SizeIs(1));
    EXPECT_THAT(one.of_others, testing::IsEmpty());
    EXPECT_EQ(one.complete, kMembers - 1);
  }
}

TEST(LyingOwner, AFalseAccusationConvictsItsAuthorAlone) {
  int accused = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Outcome outcome = run("nnm trimmed_mean", OwnerLie::kFalseAccusation,
                                static_cast<int>(seed % kMembers), seed);
    EXPECT_THAT(outcome.of_others, testing::IsEmpty());
    EXPECT_EQ(outcome.complete, kMembers - 1) << "the honest have their result";
    // A member that was not drawn in this round has nothing to say.
    if (outcome.of_liar.empty()) continue;
    ++accused;
    EXPECT_THAT(outcome.of_liar, testing::SizeIs(kMembers - 1));
    EXPECT_THAT(outcome.of_liar, testing::Each(HasSubstr("falsely of its chunk of round 7")));
  }
  EXPECT_GT(accused, 0);
}

TEST(LyingOwner, AVerifierThatSaysNothingIsWaitedForByName) {
  int silent = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const int liar = static_cast<int>(seed % kMembers);
    const CollectiveOptions options = options_for("median", 1);
    const auto maker = [&](const CollectiveOptions& own, std::int64_t elements,
                           CollectiveSink& sink) {
      if (own.rank != Rank(liar)) return make_signing(own, elements, sink);
      return make_lying_owner({OwnerLie::kNoVerdict})(signing(own), elements, sink, nullptr);
    };
    CollectiveNetwork network(options, kElements, seed, {}, {}, maker);
    network.run();
    for (int rank = 0; rank < kMembers; ++rank) {
      if (rank == liar || network.core(rank).complete()) continue;
      ++silent;
      EXPECT_EQ(network.core(rank).waits_for(), Rank(liar));
    }
  }
  EXPECT_GT(silent, 0);
}

// The nonces decide; each of the others is drawn as often as any.
TEST(LyingOwner, VerifiersAreDrawnEvenlyAndNeverTheOwner) {
  constexpr int kDraws = 6000;
  const ExchangeId id{ViewId{ViewNumber(3), {}}, Round(7)};
  std::vector<std::vector<int>> drawn(kMembers, std::vector<int>(kMembers));
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<Hash256> nonces(kMembers);
    nonces[0] = sha256(as_bytes(std::to_string(draw)));
    const auto verifiers = draw_verifiers(id, nonces, 2);
    for (std::size_t owner = 0; owner < kMembers; ++owner) {
      ASSERT_EQ(verifiers[owner].size(), 2U);
      ASSERT_NE(verifiers[owner][0], verifiers[owner][1]);
      for (const Rank rank : verifiers[owner]) {
        ++drawn[owner][static_cast<std::size_t>(rank.value())];
      }
    }
  }
  // 2 of 5, 2,400 times of 6,000; the deviation is 38.
  for (std::size_t owner = 0; owner < kMembers; ++owner) {
    for (std::size_t rank = 0; rank < kMembers; ++rank) {
      if (rank == owner) {
        EXPECT_EQ(drawn[owner][rank], 0);
      } else {
        EXPECT_NEAR(drawn[owner][rank], 2400, 5 * 38);
      }
    }
  }
}

}  // namespace
}  // namespace weft::lying_owner_test
