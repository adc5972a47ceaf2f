// Each codec against values by hand and closed forms, byte by byte.
#include "weft/codec/codec.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/codec/codec_def.h"
#include "weft/codec/test_codec_vectors.h"

namespace weft::codec_test {
namespace {

using Vector = std::vector<float>;

Vector combined(std::string_view text, const std::vector<Vector>& members) {
  const Codec codec = *Codec::parse(text);
  Vector sum(members.front().size());
  for (const Vector& member : members) codec.add(decoded(text, member), sum);
  codec.finish(sum);
  return sum;
}

TEST(Codec, ThePrecisionsAreTheBytesOfTheWire) {
  const Vector values = noise(1000, 1);
  for (const WirePrecision precision :
       {WirePrecision::kF32, WirePrecision::kBf16, WirePrecision::kF16, WirePrecision::kInt8}) {
    const Codec codec = *Codec::parse(to_string(precision));
    Bytes expected(encoded_bytes(precision, values.size()));
    encode(precision, values, expected);
    EXPECT_EQ(codec.encode(values), expected);
    EXPECT_EQ(codec.hop_precision(), precision);
  }
  for (const CodecDef* def : codecs()) {
    if (def->hop) {
      EXPECT_EQ(to_string(*def->hop), def->name);
    }
  }
}

TEST(TopkCodec, KeepsTheLargestAndOfEqualsTheFirst) {
  EXPECT_EQ(decoded("topk:ratio=0.4", {3, -5, 0.5F, 5, -1}), (Vector{0, -5, 0, 5, 0}));
  EXPECT_EQ(decoded("topk:ratio=0.5", {1, -1, 1, -1}), (Vector{1, -1, 0, 0}));
  EXPECT_EQ(decoded("topk:ratio=0.01", {0.1F, -0.2F}), (Vector{0, -0.2F})) << "one at least";
  EXPECT_EQ(decoded("topk:ratio=1", {0.1F, -0.2F}), (Vector{0.1F, -0.2F}));
}

TEST(TopkCodec, AFractionOfAPlaceCountsAsOne) {
  // 0.3 of 4 is 1.2.
  EXPECT_EQ(decoded("topk:ratio=0.3", {1, -4, 3, 2}), (Vector{0, -4, 3, 0}));
}

// Seven bits a byte: none of 32 bits has six. What has must not be shifted further and further.
TEST(TopkCodec, RefusesAPlaceOfMoreThanFiveBytes) {
  const Codec codec = *Codec::parse("topk:ratio=0.5");
  Vector out(4);
  const Bytes five = {1, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0, 0, 0, 0x80, 0x3f};
  EXPECT_TRUE(codec.decode(five, out).ok());
  EXPECT_EQ(out, (Vector{1, 0, 0, 0}));
  const Bytes six = {1, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 0, 0, 0x80, 0x3f};
  EXPECT_EQ(codec.decode(six, out).code(), Code::kCorrupt);
}

TEST(TopkCodec, ABytesLayoutByHand) {
  const Codec codec = *Codec::parse("topk:ratio=0.01");
  Vector values(301);
  values[2] = 1;
  values[300] = -2;
  // ceil(3.01) = 4 places, of which two are zeros; 297 skipped = 0x129.
  const Bytes expected = {2, 0, 0, 0, 2, 0xa9, 0x02, 0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0};
  EXPECT_EQ(codec.encode(values), expected);
}

// The oracle sorts all places by magnitude.
TEST(TopkCodec, IsWhatASortWouldGive) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Vector values = noise(2000, seed);
    // Many ties.
    if (seed % 2 == 0) {
      for (float& value : values) value = std::round(value * 4) / 4;
    }
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return std::abs(values[a]) > std::abs(values[b]);
    });
    Vector expected(values.size());
    for (std::size_t i = 0; i < 200; ++i) expected[order[i]] = values[order[i]];
    EXPECT_EQ(decoded("topk:ratio=0.1", values), expected) << "seed " << seed;
  }
}

