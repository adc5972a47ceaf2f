// sparseloco against bytes by hand, counted bytes and a sort.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/codec/codec.h"
#include "weft/codec/test_codec_vectors.h"

namespace weft::sparseloco_codec_test {
namespace {

using Vector = std::vector<float>;

constexpr std::size_t kChunk = 4096;
constexpr std::size_t kGroup = 65'536;

// The mean magnitude of 3, 1 and 2 is 2, so low is 1 and high the mean of 3 and 2. Bits from the
// lowest: not full, three values in 12 bits, then places of 12 bits with the sign and the size:
// 0 + high, 2 - low, 3 + high.
const Bytes kByHand = {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0x40, 0x06, 0, 0, 0x14, 0x80, 0x06, 0x40};

TEST(SparselocoCodec, ABytesLayoutByHand) {
  const Codec codec = *Codec::parse("sparseloco:keep=4096");
  EXPECT_EQ(codec.encode(Vector{3, 0, -1, 2}), kByHand);
  EXPECT_EQ(decoded("sparseloco:keep=4096", {3, 0, -1, 2}), (Vector{2.5F, 0, -1, 2.5F}));
}

// 64 of 4,096 values in 14 bits and one bit: 897 bits a chunk; 8 bytes a group.
TEST(SparselocoCodec, TakesWhatIsCounted) {
  const auto bytes = [](std::string_view text, std::size_t elements) {
    const Codec codec = *Codec::parse(text);
    const std::size_t count = codec.encode(noise(elements, 3)).size();
    EXPECT_EQ(count, codec.bytes_max(elements)) << text;
    return count;
  };
  EXPECT_EQ(bytes("sparseloco", kGroup), 8U + 16U * 897U / 8U);
  EXPECT_EQ(bytes("sparseloco", kGroup), 1802U);
  EXPECT_EQ(bytes("sparseloco", kChunk), 8U + 113U);
  EXPECT_EQ(bytes("sparseloco", kChunk + 1), 8U + (897U + 15U) / 8U);
  EXPECT_EQ(bytes("sparseloco", 10 * kGroup + 64), 10U * 1802U + 8U + 2U);
  EXPECT_EQ(bytes("sparseloco:keep=1", kGroup), 8U + 16U * 15U / 8U);
  EXPECT_NEAR(4.0 * kGroup / 1802, 145.5, 0.05);
  EXPECT_NEAR(32.0 * kChunk / (64 * 14), 146.3, 0.05) << "without levels and counts";
}

// The oracle sorts the places of each chunk by magnitude and splits the values at their mean.
TEST(SparselocoCodec, KeepsTheLargestInTwoSizes) {
  const Vector values = noise(5 * kChunk, 4);
  Vector kept(values.size());
  for (std::size_t at = 0; at < values.size(); at += kChunk) {
    std::vector<std::size_t> order(kChunk);
    std::iota(order.begin(), order.end(), at);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return std::abs(values[a]) > std::abs(values[b]);
    });
    for (std::size_t i = 0; i < 64; ++i) kept[order[i]] = values[order[i]];
  }
  double mean = 0;
  for (const float value : kept) mean += std::abs(static_cast<double>(value)) / (5 * 64);
  std::vector<double> sums(2);
  std::vector<double> counts(2);
  for (const float value : kept) {
    const double size = std::abs(static_cast<double>(value));
    if (size == 0) continue;
    sums[size >= mean ? 1 : 0] += size;
    counts[size >= mean ? 1 : 0] += 1;
  }
  const Vector out = decoded("sparseloco", values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double size = std::abs(static_cast<double>(kept[i]));
    const std::size_t level = size >= mean ? 1 : 0;
    const double expected = size == 0 ? 0 : std::copysign(sums[level] / counts[level], kept[i]);
    ASSERT_NEAR(static_cast<double>(out[i]), expected, 1e-7) << i;
  }
}

TEST(SparselocoCodec, ZerosStayZeros) {
  Vector values = noise(3 * kChunk, 5);
  std::fill(values.begin() + kChunk, values.begin() + 2 * kChunk, 0.0F);
  values[kChunk + 7] = 0.25F;
  const Vector out = decoded("sparseloco", values);
  for (std::size_t i = kChunk; i < 2 * kChunk; ++i) {
    ASSERT_EQ(out[i] != 0, i == kChunk + 7) << i;
  }
}

TEST(SparselocoCodec, WhatIsNotFiniteSpoilsItsGroupOnly) {
  Vector values = noise(3 * kGroup, 6);
  values[kGroup + 5] = -std::numeric_limits<float>::infinity();
  const Vector out = decoded("sparseloco", values);
  for (std::size_t i = 0; i < out.size(); i += 1000) {
    ASSERT_EQ(std::isnan(out[i]), i / kGroup == 1) << i;
  }
}

// A tiny value beside a huge one: the lower mean is a sum of its own, not what is left of another.
TEST(SparselocoCodec, LevelsOfAnySizesDecode) {
  EXPECT_EQ(decoded("sparseloco:keep=4096", {3e38F, 1e-38F, -1e-38F}),
            (Vector{3e38F, 1e-38F, -1e-38F}));
}

TEST(SparselocoCodec, RefusesWhatNoEncoderGives) {
  const Codec codec = *Codec::parse("sparseloco:keep=4096");
  Vector out(4);
  const auto code = [&](std::size_t at, std::uint8_t byte) {
    Bytes bytes = kByHand;
    bytes[at] = byte;
    return codec.decode(bytes, out).code();
  };
  EXPECT_EQ(code(0, 0), Code::kOk);
  EXPECT_EQ(code(3, 0x41), Code::kCorrupt) << "low above high";
  EXPECT_EQ(code(3, 0xbf), Code::kCorrupt) << "low below zero";
  EXPECT_EQ(code(7, 0xc0), Code::kCorrupt) << "high below zero";
  EXPECT_EQ(code(8, 0x08), Code::kCorrupt) << "a count that is full";
  EXPECT_EQ(code(13, 0x04), Code::kCorrupt) << "place 2 twice";
  EXPECT_EQ(code(11, 0x34), Code::kCorrupt) << "place 6 of 4";
  EXPECT_EQ(code(14, 0xc0), Code::kCorrupt) << "a bit after the end";
  const auto lone = [&](const Bytes& bytes) { return codec.decode(bytes, out).code(); };
  EXPECT_EQ(lone({0, 0, 0, 0, 0, 0, 0, 0}), Code::kOk);
  EXPECT_EQ(out, Vector(4, 0.0F));
  EXPECT_EQ(lone({0, 0, 0, 0x80, 0, 0, 0, 0}), Code::kCorrupt) << "-0";
  EXPECT_EQ(lone({0, 0, 0xc0, 0x7f, 0, 0, 0xc0, 0x7f}), Code::kOk);
  EXPECT_EQ(lone({1, 0, 0xc0, 0x7f, 0, 0, 0xc0, 0x7f}), Code::kCorrupt) << "another NaN";
  EXPECT_EQ(lone({0, 0, 0x80, 0x7f, 0, 0, 0x80, 0x7f}), Code::kCorrupt) << "infinite";
}

}  // namespace
}  // namespace weft::sparseloco_codec_test
