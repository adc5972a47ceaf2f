// What becomes of a member's residual when rounds commit, abort or end unseen.
#include "weft/collective/codec/round_codec.h"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft::round_codec_test {
namespace {

const std::vector<float> kInput = {4, 3, 2, 1};
const std::vector<std::int64_t> kOne = {4};
const std::vector<std::int64_t> kTwo = {4, 4};

// top-k of 2 values, so that a round keeps {0, 0, 2, 1} of kInput.
RoundCodec make_codec() { return RoundCodec(*Codec::parse("topk:ratio=0.5")); }

std::vector<float> kept(const RoundCodec& codec, std::size_t exchange = 0) {
  const ResidualValues residual = codec.state().of(exchange);
  return residual ? *residual : std::vector<float>();
}

void encode_round(RoundCodec& codec, std::uint64_t round) {
  codec.begin(Round(round), kOne);
  (void)codec.encoder(0)->encode(kInput);
}

const std::vector<float> kNone;
const std::vector<float> kAfterOne = {0, 0, 2, 1};

TEST(RoundCodec, ACommittedRoundKeepsWhatWasNotSent) {
  RoundCodec codec = make_codec();
  encode_round(codec, 1);
  EXPECT_EQ(kept(codec), kNone);
  codec.committed({});
  EXPECT_EQ(kept(codec), kAfterOne);
  EXPECT_EQ(codec.state().round, Round(1));
}

TEST(RoundCodec, AViewBelowTheRoundRollsItBackAndOneThatReachesItCommits) {
  RoundCodec codec = make_codec();
  encode_round(codec, 5);
  codec.on_view(true, Round(4));
  EXPECT_EQ(kept(codec), kNone);
  encode_round(codec, 5);
  codec.on_view(true, Round(5));
  EXPECT_EQ(kept(codec), kAfterOne);
  EXPECT_EQ(codec.state().round, Round(5));
}

TEST(RoundCodec, AnEndThatNobodyToldIsNeverAppliedTwice) {
  RoundCodec missed = make_codec();
  encode_round(missed, 5);
  missed.on_view(false, Round(4));
  EXPECT_EQ(kept(missed), kAfterOne);
  RoundCodec left = make_codec();
  encode_round(left, 5);
  left.on_leave();
  EXPECT_EQ(kept(left), kAfterOne);
}

TEST(RoundCodec, ARoundThatIsGivenUpAndBegunAgainIsRolledBack) {
  RoundCodec codec = make_codec();
  encode_round(codec, 5);
  encode_round(codec, 5);
  codec.committed({});
  EXPECT_EQ(kept(codec), kAfterOne);
}

TEST(RoundCodec, ACheckpointIsGoodForTheRoundThatFollowsIt) {
  const auto residual = std::make_shared<const std::vector<float>>(kAfterOne);
  RoundCodec next = make_codec();
  next.restore({Round(8), {residual}});
  next.begin(Round(9), kOne);
  EXPECT_EQ(kept(next), kAfterOne);
  RoundCodec later = make_codec();
  later.restore({Round(8), {residual}});
  later.begin(Round(10), kOne);
  EXPECT_EQ(kept(later), kNone);
}

// One rule for all exchanges of a round; an exchange to which this member gives nothing keeps what
// it has.
TEST(RoundCodec, TheExchangesOfARoundCommitAndRollBackTogether) {
  const std::vector<float> other = {8, 1, 1, 9};
  RoundCodec codec = make_codec();
  codec.begin(Round(1), kTwo);
  (void)codec.encoder(0)->encode(kInput);
  (void)codec.encoder(1)->encode(other);
  codec.on_view(true, Round(0));
  EXPECT_TRUE(codec.state().empty());
  codec.begin(Round(1), kTwo);
  (void)codec.encoder(0)->encode(kInput);
  (void)codec.encoder(1)->encode(other);
  codec.committed({});
  const std::vector<float> kept_of_other = {0, 1, 1, 0};
  EXPECT_EQ(kept(codec, 0), kAfterOne);
  EXPECT_EQ(kept(codec, 1), kept_of_other);
  codec.begin(Round(2), kTwo);
  (void)codec.encoder(0)->encode(kInput);
  codec.committed({});
  EXPECT_EQ(kept(codec, 0), (std::vector<float>{0, 3, 0, 2}));
  EXPECT_EQ(kept(codec, 1), kept_of_other) << "it gave nothing to that exchange";
  EXPECT_EQ(codec.state().round, Round(2)) << "of both";
  RoundCodec restored = make_codec();
  restored.restore(codec.state());
  restored.begin(Round(3), kOne);
  EXPECT_EQ(kept(restored, 1), kept_of_other);
}

// --- Shared factors.

const std::vector<std::int64_t> kMatrices = {400, 100};

// One round with one member; what both exchanges gave.
std::vector<std::vector<float>> run_round(RoundCodec& codec, std::uint64_t round) {
  codec.begin(Round(round), kMatrices);
  std::vector<std::vector<float>> results;
  for (std::size_t i = 0; i < kMatrices.size(); ++i) {
    std::vector<float> values(static_cast<std::size_t>(kMatrices[i]));
    for (std::size_t k = 0; k < values.size(); ++k) {
      values[k] = static_cast<float>((k * 37 + round * 11) % 101) - 50;
    }
    const Bytes payload = codec.encoder(i)->encode(values);
    EXPECT_TRUE(codec.encoder(i)->decode(payload, values).ok());
    results.push_back(std::move(values));
  }
  return results;
}

void commit_round(RoundCodec& codec, const std::vector<std::vector<float>>& results) {
  codec.committed(std::vector<std::span<const float>>(results.begin(), results.end()));
}

std::uint32_t mark_of(const RoundCodec& codec, std::size_t exchange) {
  return codec.encoder(exchange)->shared()->mark;
}

RoundCodec make_powersgd() { return RoundCodec(*Codec::parse("powersgd:rank=2")); }

// As a member that only receives has it, too: it encodes nothing.
TEST(RoundCodec, FactorsAreAFunctionOfTheRoundsOfAView) {
  RoundCodec giver = make_powersgd();
  RoundCodec receiver = make_powersgd();
  for (std::uint64_t round = 1; round <= 4; ++round) {
    const auto results = run_round(giver, round);
    receiver.begin(Round(round), kMatrices);
    for (std::size_t i = 0; i < kMatrices.size(); ++i) {
      EXPECT_EQ(mark_of(receiver, i), mark_of(giver, i));
      EXPECT_EQ(receiver.encoder(i)->shared()->steps, round - 1);
    }
    commit_round(giver, results);
    commit_round(receiver, results);
  }
}

TEST(RoundCodec, AViewBeginsFactorsAnewAsANewcomerDoes) {
  RoundCodec member = make_powersgd();
  commit_round(member, run_round(member, 1));
  const std::uint32_t before = mark_of(member, 0);
  member.on_view(true, Round(1));
  RoundCodec newcomer = make_powersgd();
  newcomer.begin(Round(2), kMatrices);
  (void)run_round(member, 2);
  for (std::size_t i = 0; i < kMatrices.size(); ++i) {
    EXPECT_EQ(mark_of(member, i), mark_of(newcomer, i));
  }
  EXPECT_NE(mark_of(member, 0), before);
  EXPECT_NE(mark_of(member, 0), mark_of(member, 1));
}

// Whether the aborted round began the view's factors or not.
TEST(RoundCodec, AnAbortedRoundLeavesFactorsAsTheyWere) {
  RoundCodec straight = make_powersgd();
  RoundCodec rerun = make_powersgd();
  for (std::uint64_t round = 1; round <= 3; ++round) {
    (void)run_round(rerun, round);
    const auto again = run_round(rerun, round);
    const auto results = run_round(straight, round);
    EXPECT_EQ(again, results);
    for (std::size_t i = 0; i < kMatrices.size(); ++i) {
      EXPECT_EQ(mark_of(rerun, i), mark_of(straight, i));
    }
    commit_round(rerun, again);
    commit_round(straight, results);
  }
}

TEST(RoundCodec, AVectorOfAnotherLengthBeginsItsFactorsAnew) {
  RoundCodec codec = make_powersgd();
  commit_round(codec, run_round(codec, 1));
  codec.begin(Round(2), std::vector<std::int64_t>{400, 144});
  EXPECT_EQ(codec.encoder(0)->shared()->steps, 1U);
  EXPECT_EQ(codec.encoder(1)->shared()->steps, 0U);
  EXPECT_EQ(codec.encoder(1)->shared()->elements, 144U);
}

TEST(RoundCodec, AnExactCodecHasNoEncoder) {
  RoundCodec codec{Codec()};
  codec.begin(Round(1), kTwo);
  EXPECT_EQ(codec.encoder(0), nullptr);
  codec.committed({});
  codec.on_view(true, Round(0));
  EXPECT_TRUE(codec.state().empty());
}

}  // namespace
}  // namespace weft::round_codec_test
