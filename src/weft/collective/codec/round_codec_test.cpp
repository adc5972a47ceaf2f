// What becomes of a member's residual when rounds commit, abort or end unseen.
#include "weft/collective/codec/round_codec.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft::round_codec_test {
namespace {

const std::vector<float> kInput = {4, 3, 2, 1};

// top-k of 2 values, so that a round keeps {0, 0, 2, 1} of kInput.
RoundCodec make_codec() { return RoundCodec(*Codec::parse("topk:ratio=0.5")); }

std::vector<float> kept(const RoundCodec& codec, std::size_t exchange = 0) {
  const ResidualValues residual = codec.state().of(exchange);
  return residual ? *residual : std::vector<float>();
}

void encode_round(RoundCodec& codec, std::uint64_t round) {
  codec.begin(Round(round), 1);
  (void)codec.encoder(0)->encode(kInput);
}

const std::vector<float> kNone;
const std::vector<float> kAfterOne = {0, 0, 2, 1};

TEST(RoundCodec, ACommittedRoundKeepsWhatWasNotSent) {
  RoundCodec codec = make_codec();
  encode_round(codec, 1);
  EXPECT_EQ(kept(codec), kNone);
  codec.committed();
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
  codec.committed();
  EXPECT_EQ(kept(codec), kAfterOne);
}

TEST(RoundCodec, ACheckpointIsGoodForTheRoundThatFollowsIt) {
  const auto residual = std::make_shared<const std::vector<float>>(kAfterOne);
  RoundCodec next = make_codec();
  next.restore({Round(8), {residual}});
  next.begin(Round(9), 1);
  EXPECT_EQ(kept(next), kAfterOne);
  RoundCodec later = make_codec();
  later.restore({Round(8), {residual}});
  later.begin(Round(10), 1);
  EXPECT_EQ(kept(later), kNone);
}

// One rule for all exchanges of a round; an exchange to which this member gives nothing keeps what
// it has.
TEST(RoundCodec, TheExchangesOfARoundCommitAndRollBackTogether) {
  const std::vector<float> other = {8, 1, 1, 9};
  RoundCodec codec = make_codec();
  codec.begin(Round(1), 2);
  (void)codec.encoder(0)->encode(kInput);
  (void)codec.encoder(1)->encode(other);
  codec.on_view(true, Round(0));
  EXPECT_TRUE(codec.state().empty());
  codec.begin(Round(1), 2);
  (void)codec.encoder(0)->encode(kInput);
  (void)codec.encoder(1)->encode(other);
  codec.committed();
  const std::vector<float> kept_of_other = {0, 1, 1, 0};
  EXPECT_EQ(kept(codec, 0), kAfterOne);
  EXPECT_EQ(kept(codec, 1), kept_of_other);
  codec.begin(Round(2), 2);
  (void)codec.encoder(0)->encode(kInput);
  codec.committed();
  EXPECT_EQ(kept(codec, 0), (std::vector<float>{0, 3, 0, 2}));
  EXPECT_EQ(kept(codec, 1), kept_of_other) << "it gave nothing to that exchange";
  EXPECT_EQ(codec.state().round, Round(2)) << "of both";
  RoundCodec restored = make_codec();
  restored.restore(codec.state());
  restored.begin(Round(3), 1);
  EXPECT_EQ(kept(restored, 1), kept_of_other);
}

TEST(RoundCodec, AnExactCodecHasNoEncoder) {
  RoundCodec codec{Codec()};
  codec.begin(Round(1), 2);
  EXPECT_EQ(codec.encoder(0), nullptr);
  codec.committed();
  codec.on_view(true, Round(0));
  EXPECT_TRUE(codec.state().empty());
}

}  // namespace
}  // namespace weft::round_codec_test
