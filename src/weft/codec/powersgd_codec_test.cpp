// powersgd: bytes by hand, matrices of low rank, the best projection in the limit, and factors that
// are equal at all members whatever the results are.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_isa_loops.h"
#include "weft/codec/codec.h"
#include "weft/codec/error_feedback.h"
#include "weft/codec/loops/low_rank_loops.h"
#include "weft/codec/test_codec_vectors.h"

namespace weft::powersgd_codec_test {
namespace {

using Vector = std::vector<float>;

std::shared_ptr<const MatrixLayout> layout_of(std::size_t elements,
                                              std::vector<VectorMatrix> matrices) {
  return std::make_shared<const MatrixLayout>(MatrixLayout{elements, std::move(matrices)});
}

Codec powersgd(std::string_view text, std::shared_ptr<const MatrixLayout> layout) {
  return Codec::parse(text)->with_layout(std::move(layout));
}

double squared(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  }
  return sum;
}

// The sum of `rank` products of random vectors; with others for another seed.
Vector low_rank(std::size_t rows, std::size_t cols, std::size_t rank, std::uint64_t seed) {
  Vector values(rows * cols);
  for (std::size_t k = 0; k < rank; ++k) {
    const Vector left = noise(rows, 100 * seed + k);
    const Vector right = noise(cols, 100 * seed + 50 + k);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += left[i / cols] * right[i % cols];
  }
  return values;
}

// The largest difference of the products of `count` vectors of this length from those of
// orthonormal ones.
double deviation(std::span<const float> vectors, std::size_t count) {
  const std::size_t length = vectors.size() / count;
  double largest = 0;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < length; ++i) {
        product += static_cast<double>(vectors[a * length + i]) *
                   static_cast<double>(vectors[b * length + i]);
      }
      largest = std::max(largest, std::abs(product - (a == b ? 1 : 0)));
    }
  }
  return largest;
}

// Members that exchange vectors without a network.
struct Members {
  Members(const Codec& codec, std::size_t count) : encoders(count, ErrorFeedback(codec)) {}

  // One round; the result.
  Vector exchange(const std::vector<Vector>& inputs, std::uint64_t round) {
    Vector sum(inputs.front().size());
    std::vector<Bytes> payloads;
    for (std::size_t i = 0; i < encoders.size(); ++i) {
      encoders[i].open(sum.size(), round);
      payloads.push_back(encoders[i].encode(inputs[i]));
    }
    Vector out(sum.size());
    for (const Bytes& payload : payloads) {
      // Each of them decodes what each sends.
      EXPECT_TRUE(encoders.front().decode(payload, out).ok());
      EXPECT_TRUE(encoders.back().decode(payload, out).ok());
      encoders.front().codec().add(out, sum);
    }
    for (ErrorFeedback& encoder : encoders) {
      encoder.commit();
      encoder.take_result(sum);
    }
    return sum;
  }

  std::vector<ErrorFeedback> encoders;
};

template <class T>
void append(const T& value, Bytes& out) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

// A value, the matrix {1 2, 3 4}, a value.
TEST(PowersgdCodec, ItsBytesByHand) {
  const Codec codec = powersgd("powersgd:rank=1", layout_of(6, {{1, 2, 2}}));
  const Vector values = {7, 1, 2, 3, 4, 8};
  SharedFactors shared = codec.begin_shared(6, 1);
  shared.values = {0.5F, 2};
  shared.mark = 0x04030201;
  Bytes expected = {1, 2, 3, 4};
  // 1 * 0.5 + 2 * 2, 3 * 0.5 + 4 * 2
  for (const float value : {7.0F, 8.0F, 4.5F, 9.5F}) append(value, expected);
  EXPECT_EQ(codec.encode(values, 0, &shared), expected);
  Vector out(6);
  ASSERT_TRUE(codec.decode(expected, out, &shared).ok());
  EXPECT_EQ(out, (Vector{7, 2.25F, 9, 4.75F, 19, 8}));
  // Odd steps: 0.5 * 1 + 2 * 3, 0.5 * 2 + 2 * 4
  shared.steps = 1;
  expected = {1, 2, 3, 4};
  for (const float value : {7.0F, 8.0F, 6.5F, 9.0F}) append(value, expected);
  EXPECT_EQ(codec.encode(values, 0, &shared), expected);
  ASSERT_TRUE(codec.decode(expected, out, &shared).ok());
  EXPECT_EQ(out, (Vector{7, 3.25F, 4.5F, 13, 18, 8}));
}

