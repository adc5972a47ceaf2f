// What becomes of a member's residual when rounds commit, abort or end unseen.
#include "weft/collective/codec/round_codec.h"

#include <vector>

#include <gtest/gtest.h>

namespace weft::round_codec_test {
namespace {

const std::vector<float> kInput = {4, 3, 2, 1};

// top-k of 2 values, so that a round keeps {0, 0, 2, 1} of kInput.
RoundCodec make_codec() { return RoundCodec(*Codec::parse("topk:ratio=0.5")); }

std::vector<float> kept(const RoundCodec& codec) {
  const ResidualValues residual = codec.state().residual;
  return residual ? *residual : std::vector<float>();
}

void encode_round(RoundCodec& codec, std::uint64_t round) {
  (void)codec.begin(Round(round))->encode(kInput);
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
  next.restore({Round(8), residual});
  (void)next.begin(Round(9));
  EXPECT_EQ(kept(next), kAfterOne);
  RoundCodec later = make_codec();
  later.restore({Round(8), residual});
  (void)later.begin(Round(10));
  EXPECT_EQ(kept(later), kNone);
}

TEST(RoundCodec, AnExactCodecHasNoEncoder) {
  RoundCodec codec{Codec()};
  EXPECT_EQ(codec.begin(Round(1)), nullptr);
  codec.committed();
  codec.on_view(true, Round(0));
  EXPECT_EQ(codec.state().residual, nullptr);
}

}  // namespace
}  // namespace weft::round_codec_test