// The gaps between random places at 1 % are 99 on average and below 128 with 1 - 0.99^128 = 0.72:
// 4 + 1 + 0.28 bytes for each value, where index and value would be 8.
TEST(TopkCodec, TakesAboutFiveBytesForEachValue) {
  const Codec codec = *Codec::parse("topk");
  const std::size_t bytes = codec.encode(noise(1'000'000, 3)).size();
  EXPECT_NEAR(static_cast<double>(bytes) / 10'000, 5.28, 0.03);
}

TEST(TopkCodec, RefusesPlacesBeyondTheEnd) {
  const Codec codec = *Codec::parse("topk:ratio=0.5");
  Vector out(4);
  const auto code = [&](const Bytes& bytes) { return codec.decode(bytes, out).code(); };
  EXPECT_EQ(code({1, 0, 0, 0, 3, 0, 0, 0x80, 0x3f}), Code::kOk);
  EXPECT_EQ(code({1, 0, 0, 0, 4, 0, 0, 0x80, 0x3f}), Code::kCorrupt);
  EXPECT_EQ(code({2, 0, 0, 0, 3, 0, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f}), Code::kCorrupt);
  EXPECT_EQ(code({0xff, 0xff, 0xff, 0xff, 0}), Code::kCorrupt);
  EXPECT_EQ(code({1, 0, 0, 0, 0x83, 0, 0, 0, 0x80, 0x3f}), Code::kOk) << "a long form of 3";
  EXPECT_EQ(code({1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0x80, 0x3f}),
            Code::kCorrupt);
}

TEST(QsgdCodec, ABytesLayoutByHand) {
  const Codec codec = *Codec::parse("qsgd:levels=1:bucket=4");
  // Norms 2, 3 and 0; values that are the norm of their bucket are not rounded. 9 digits of base 3,
  // 2 1 1 1 1 0 1 1 1: 16375 in two bytes.
  const Vector values = {2, 0, 0, 0, 0, -3, 0, 0, 0};
  const Bytes bytes = codec.encode(values, 1);
  EXPECT_EQ(bytes, (Bytes{0, 0, 0, 0x40, 0, 0, 0x40, 0x40, 0, 0, 0, 0, 0xf7, 0x3f}));
  Vector out(values.size());
  EXPECT_TRUE(codec.decode(bytes, out).ok());
  EXPECT_EQ(out, values);
}

// What theory says of it: the mean of many is the vector, and the variance is at most
// min(d / s^2, sqrt(d) / s) times the squared norm of a bucket (Alistarh et al. 2017, lemma 3.1).
TEST(QsgdCodec, IsUnbiasedAndItsVarianceBounded) {
  constexpr std::size_t kSize = 128;
  constexpr int kTimes = 20'000;
  const Vector values = noise(kSize, 5);
  double squares = 0;
  for (const float value : values) squares += std::pow(static_cast<double>(value), 2);
  for (const double levels : {1.0, 3.0, 20.0}) {
    const Codec codec = *Codec::parse("qsgd:levels=" + std::to_string(static_cast<int>(levels)));
    std::vector<double> sum(kSize);
    double error = 0;
    for (int time = 0; time < kTimes; ++time) {
      Vector out(kSize);
      ASSERT_TRUE(codec.decode(codec.encode(values, static_cast<std::uint64_t>(time)), out).ok());
      for (std::size_t i = 0; i < kSize; ++i) {
        sum[i] += static_cast<double>(out[i]);
        error += std::pow(static_cast<double>(out[i]) - static_cast<double>(values[i]), 2);
      }
    }
    const double bound = std::min(kSize / (levels * levels), std::sqrt(kSize) / levels) * squares;
    EXPECT_LE(error / kTimes, bound) << levels;
    EXPECT_GT(error / kTimes, bound / 20) << levels;
    // A value lies between two levels, so one draw has a deviation of at most half a level.
    const double deviation = std::sqrt(squares) / levels / 2 / std::sqrt(kTimes);
    for (std::size_t i = 0; i < kSize; ++i) {
      EXPECT_NEAR(sum[i] / kTimes, static_cast<double>(values[i]), 5 * deviation) << levels;
    }
  }
}

TEST(QsgdCodec, TakesWhatItsNumberOfLevelsSays) {
  const auto times_fewer = [](std::string_view text) {
    return 4e6 / static_cast<double>(Codec::parse(text)->encode(Vector(1'000'000, 1.0F)).size());
  };
  EXPECT_NEAR(times_fewer("qsgd:levels=1"), 32 / (32.0 / 20 + 32.0 / 128), 0.01);
  EXPECT_NEAR(times_fewer("qsgd"), 32 / (4 + 32.0 / 128), 0.01);
  EXPECT_NEAR(times_fewer("qsgd:levels=127:bucket=512"), 32 / (8 + 32.0 / 512), 0.01);
}

TEST(QsgdCodec, SeedsRoundDifferentlyAndRefusesWhatNoEncoderGives) {
  const Codec codec = *Codec::parse("qsgd:levels=1:bucket=4");
  const Vector values = noise(1000, 6);
  EXPECT_NE(codec.encode(values, 1), codec.encode(values, 2));
  Vector out(4);
  const auto code = [&](const Bytes& bytes) { return codec.decode(bytes, out).code(); };
  EXPECT_EQ(code({0, 0, 0x80, 0x3f, 80}), Code::kOk);
  EXPECT_EQ(out, (Vector{1, 1, 1, 1}));
  EXPECT_EQ(code({0, 0, 0x80, 0x3f, 81}), Code::kCorrupt) << "81 has five digits";
  EXPECT_EQ(code({0, 0, 0x80, 0xbf, 40}), Code::kCorrupt) << "a norm below zero";
  EXPECT_EQ(code({0, 0, 0x80, 0x7f, 40}), Code::kCorrupt) << "an infinite norm";
  EXPECT_EQ(code({0, 0, 0x80, 0x3f, 40, 0}), Code::kCorrupt) << "too long";
}

TEST(RandomkCodec, SendsDrawnPlacesAndNeverTheirNumbers) {
  const Codec codec = *Codec::parse("randomk:ratio=0.25");
  const Vector values = noise(1000, 7);
  const Bytes bytes = codec.encode(values, 3);
  EXPECT_EQ(bytes.size(), 8U + 250U * 4U);
  Vector out(values.size());
  ASSERT_TRUE(codec.decode(bytes, out).ok());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0) continue;
    ++kept;
    EXPECT_EQ(out[i], values[i]);
  }
  EXPECT_EQ(kept, 250U);
  EXPECT_NE(codec.encode(values, 4), bytes);
  EXPECT_EQ(decoded("randomk:ratio=1", values), values);
}