// 1000 x 500 and 30 x 40 values as factors, 5 x 4 in 14 values less than half as long not, with
// 100 values around them.
TEST(PowersgdCodec, ItsBytesCounted) {
  const std::size_t elements = 500'000 + 1200 + 20 + 100;
  const auto layout = layout_of(elements, {{10, 1000, 500}, {500'020, 30, 40}, {501'220, 5, 4}});
  const Codec codec = powersgd("powersgd:rank=3", layout);
  Members members(codec, 1);
  const Vector values = noise(elements, 1);
  ErrorFeedback& encoder = members.encoders[0];
  const std::size_t even = 4 + 4 * (120 + 3 * (1000 + 30));
  const std::size_t odd = 4 + 4 * (120 + 3 * (500 + 40));
  EXPECT_EQ(codec.bytes_max(elements), even);
  for (std::uint64_t round = 1; round <= 4; ++round) {
    encoder.open(elements, round);
    EXPECT_EQ(encoder.encode(values).size(), round % 2 == 1 ? even : odd);
    encoder.rollback();
    (void)members.exchange({values}, round);
  }
}

// Without a layout of its length a vector counts as one matrix: 113 values as 10 x 11 and 3 more.
TEST(PowersgdCodec, AVectorOfUnknownMatricesIsNearlySquare) {
  const Codec codec = powersgd("powersgd:rank=2", layout_of(6, {{1, 2, 2}}));
  EXPECT_EQ(codec.bytes_max(113), 4U + 4 * (3 + 2 * 11));
  EXPECT_EQ(codec.bytes_max(6), 4U + 4 * 6) << "too small for two vectors";
  EXPECT_EQ(codec.bytes_max(0), 4U);
}

TEST(PowersgdCodec, AMatrixOfItsRankIsWholeAfterTwoSteps) {
  const Codec codec = powersgd("powersgd:rank=3", layout_of(1200, {{0, 30, 40}}));
  Members members(codec, 1);
  const Vector matrix = low_rank(30, 40, 3, 1);
  Vector twice = matrix;
  for (float& value : twice) value *= 2;
  Vector sum = members.exchange({matrix}, 1);
  EXPECT_GT(squared(sum, matrix), 1) << "a step drops something";
  codec.add(members.exchange({matrix}, 2), sum);
  EXPECT_LT(squared(sum, twice), 1e-9);
  EXPECT_LT(squared(*members.encoders[0].residual(), Vector(1200)), 1e-9);
}

// Members with matrices of rank 1 each, which have three directions together.
TEST(PowersgdCodec, TheMembersFactorsSpanWhatTheirSumDoes) {
  const Codec codec = powersgd("powersgd:rank=3", layout_of(1200, {{0, 30, 40}}));
  Members members(codec, 3);
  std::vector<Vector> inputs;
  Vector twice(1200);
  for (std::uint64_t i = 0; i < 3; ++i) {
    inputs.push_back(low_rank(30, 40, 1, i + 2));
    for (std::size_t k = 0; k < twice.size(); ++k) twice[k] += 2 * inputs.back()[k];
  }
  Vector sum = members.exchange(inputs, 1);
  codec.add(members.exchange(inputs, 2), sum);
  EXPECT_LT(squared(sum, twice), 1e-8);
}

// With the warm start a projection becomes the best of its rank, which drops the squares of all
// singular values but the largest (Eckart and Young); those of this matrix are on its diagonal.
TEST(PowersgdCodec, WarmStartsLeadToTheBestProjection) {
  const Codec codec = powersgd("powersgd:rank=2", layout_of(16 * 12, {{0, 16, 12}}));
  Vector matrix(16 * 12);
  double best = 0;
  for (std::size_t k = 0; k < 12; ++k) {
    matrix[k * 12 + k] = std::ldexp(1.0F, -static_cast<int>(k));
    if (k >= 2) best += std::ldexp(1.0, -2 * static_cast<int>(k));
  }
  SharedFactors shared = codec.begin_shared(matrix.size(), 1);
  double loss = 0;
  double first = 0;
  for (int step = 0; step < 20; ++step) {
    Vector out(matrix.size());
    ASSERT_TRUE(codec.decode(codec.encode(matrix, 0, &shared), out, &shared).ok());
    loss = squared(matrix, out);
    EXPECT_GT(loss, best * (1 - 1e-5)) << "none is better";
    if (step == 0) first = loss;
    shared = codec.next_shared(shared, out, 1);
    EXPECT_EQ(shared.steps, static_cast<std::uint64_t>(step) + 1);
    EXPECT_LT(deviation(shared.values, 2), 1e-6);
  }
  EXPECT_GT(first, 2 * best);
  EXPECT_LT(loss, best * 1.001);
}

