#include "weft/codec/wire_precision.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/codec/loops/codec_loops.h"

namespace weft::wire_precision_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_values(std::size_t size, std::uint64_t seed, double spread = 1.0) {
  Rng rng(seed);
  std::vector<float> values(size);
  for (float& x : values) x = static_cast<float>((rng.uniform() * 2 - 1) * spread);
  return values;
}

std::vector<float> round_trip(WirePrecision precision, const std::vector<float>& values) {
  Bytes bytes(encoded_bytes(precision, values.size()));
  encode(precision, values, bytes);
  std::vector<float> out(values.size(), 77.0F);
  decode(precision, bytes, out);
  return out;
}

float through(WirePrecision precision, float value) { return round_trip(precision, {value})[0]; }

// The nearest value with `bits` of mantissa, by plain arithmetic.
double nearest(double value, int bits, int exponent_min) {
  if (value == 0) return 0;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, exponent_min) - bits);
  return std::nearbyint(value / unit) * unit;
}

TEST(WirePrecision, NamesAreThoseOfTheRecipe) {
  for (const char* name : {"f32", "bf16", "f16", "int8"}) {
    const Result<WirePrecision> parsed = parse_wire_precision(name);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(to_string(*parsed), name);
  }
  EXPECT_EQ(parse_wire_precision("fp8").status().code(), Code::kInvalidArgument);
}

TEST(WirePrecision, SizesAreWhatTheGrammarSays) {
  EXPECT_EQ(encoded_bytes(WirePrecision::kF32, 10), 40U);
  EXPECT_EQ(encoded_bytes(WirePrecision::kBf16, 10), 20U);
  EXPECT_EQ(encoded_bytes(WirePrecision::kInt8, 0), 0U);
  EXPECT_EQ(encoded_bytes(WirePrecision::kInt8, 1), 5U);
  EXPECT_EQ(encoded_bytes(WirePrecision::kInt8, 129), 129U + 8U);
  EXPECT_EQ(elements_in(WirePrecision::kInt8, 1320), 1280U);
  EXPECT_EQ(elements_in(WirePrecision::kF32, 1), kInt8Block);
}

TEST(WirePrecision, HalfPrecisionIsTheNearestOfAll) {
  for (const double spread : {1e-7, 1e-5, 1e-3, 1.0, 3e4}) {
    const std::vector<float> values = random_values(5000, 3, spread);
    const std::vector<float> bf16 = round_trip(WirePrecision::kBf16, values);
    const std::vector<float> f16 = round_trip(WirePrecision::kF16, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<double>(values[i]);
      ASSERT_EQ(static_cast<double>(bf16[i]), nearest(value, 8, -125)) << value;
      ASSERT_EQ(static_cast<double>(f16[i]), nearest(value, 11, -13)) << value;
    }
  }
}

TEST(WirePrecision, EveryHalfSurvivesARoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    Bytes bytes(2);
    std::memcpy(bytes.data(), &half, 2);
    float value = 0;
    for (const WirePrecision precision : {WirePrecision::kBf16, WirePrecision::kF16}) {
      decode(precision, bytes, std::span(&value, 1));
      Bytes again(2);
      encode(precision, std::span<const float>(&value, 1), again);
      if (std::isnan(value)) {
        ASSERT_TRUE(std::isnan(through(precision, value)));
      } else {
        ASSERT_EQ(again, bytes) << bits;
      }
    }
  }
}

TEST(WirePrecision, OddValuesStayWhatTheyAre) {
  for (const WirePrecision precision : {WirePrecision::kBf16, WirePrecision::kF16}) {
    EXPECT_EQ(through(precision, kInf), kInf);
    EXPECT_EQ(through(precision, -kInf), -kInf);
    EXPECT_TRUE(std::isnan(through(precision, kNan)));
    EXPECT_TRUE(std::signbit(through(precision, -0.0F)));
  }
  EXPECT_EQ(through(WirePrecision::kF16, 1e6F), 65504.0F);
  EXPECT_EQ(through(WirePrecision::kF16, -65519.9F), -65504.0F);
  EXPECT_EQ(through(WirePrecision::kF16, 1e-9F), 0.0F);
  // The largest NaN must not carry over into the sign.
  float all_ones = 0;
  const std::uint32_t bits = 0x7fffffffU;
  std::memcpy(&all_ones, &bits, 4);
  EXPECT_TRUE(std::isnan(through(WirePrecision::kBf16, all_ones)));
}