// Each of 40 places is drawn 1,000 times in 4,000, give or take the deviation of a binomial number.
TEST(RandomkCodec, DrawsEachPlaceEquallyOften) {
  const Codec codec = *Codec::parse("randomk:ratio=0.25");
  std::vector<int> drawn(40);
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Vector out(drawn.size());
    ASSERT_TRUE(codec.decode(codec.encode(Vector(drawn.size(), 1.0F), seed), out).ok());
    for (std::size_t i = 0; i < out.size(); ++i) drawn[i] += out[i] == 0 ? 0 : 1;
  }
  const double deviation = std::sqrt(4000 * 0.25 * 0.75);
  for (const int times : drawn) EXPECT_NEAR(times, 1000, 4.5 * deviation);
}

// 3 of 10 values, so r is 0. Gaps of 2, 0 and 4 are 110, 0 and 11110; -4 has the label 0, 4 has 1.
TEST(FedzipCodec, ABytesLayoutByHand) {
  const Codec codec = *Codec::parse("fedzip:ratio=0.3:clusters=2");
  const Vector values = {0, 0, 4, -4, 0, 0, 0, 0, 4, 0};
  const Bytes bytes = codec.encode(values);
  EXPECT_EQ(bytes, (Bytes{3, 0, 0, 0, 2, 0, 0, 0x80, 0xc0, 0, 0, 0x80, 0x40, 1, 1, 0xcb, 0x0b}));
  Vector out(values.size());
  EXPECT_TRUE(codec.decode(bytes, out).ok());
  EXPECT_EQ(out, values);
}

