// The cosine transform against its definition, and the codec against bytes and values by hand.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/codec/codec.h"
#include "weft/codec/loops/cosine_transform.h"
#include "weft/codec/test_codec_vectors.h"

namespace weft::dct_codec_test {
namespace {

using Vector = std::vector<float>;

double distance(const Vector& a, const Vector& b) {
  double squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    squares += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  }
  return std::sqrt(squares);
}

double norm(const Vector& values) { return distance(values, Vector(values.size())); }

// By the definition.
double coefficient(const std::vector<double>& values, std::size_t lane, std::size_t k) {
  const std::size_t length = values.size() / kCosineLanes;
  const auto size = static_cast<double>(length);
  double sum = 0;
  for (std::size_t n = 0; n < length; ++n) {
    const double turn = static_cast<double>((2 * n + 1) * k % (4 * length)) / (2 * size);
    sum += values[n * kCosineLanes + lane] * std::cos(std::numbers::pi * turn);
  }
  return sum * std::sqrt((k == 0 ? 1 : 2) / size);
}

TEST(CosineTransform, CosinesAreThoseOfTheLibrary) {
  for (std::size_t denominator = 1; denominator < 60; ++denominator) {
    for (std::size_t numerator = 0; numerator < 5 * denominator; ++numerator) {
      const double angle = std::numbers::pi * static_cast<double>(numerator % (2 * denominator)) /
                           static_cast<double>(denominator);
      EXPECT_NEAR(cosine_of_pi(numerator, denominator), std::cos(angle), 2e-15);
    }
  }
  EXPECT_EQ(cosine_of_pi(0, 1), 1);
  EXPECT_EQ(cosine_of_pi(1, 2), 0);
  EXPECT_EQ(cosine_of_pi(1, 1), -1);
  EXPECT_NEAR(cosine_of_pi(1, 3), 0.5, 1e-16);
}

TEST(CosineTransform, IsItsDefinitionAndComesBack) {
  std::vector<std::size_t> lengths = {96, 127, 320, 1024, 4096};
  for (std::size_t length = 1; length <= 40; ++length) lengths.push_back(length);
  for (const std::size_t length : lengths) {
    const Vector drawn = noise(kCosineLanes * length, length);
    const std::vector<double> values(drawn.begin(), drawn.end());
    CosineTransform transform(length);
    std::vector<double> changed = values;
    transform.forward(changed);
    const std::size_t step = length > 100 ? 37 : 1;
    for (std::size_t k = 0; k < length; k += step) {
      for (std::size_t lane = 0; lane < kCosineLanes; ++lane) {
        ASSERT_NEAR(changed[k * kCosineLanes + lane], coefficient(values, lane, k), 1e-11)
            << length << ", " << k;
      }
    }
    transform.inverse(changed);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(changed[i], values[i], 1e-11);
  }
}

// Parseval.
TEST(CosineTransform, KeepsTheSumOfSquares) {
  for (const std::size_t length : {3U, 64U, 100U, 4096U}) {
    const Vector drawn = noise(kCosineLanes * length, length);
    std::vector<double> values(drawn.begin(), drawn.end());
    const double before = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
    CosineTransform(length).forward(values);
    const double after = std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
    EXPECT_NEAR(after, before, 1e-10 * before) << length;
  }
}

TEST(CosineTransform, EveryInstructionSetGivesTheSameBits) {
  constexpr std::size_t kLength = 48;
  const Vector drawn = noise(kCosineLanes * kLength, 8);
  const std::vector<double> values(drawn.begin(), drawn.end());
  std::vector<double> secants(kLength);
  for (std::size_t i = 0; i < kLength; ++i) secants[i] = 0.5 + 0.1 * static_cast<double>(i);
  const std::vector<double> cosines(drawn.begin(), drawn.begin() + 12);
  const CosineFactors factors{.odd = 3, .secants = secants.data(), .cosines = cosines.data()};
  std::vector<std::uint32_t> sizes(100);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = static_cast<std::uint32_t>(i * 2654435761U) & 0x7fffffffU;
  }
  std::vector<std::vector<double>> results;
  for (const auto& [isa, loops] : loops_that_run(codec_loops_tables)) {
    std::vector<double> work(values.size());
    std::vector<double> forward = values;
    loops->cosine_forward(forward.data(), work.data(), kLength, factors);
    std::vector<double> inverse = values;
    loops->cosine_inverse(inverse.data(), work.data(), kLength, factors);
    forward.insert(forward.end(), inverse.begin(), inverse.end());
    forward.push_back(loops->least_kept(sizes.data(), sizes.size(), 20));
    results.push_back(std::move(forward));
  }
  for (const auto& result : results) EXPECT_EQ(result, results.front());
}