TEST(WirePrecision, Int8IsWithinHalfAStepOfItsBlock) {
  std::vector<float> values = random_values(1000, 5);
  for (std::size_t i = 256; i < 384; ++i) values[i] *= 1e-20F;
  for (std::size_t i = 384; i < 512; ++i) values[i] = 0;
  const std::vector<float> out = round_trip(WirePrecision::kInt8, values);
  for (std::size_t block = 0; block < values.size(); block += kInt8Block) {
    const std::size_t end = std::min(block + kInt8Block, values.size());
    float largest = 0;
    for (std::size_t i = block; i < end; ++i) largest = std::max(largest, std::abs(values[i]));
    for (std::size_t i = block; i < end; ++i) {
      ASSERT_LE(std::abs(out[i] - values[i]), largest / 127.0F * 0.5001F) << i;
    }
  }
}

TEST(WirePrecision, Int8SpoilsABlockThatIsNotFiniteAndOnlyThat) {
  for (const float odd : {kNan, kInf, -kInf}) {
    std::vector<float> values = random_values(300, 6);
    values[130] = odd;
    const std::vector<float> out = round_trip(WirePrecision::kInt8, values);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(std::isnan(out[i]), i >= 128 && i < 256) << i;
    }
  }
  const std::vector<float> tiny(128, 1e-40F);
  EXPECT_EQ(round_trip(WirePrecision::kInt8, tiny)[5], 0.0F);
}

TEST(WirePrecision, EveryInstructionSetGivesTheSameBits) {
  std::vector<float> values = random_values(4321, 8, 100.0);
  values[7] = kNan;
  values[9] = -kInf;
  values[11] = 1e-42F;
  const auto compare = [&](auto encoder, auto decoder, std::size_t bytes) {
    Bytes encoded(bytes);
    (codec_loopsGeneric.*encoder)(values.data(), encoded.data(), values.size());
    std::vector<float> decoded(values.size());
    (codec_loopsGeneric.*decoder)(encoded.data(), decoded.data(), decoded.size());
    for (const auto& [isa, loops] : loops_that_run(codec_loops_tables)) {
      SCOPED_TRACE(static_cast<int>(isa));
      Bytes a(bytes);
      (loops->*encoder)(values.data(), a.data(), values.size());
      EXPECT_EQ(a, encoded);
      std::vector<float> x(values.size());
      (loops->*decoder)(encoded.data(), x.data(), x.size());
      EXPECT_EQ(std::memcmp(x.data(), decoded.data(), x.size() * sizeof(float)), 0);
    }
  };
  const std::size_t size = values.size();
  compare(&CodecLoops::encode_bf16, &CodecLoops::decode_bf16, 2 * size);
  compare(&CodecLoops::encode_f16, &CodecLoops::decode_f16, 2 * size);
  compare(&CodecLoops::encode_int8, &CodecLoops::decode_int8,
          encoded_bytes(WirePrecision::kInt8, size));
}

TEST(ErrorFeedback, WhatIsDroppedComesLater) {
  for (const WirePrecision precision :
       {WirePrecision::kBf16, WirePrecision::kF16, WirePrecision::kInt8}) {
    const std::size_t size = 3000;
    const std::vector<float> input = random_values(size, 11);
    std::vector<float> residual(size, 0.0F);
    std::vector<double> sum(size, 0.0);
    std::vector<double> plain(size, 0.0);
    const std::vector<float> rounded = round_trip(precision, input);
    constexpr int kRounds = 200;
    Bytes bytes(encoded_bytes(precision, size));
    for (int round = 0; round < kRounds; ++round) {
      std::vector<float> values = input;
      encode_keeping(precision, values, bytes, residual);
      std::vector<float> decoded(size);
      decode(precision, bytes, decoded);
      ASSERT_EQ(decoded, values) << "the encoder holds what the others decode";
      for (std::size_t i = 0; i < size; ++i) {
        sum[i] += static_cast<double>(values[i]);
        plain[i] += static_cast<double>(rounded[i]);
      }
    }
    double worst = 0;
    double worst_plain = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const double want = kRounds * static_cast<double>(input[i]);
      worst = std::max(worst, std::abs(sum[i] - want));
      worst_plain = std::max(worst_plain, std::abs(plain[i] - want));
    }
    // One rounding error in all, not one a round.
    EXPECT_LT(worst, 0.02) << to_string(precision);
    EXPECT_GT(worst_plain, 5 * worst) << to_string(precision);
  }
}

TEST(ErrorFeedback, ANumberThatIsNoneIsNotKept) {
  std::vector<float> values = {1.0F, kInf, kNan, 2.0F};
  std::vector<float> residual(4, 0.25F);
  Bytes bytes(encoded_bytes(WirePrecision::kInt8, 4));
  encode_keeping(WirePrecision::kInt8, values, bytes, residual);
  for (const float kept : residual) EXPECT_EQ(kept, 0.0F);
  values = {1.0F, 2.0F, 3.0F, 4.0F};
  encode_keeping(WirePrecision::kInt8, values, bytes, residual);
  EXPECT_NEAR(values[3], 4.0F, 0.02);
}

}  // namespace
}  // namespace weft::wire_precision_test