// The frequencies 45, 13, 12, 16, 9 and 5 of Cormen, Leiserson, Rivest and Stein: 224 bits.
TEST(FedzipCodec, LabelsHaveHuffmansCode) {
  Vector values;
  const std::vector<std::size_t> counts = {45, 13, 12, 16, 9, 5};
  for (std::size_t label = 0; label < counts.size(); ++label) {
    values.insert(values.end(), counts[label], static_cast<float>(label + 1));
  }
  const Codec codec = *Codec::parse("fedzip:ratio=1:clusters=6");
  const Bytes bytes = codec.encode(values);
  const auto lengths = bytes.begin() + 4 + 1 + 6 * 4;
  EXPECT_EQ(Bytes(lengths, lengths + 6), (Bytes{1, 3, 3, 3, 4, 4}));
  // A bit for each gap of nothing.
  EXPECT_EQ(bytes.size(), 4 + 1 + 6 * 4 + 6 + (100 + 224 + 7) / 8);
  EXPECT_EQ(decoded("fedzip:ratio=1:clusters=6", values), values);
}

TEST(FedzipCodec, RoundsToTheMeansOfClusters) {
  EXPECT_EQ(decoded("fedzip:ratio=1:clusters=3", {1, 12, 3, 20, 11, 2, 10}),
            (Vector{2, 11, 2, 20, 11, 2, 11}));
  EXPECT_EQ(decoded("fedzip:ratio=1:clusters=4", {1, 9, 1, 1}), (Vector{1, 9, 1, 1}))
      << "two clusters have no values";
  EXPECT_EQ(decoded("fedzip:ratio=1:clusters=1", {1, 9, 1, 1}), Vector(4, 3.0F));
  EXPECT_EQ(decoded("fedzip:ratio=0.5:clusters=1", {1, 0, -9, 2}), (Vector{0, 0, -3.5F, -3.5F}));
}

