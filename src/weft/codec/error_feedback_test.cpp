// Error feedback for every codec: what commits is lost to nobody, what is rolled back never was.
#include "weft/codec/error_feedback.h"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/codec/codec_def.h"
#include "weft/codec/test_codec_vectors.h"

namespace weft::error_feedback_test {
namespace {

using Vector = std::vector<float>;

Vector values_of(const ResidualValues& residual, std::size_t size) {
  return residual ? *residual : Vector(size);
}

Vector decode_payload(const Codec& codec, const Bytes& payload, std::size_t size) {
  Vector out(size);
  EXPECT_TRUE(codec.decode(payload, out).ok());
  return out;
}

TEST(ErrorFeedback, TheResidualIsWhatThePayloadLacksToTheLastBit) {
  for (const CodecDef* def : codecs()) {
    const Codec codec = *Codec::parse(def->name);
    ErrorFeedback feedback(codec);
    for (const std::size_t size : {1U, 255U, 1000U}) {
      for (std::uint64_t round = 1; round <= 5; ++round) {
        const Vector values = noise(size, round);
        Vector before = values_of(feedback.residual(), size);
        before.resize(size);
        if (round == 1) before.assign(size, 0);  // of another length
        const Bytes payload = feedback.encode(values, round);
        EXPECT_TRUE(feedback.pending());
        feedback.commit();
        EXPECT_FALSE(feedback.pending());
        const Vector sent = decode_payload(codec, payload, size);
        if (!codec.has_feedback()) {
          EXPECT_EQ(payload, codec.encode(values, round)) << def->name;
          EXPECT_EQ(feedback.residual(), nullptr) << def->name;
          continue;
        }
        ASSERT_TRUE(feedback.residual()) << def->name;
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_EQ((*feedback.residual())[i], values[i] + before[i] - sent[i])
              << def->name << ", round " << round << ", element " << i;
        }
      }
    }
  }
}

TEST(ErrorFeedback, ARollbackIsAsIfNothingHadHappened) {
  for (const CodecDef* def : codecs()) {
    ErrorFeedback straight(*Codec::parse(def->name));
    ErrorFeedback rerun(*Codec::parse(def->name));
    for (std::uint64_t round = 1; round <= 8; ++round) {
      const Vector values = noise(300, round);
      // Aborted up to twice, once with other values, as when the shares change with the view.
      for (std::uint64_t abort = round % 3; abort > 0; --abort) {
        (void)rerun.encode(abort == 2 ? noise(300, 99) : values, round);
        rerun.rollback();
        EXPECT_FALSE(rerun.pending());
      }
      EXPECT_EQ(rerun.encode(values, round), straight.encode(values, round)) << def->name;
      rerun.commit();
      straight.commit();
      EXPECT_EQ(values_of(rerun.residual(), 300), values_of(straight.residual(), 300));
    }
  }
}

TEST(ErrorFeedback, ACheckpointGoesOnWithTheSameBytes) {
  for (const CodecDef* def : codecs()) {
    ErrorFeedback straight(*Codec::parse(def->name));
    for (std::uint64_t round = 1; round <= 3; ++round) {
      (void)straight.encode(noise(300, round), round);
      straight.commit();
    }
    ErrorFeedback resumed(*Codec::parse(def->name));
    resumed.restore(straight.residual() ? std::make_shared<const Vector>(*straight.residual())
                                        : nullptr);
    EXPECT_EQ(resumed.encode(noise(300, 4), 4), straight.encode(noise(300, 4), 4)) << def->name;
  }
}

// What was sent and what is kept add up to what went in: within the roundings of the sums.
TEST(ErrorFeedback, NothingIsLostOverManyRounds) {
  for (const CodecDef* def : codecs()) {
    if (!def->feedback) continue;
    const Codec codec = *Codec::parse(def->name);
    ErrorFeedback feedback(codec);
    constexpr std::size_t kSize = 400;
    std::vector<double> given(kSize);
    std::vector<double> sent(kSize);
    for (std::uint64_t round = 1; round <= 200; ++round) {
      const Vector values = noise(kSize, round);
      const Vector out = decode_payload(codec, feedback.encode(values, round), kSize);
      feedback.commit();
      for (std::size_t i = 0; i < kSize; ++i) {
        given[i] += static_cast<double>(values[i]);
        sent[i] += static_cast<double>(out[i]);
      }
    }
    for (std::size_t i = 0; i < kSize; ++i) {
      ASSERT_NEAR(sent[i] + static_cast<double>((*feedback.residual())[i]), given[i], 1e-3)
          << def->name;
    }
  }
}

TEST(ErrorFeedback, WhatIsNoNumberIsNotKept) {
  ErrorFeedback feedback(*Codec::parse("topk:ratio=0.5"));
  (void)feedback.encode(Vector{std::nanf(""), INFINITY, 2, 1, 1, 1});
  feedback.commit();
  EXPECT_EQ(*feedback.residual(), (Vector{0, 0, 0, 1, 1, 1}));
}

TEST(ErrorFeedback, AnEmptyVectorLeavesTheResidualAlone) {
  ErrorFeedback feedback(*Codec::parse("topk:ratio=0.5"));
  (void)feedback.encode(Vector{2, 1});
  feedback.commit();
  const ResidualValues before = feedback.residual();
  (void)feedback.encode(Vector{});
  feedback.commit();
  EXPECT_EQ(feedback.residual(), before);
}

}  // namespace
}  // namespace weft::error_feedback_test