// The coefficients of 1 1 1 1 are 2 0 0 0. 2/127 is 1.00787 / 64, which rounds up to 130/128 / 64,
// 0x3c82; 2 over that is 126.03. Equal coefficients are kept from the first on.
TEST(DctCodec, BytesOfAConstantByHand) {
  const Codec codec = *Codec::parse("dct:chunk=4:keep=2");
  const Bytes bytes = codec.encode(Vector{1, 1, 1, 1});
  // Places in two bits and sizes in eight, lowest first: 0, 126, 1, 0 are 126 << 2 | 1 << 10.
  EXPECT_EQ(bytes, (Bytes{0x82, 0x3c, 0xf8, 0x05, 0x00}));
  const float value = 126 * 0.015869140625F / 2;
  EXPECT_EQ(decoded("dct:chunk=4:keep=2", {1, 1, 1, 1}), Vector(4, value));
}

// -3 -1 has the coefficients -4/sqrt(2) and -2/sqrt(2). 2.82843 rounds to 0x4035, 2.828125.
TEST(DctCodec, BytesOfSignsByHand) {
  const Codec codec = *Codec::parse("dct:chunk=2:keep=1:sign=1");
  const Bytes bytes = codec.encode(Vector{-3, -1, 0, 0, 5});
  // Place 0 and the sign are the bits 0 1; two zeros have a scale of 0; 5 is a chunk of one value
  // whose place has no bits, 0x40a0. All follow one another without gaps.
  EXPECT_EQ(bytes, (Bytes{0x35, 0x40, 0b10, 0x00, 0x80, 0x02, 0x01}));
  const Vector out = decoded("dct:chunk=2:keep=1:sign=1", {-3, -1, 0, 0, 5});
  EXPECT_NEAR(out[0], -2.828125 / std::numbers::sqrt2, 1e-6);
  EXPECT_EQ(out[0], out[1]);
  EXPECT_EQ((Vector{out.begin() + 2, out.end()}), (Vector{0, 0, 5}));
}