// Gaps between random places at 1 % have the rest of 64 in 6 bits, a zero, and q / (1 - q) ones on
// average, where q = 0.99^64 is the chance that a gap reaches 64. Two of four clusters have values.
TEST(FedzipCodec, TakesAboutNineBitsForEachValue) {
  const Codec codec = *Codec::parse("fedzip");
  const std::size_t bytes = codec.encode(noise(1'000'000, 3)).size();
  const double chance = std::pow(0.99, 64);
  const double expected = 6 + 1 + chance / (1 - chance) + 1;
  EXPECT_NEAR(8 * static_cast<double>(bytes) / 10'000, expected, 0.03);
}

TEST(FedzipCodec, RefusesWhatNoEncoderGives) {
  const Codec codec = *Codec::parse("fedzip:ratio=0.3:clusters=2");
  const Bytes good = {3, 0, 0, 0, 2, 0, 0, 0x80, 0xc0, 0, 0, 0x80, 0x40, 1, 1, 0xcb, 0x0b};
  Vector out(10);
  const auto code = [&](std::size_t at, std::uint8_t byte) {
    Bytes bytes = good;
    bytes[at] = byte;
    return codec.decode(bytes, out).code();
  };
  EXPECT_EQ(code(0, 3), Code::kOk);
  EXPECT_EQ(code(0, 4), Code::kCorrupt) << "more values than the share";
  EXPECT_EQ(code(4, 3), Code::kCorrupt) << "more means than clusters";
  EXPECT_EQ(code(8, 0x40), Code::kCorrupt) << "two means of 4";
  EXPECT_EQ(code(14, 2), Code::kCorrupt) << "a code that is no tree";
  EXPECT_EQ(code(13, 0), Code::kCorrupt) << "a code without bits beside another";
  EXPECT_EQ(code(16, 0x1b), Code::kCorrupt) << "a bit after the end";
  EXPECT_EQ(code(16, 0xff), Code::kCorrupt) << "a place beyond the end";
  EXPECT_EQ(code(15, 0xeb), Code::kCorrupt) << "a mean that no value has: the labels are 1 1 1";
  const auto lone = [&](const Bytes& bytes) { return codec.decode(bytes, out).code(); };
  EXPECT_EQ(lone({0, 0, 0, 0}), Code::kOk);
  EXPECT_EQ(out, Vector(10, 0.0F));
  EXPECT_EQ(lone({0xff, 0xff, 0xff, 0xff}), Code::kOk);
  EXPECT_TRUE(std::isnan(out[9]));
  EXPECT_EQ(lone({0, 0, 0, 0, 0}), Code::kCorrupt);
}

// A tree with the right sum, but another one than Huffman's for the labels.
TEST(FedzipCodec, RefusesACodeThatDoesNotSuitTheLabels) {
  const Codec codec = *Codec::parse("fedzip:ratio=1:clusters=3");
  const Vector values = {1, 1, 1, 5, 9};
  Bytes bytes = codec.encode(values);
  Vector out(values.size());
  ASSERT_EQ(Bytes(bytes.begin() + 17, bytes.begin() + 20), (Bytes{1, 2, 2}));
  // Each gap is 0; the codes are 0, 10 and 11.
  ASSERT_EQ(Bytes(bytes.begin() + 20, bytes.end()), (Bytes{0b10000000, 0b00001100}));
  EXPECT_TRUE(codec.decode(bytes, out).ok());
  // With the lengths 2, 2 and 1 they are 10, 11 and 0.
  bytes[17] = 2;
  bytes[19] = 1;
  bytes[20] = 0b10010010;
  EXPECT_EQ(codec.decode(bytes, out).code(), Code::kCorrupt);
}

TEST(SignCodec, OneBitEachAndTheMajorityDecides) {
  EXPECT_EQ(decoded("sign", {0.5F, -2, 3, -0.1F}), (Vector{1, -1, 1, -1}));
  const Codec codec = *Codec::parse("sign");
  EXPECT_EQ(codec.encode(Vector{0.5F, -2, 3, -0.1F}), (Bytes{1, 0, 0b1010}));
  EXPECT_EQ(codec.encode(Vector{0.5F, 0, 3, -0.1F}), (Bytes{1, 1, 0b1000, 0b0010}));
  EXPECT_EQ(combined("sign", {{1, 1, -1}, {2, -5, -1}, {-100, 0.1F, -1}}), (Vector{1, 1, -1}));
  EXPECT_EQ(combined("sign", {{1, -1}, {-1, -1}}), (Vector{0, -1})) << "a tie moves nothing";
  EXPECT_EQ(combined("sign", {{0, 0}, {-1, 1}, {0, 0}}), (Vector{-1, 1})) << "zeros abstain";
  EXPECT_EQ(combined("sign", {{std::nanf(""), 1}, {-1, 1}, {-1, 1}}), (Vector{-1, 1}));
}

// Up to half of the members may send the opposite of what they found (Bernstein et al. 2018).
TEST(SignCodec, AMinorityOfLiarsTurnsNoVote) {
  const Vector honest = noise(500, 4);
  Vector lie;
  for (const float value : honest) lie.push_back(-1000 * value);
  const Vector expected = decoded("sign", honest);
  EXPECT_EQ(combined("sign", {honest, lie, honest, lie, honest}), expected);
}

// As buffers have gaps, and tokens that no sample has: what is zero at all members stays so.
TEST(SignCodec, ZerosStayZeros) {
  for (const std::string_view name : {"sign", "ef_sign"}) {
    Vector values = noise(2000, 6);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i == 3 || i == 1999 || (i > 700 && i < 1400)) values[i] = 0;
    }
    const Vector out = decoded(name, values);
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(out[i] == 0, values[i] == 0) << i;
  }
}

// What a member sends of 13,256 values: 1,657 bytes of signs, and a bit for each 512 of them.
TEST(SignCodec, ThirtyTwoTimesFewerBytes) {
  const Vector values = noise(13'256, 5);
  EXPECT_EQ(Codec::parse("sign")->encode(values).size(), 1U + 4U + 1'657U);
  EXPECT_EQ(Codec::parse("ef_sign")->encode(values).size(), 1U + 4U + 4U + 1'657U);
}

TEST(EfSignCodec, DecodesToTheMeanMagnitude) {
  EXPECT_EQ(decoded("ef_sign", {1, -2, 3, -6}), (Vector{3, -3, 3, -3}));
  EXPECT_EQ(combined("ef_sign", {{1, -2, 3, -6}, {-1, 1, 1, 1}}), (Vector{2, -2, 4, -2}));
}

}  // namespace
}  // namespace weft::codec_test