// What all received and what members keep is what they gave, within roundings; all agree.
TEST(PowersgdCodec, NothingIsLostWhileFactorsTakeTurns) {
  const auto layout = layout_of(1300, {{20, 30, 40}});
  Members members(powersgd("powersgd:rank=2", layout), 3);
  std::vector<double> given(1300);
  std::vector<double> received(1300);
  for (std::uint64_t round = 1; round <= 40; ++round) {
    std::vector<Vector> inputs;
    for (std::uint64_t i = 0; i < 3; ++i) {
      inputs.push_back(noise(1300, 10 * round + i));
      for (std::size_t k = 0; k < given.size(); ++k) {
        given[k] += static_cast<double>(inputs.back()[k]);
      }
    }
    const Vector sum = members.exchange(inputs, round);
    for (std::size_t k = 0; k < sum.size(); ++k) received[k] += static_cast<double>(sum[k]);
    for (const ErrorFeedback& each : members.encoders) {
      EXPECT_EQ(each.shared()->mark, members.encoders[0].shared()->mark);
      EXPECT_EQ(each.shared()->values, members.encoders[0].shared()->values);
    }
  }
  for (std::size_t k = 0; k < given.size(); ++k) {
    double kept = 0;
    for (const ErrorFeedback& each : members.encoders) {
      kept += static_cast<double>((*each.residual())[k]);
    }
    ASSERT_NEAR(received[k] + kept, given[k], 1e-3) << k;
  }
}

TEST(PowersgdCodec, ARollbackLeavesTheFactorsAlone) {
  const Codec codec = powersgd("powersgd:rank=2", layout_of(1200, {{0, 30, 40}}));
  Members members(codec, 1);
  (void)members.exchange({noise(1200, 1)}, 1);
  ErrorFeedback& encoder = members.encoders[0];
  const SharedFactors before = *encoder.shared();
  encoder.open(1200, 2);
  const Bytes first = encoder.encode(noise(1200, 2));
  encoder.rollback();
  encoder.open(1200, 3);
  EXPECT_EQ(encoder.encode(noise(1200, 2)), first);
  EXPECT_EQ(encoder.shared()->values, before.values);
  EXPECT_EQ(encoder.shared()->mark, before.mark);
  encoder.rollback();
  encoder.forget_shared();
  encoder.open(1200, 3);
  EXPECT_EQ(encoder.shared()->steps, 0U);
  EXPECT_EQ(encoder.shared()->values, codec.begin_shared(1200, 3).values);
  EXPECT_NE(encoder.shared()->mark, before.mark);
}

TEST(PowersgdCodec, RefusesAFactorAgainstOthers) {
  const Codec codec = powersgd("powersgd:rank=2", layout_of(1610, {{0, 40, 40}}));
  const SharedFactors shared = codec.begin_shared(1610, 1);
  const SharedFactors other = codec.begin_shared(1610, 2);
  const Vector values = noise(1610, 1);
  const Bytes payload = codec.encode(values, 0, &shared);
  Vector out(1610);
  EXPECT_TRUE(codec.decode(payload, out, &shared).ok());
  EXPECT_EQ(codec.decode(payload, out, &other).code(), Code::kCorrupt);
  const SharedFactors next = codec.next_shared(shared, values, 1);
  EXPECT_EQ(codec.decode(payload, out, &next).code(), Code::kCorrupt) << "of the step before";
  // A matrix of the same sizes, in another place.
  const Codec elsewhere = powersgd("powersgd:rank=2", layout_of(1610, {{10, 40, 40}}));
  const SharedFactors theirs = elsewhere.begin_shared(1610, 1);
  EXPECT_EQ(theirs.values, shared.values);
  EXPECT_EQ(codec.decode(elsewhere.encode(values, 0, &theirs), out, &shared).code(),
            Code::kCorrupt);
}