TEST(DctCodec, TakesWhatItsOptionsSay) {
  const auto bytes = [](std::string_view text, std::size_t elements) {
    const Codec codec = *Codec::parse(text);
    const std::size_t count = codec.encode(noise(elements, 3)).size();
    EXPECT_EQ(count, codec.bytes_max(elements)) << text;
    return count;
  };
  // A chunk has 16 bits, and for each coefficient the place and 8 bits or one.
  EXPECT_EQ(bytes("dct", 64'000), 64'000 / 64 * 16);
  EXPECT_EQ(bytes("dct:sign=1", 64'000), 64'000 / 64 * 9);
  EXPECT_EQ(bytes("dct:chunk=4096:keep=8:sign=1", 409'600), 100 * 15);
  EXPECT_EQ(bytes("dct:chunk=4096:keep=32", 409'600), 100 * (2 + 32 * 20 / 8));
  // A last chunk of five values: places of three bits.
  EXPECT_EQ(bytes("dct", 69), 16 + 2 + (5 * 11 + 7) / 8);
}

// A vector that is one cosine is one coefficient; its size is off by half a 126th at most.
TEST(DctCodec, ACosineComesBackFromOneCoefficient) {
  for (const std::size_t k : {1U, 5U, 63U}) {
    Vector values(64);
    for (std::size_t n = 0; n < 64; ++n) {
      values[n] = static_cast<float>(
          3 * std::cos(std::numbers::pi / 128 * static_cast<double>((2 * n + 1) * k)));
    }
    EXPECT_LE(distance(decoded("dct:keep=1", values), values), norm(values) / 252);
    // Its mean magnitude is the coefficient itself, rounded to eight bits.
    EXPECT_LE(distance(decoded("dct:keep=1:sign=1", values), values), norm(values) / 256);
  }
}

// What is left behind are the smallest coefficients, computed by the definition.
TEST(DctCodec, KeepsTheLargestCoefficients) {
  const Vector values = noise(64, 5);
  std::vector<double> block(kCosineLanes * 64);
  for (std::size_t n = 0; n < 64; ++n) block[n * kCosineLanes] = static_cast<double>(values[n]);
  std::vector<double> squares(64);
  for (std::size_t k = 0; k < 64; ++k) squares[k] = std::pow(coefficient(block, 0, k), 2);
  std::ranges::sort(squares);
  const double left = std::accumulate(squares.begin(), squares.begin() + 56, 0.0);
  const double scale = std::sqrt(squares.back()) / 126;
  const double loss = std::pow(distance(decoded("dct", values), values), 2);
  EXPECT_GE(loss, left * (1 - 1e-6));
  EXPECT_LE(loss, left + 8 * scale * scale / 4);
}

TEST(DctCodec, LosesLessOfASmoothVectorThanTopkInAsManyBytes) {
  Vector values(65'536);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<double>(i);
    values[i] = static_cast<float>(std::sin(at / 40) + 0.5 * std::sin(at / 9));
  }
  const std::string topk = "topk:ratio=0.05";
  EXPECT_LT(Codec::parse("dct")->encode(values).size(), Codec::parse(topk)->encode(values).size());
  EXPECT_LT(distance(decoded("dct", values), values), 0.1 * norm(values));
  EXPECT_GT(distance(decoded(topk, values), values), 0.8 * norm(values));
}

TEST(DctCodec, TheLargestFloatsAndTheSmallest) {
  constexpr float kMost = std::numeric_limits<float>::max();
  EXPECT_LE(norm(decoded("dct:keep=64", Vector(64, kMost))), norm(Vector(64, kMost)) * 1.01);
  for (const float value : decoded("dct:chunk=4096:keep=1:sign=1", Vector(4096, -kMost))) {
    // The coefficient is 64 times as large, and the scale at most about the largest float.
    ASSERT_NEAR(static_cast<double>(value / kMost), -1.0 / 64, 1e-4);
  }
  EXPECT_EQ(decoded("dct", Vector(70, 1e-38F)), Vector(70, 0.0F));
  Vector values(130, 1.0F);
  values[70] = -std::numeric_limits<float>::infinity();
  const Vector out = decoded("dct", values);
  for (std::size_t i = 0; i < 130; ++i) EXPECT_EQ(std::isnan(out[i]), i / 64 == 1) << i;
}

TEST(DctCodec, RefusesWhatNoEncoderGives) {
  Vector out(4);
  const Codec codec = *Codec::parse("dct:chunk=4:keep=2");
  const auto code = [&](const Bytes& bytes) { return codec.decode(bytes, out).code(); };
  EXPECT_EQ(code({0x82, 0x3c, 0xf8, 0x05, 0x00}), Code::kOk);
  EXPECT_EQ(code({0x82, 0xbc, 0xf8, 0x05, 0x00}), Code::kCorrupt) << "a scale below zero";
  EXPECT_EQ(code({0x80, 0x7f, 0xf8, 0x05, 0x00}), Code::kCorrupt) << "an infinite scale";
  EXPECT_EQ(code({0x7f, 0x0d, 0xf8, 0x05, 0x00}), Code::kCorrupt) << "a scale below 2^-100";
  EXPECT_EQ(code({0x82, 0x3c, 0xf9, 0x05, 0x00}), Code::kCorrupt) << "place 1 twice";
  EXPECT_EQ(code({0x82, 0x3c, 0xf4, 0x05, 0x00}), Code::kCorrupt) << "no size is above 125";
  EXPECT_EQ(code({0x82, 0x3c, 0x00, 0x06, 0x00}), Code::kCorrupt) << "a size of -128";
  EXPECT_EQ(code({0x82, 0x3c, 0xf8, 0x05, 0x10}), Code::kCorrupt) << "a bit after the end";
  EXPECT_EQ(code({0, 0}), Code::kOk);
  EXPECT_EQ(out, Vector(4, 0.0F));
  EXPECT_EQ(code({0xc0, 0x7f}), Code::kOk);
  EXPECT_EQ(code({0xc1, 0x7f}), Code::kCorrupt) << "another NaN";
}

}  // namespace
}  // namespace weft::dct_codec_test