// What is not finite spoils its matrix with the one NaN that is the same on every processor.
TEST(PowersgdCodec, WhatIsNotFiniteBecomesOneNaN) {
  const Codec codec = powersgd("powersgd:rank=1", layout_of(4, {{0, 2, 2}}));
  SharedFactors shared = codec.begin_shared(4, 1);
  shared.values = {0.5F, 2};
  shared.mark = 0x04030201;
  Bytes expected = {1, 2, 3, 4};
  append(std::uint32_t{0x7fc00000}, expected);
  append(9.5F, expected);
  for (const float odd : {INFINITY, -INFINITY, std::nanf("1"), -std::nanf("")}) {
    EXPECT_EQ(codec.encode(Vector{odd, 2, 3, 4}, 0, &shared), expected) << odd;
  }
  Vector out(4);
  for (const std::uint32_t bits : {0x7fc00001U, 0xffc00000U}) {
    Bytes strange = {1, 2, 3, 4};
    append(bits, strange);
    append(9.5F, strange);
    ASSERT_TRUE(codec.decode(strange, out, &shared).ok());
    EXPECT_EQ(std::bit_cast<std::uint32_t>(out[0]), 0x7fc00000U);
    EXPECT_EQ(out[3], 19);
  }
  Bytes infinite = {1, 2, 3, 4};
  append(INFINITY, infinite);
  append(9.5F, infinite);
  EXPECT_EQ(codec.decode(infinite, out, &shared).code(), Code::kCorrupt);
}

// Results that give no vectors, or fewer than the rank, or none that is a number: the next ones are
// orthonormal all the same, and the same at all that have this result and seed.
TEST(PowersgdCodec, WhateverTheResultTheNextFactorsAreOrthonormal) {
  const Codec codec = powersgd("powersgd:rank=3", layout_of(1200, {{0, 30, 40}}));
  Vector spoilt = noise(1200, 1);
  spoilt[77] = std::numeric_limits<float>::quiet_NaN();
  Vector infinite = noise(1200, 1);
  infinite[78] = std::numeric_limits<float>::infinity();
  const Vector huge(1200, std::numeric_limits<float>::max());
  const Vector tiny(1200, std::numeric_limits<float>::denorm_min());
  for (const Vector& result :
       {Vector(1200), low_rank(30, 40, 1, 1), spoilt, infinite, huge, tiny, noise(1200, 3)}) {
    SharedFactors shared = codec.begin_shared(1200, 5);
    EXPECT_LT(deviation(shared.values, 3), 1e-6);
    for (int step = 0; step < 3; ++step) {
      const SharedFactors again = codec.next_shared(shared, result, 9);
      shared = codec.next_shared(shared, result, 9);
      EXPECT_EQ(again.values, shared.values);
      EXPECT_EQ(again.mark, shared.mark);
      EXPECT_EQ(shared.values.size(), 3U * (step % 2 == 0 ? 30 : 40));
      EXPECT_LT(deviation(shared.values, 3), 1e-6);
    }
  }
}

TEST(PowersgdCodec, EveryInstructionSetGivesTheSameBits) {
  for (const std::size_t cols : {1U, 15U, 16U, 17U, 100U}) {
    const std::size_t rows = 23;
    const Vector matrix = noise(rows * cols, 1);
    const Vector left = noise(3 * rows, 2);
    const Vector right = noise(3 * cols, 3);
    std::vector<double> first;
    for (const auto& [isa, loops] : loops_that_run(low_rank_loops_tables)) {
      std::vector<double> made(rows + cols);
      loops->times_right({matrix.data(), rows, cols}, right.data(), made.data());
      loops->times_left({matrix.data(), rows, cols}, left.data(), made.data() + rows);
      Vector product(rows * cols);
      loops->outer(left.data(), right.data(), 3, rows, cols, product.data());
      made.insert(made.end(), product.begin(), product.end());
      if (first.empty()) first = made;
      EXPECT_EQ(made, first) << static_cast<int>(isa) << ", " << cols << " columns";
    }
    for (std::size_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < cols; ++j) {
        sum += static_cast<double>(matrix[i * cols + j]) * static_cast<double>(right[j]);
      }
      EXPECT_NEAR(first[i], sum, 1e-12);
    }
    for (std::size_t j = 0; j < cols; ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        sum += static_cast<double>(matrix[i * cols + j]) * static_cast<double>(left[i]);
      }
      EXPECT_NEAR(first[rows + j], sum, 1e-12);
    }
  }
}

}  // namespace
}  // namespace weft::powersgd_codec_test
