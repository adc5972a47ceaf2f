// The innermost loops: every instruction set gives the same bits, and the values are right.
#include "weft/kernel/core/rows.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/elementwise/elementwise.h"

namespace weft::rows_test {
namespace {

[[maybe_unused]] std::vector<float> random_floats(std::size_t count, std::uint64_t seed, double low,
                                                  double high) {
  Rng rng(seed, 0);
  std::vector<float> result(count);
  for (float& value : result) value = static_cast<float>(low + (high - low) * rng.uniform());
  return result;
}

// The distance of `got` from `want` in units in the last place of a float of that size.
double ulps(float got, double want) {
  const float near = static_cast<float>(want);
  const double unit = static_cast<double>(
      std::nextafter(std::abs(near), std::numeric_limits<float>::infinity()) - std::abs(near));
  return std::abs(static_cast<double>(got) - want) / unit;
}

float exp_one(float x) {
  float y = 0;
  row_kernelsGeneric.exp_shifted[0](&x, 0.0, &y, 1);
  return y;
}

TEST(ExpRow, IsWithinOneAndAHalfUnits) {
  double worst = 0;
  for (int i = 0; i < 128'000; ++i) {
    const float x = -87.0F + 0.00137F * static_cast<float>(i);
    worst = std::max(worst, ulps(exp_one(x), std::exp(static_cast<double>(x))));
  }
  EXPECT_LT(worst, 1.5);
}

TEST(ExpRow, EndsWell) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp_one(0.0F), 1.0F);
  EXPECT_EQ(exp_one(-inf), 0.0F);
  EXPECT_EQ(exp_one(-1e30F), 0.0F);
  EXPECT_EQ(exp_one(inf), inf);
  EXPECT_EQ(exp_one(1e30F), inf);
  EXPECT_TRUE(std::isnan(exp_one(std::numeric_limits<float>::quiet_NaN())));
  // Below the smallest normal float.
  EXPECT_NEAR(exp_one(-100.0F) / std::exp(-100.0), 1.0, 0.02);
}

TEST(TanhRow, IsAccurateEverywhere) {
  const auto check = [](float x) {
    float y = 0;
    const RunOperand operand{&x, 1};
    row_kernelsGeneric.unary[static_cast<std::size_t>(UnaryOp::kTanh)][0](&operand, &y, 1, nullptr);
    ASSERT_LT(ulps(y, std::tanh(static_cast<double>(x))), 2.5) << x;
    ASSERT_LE(std::abs(y), 1.0F) << x;
    ASSERT_EQ(std::signbit(y), std::signbit(x)) << x;
  };
  for (int i = 0; i < 21'000; ++i) check(-12.0F + 0.00113F * static_cast<float>(i));
  for (float x = 0x1p-126F; x < 2.0F; x *= 1.37F) check(-x);
  check(-0.0F);
}

float unary_one(UnaryOp op, float x, std::array<double, 2> scalars = {}) {
  float y = 0;
  const RunOperand operand{&x, 1};
  row_kernelsGeneric.unary[static_cast<std::size_t>(op)][0](&operand, &y, 1, scalars.data());
  return y;
}

struct Accuracy {
  UnaryOp op;
  double (*exact)(double);
  double low;
  double high;
  double ulps_max;
};

TEST(UnaryRows, AreAsAccurateAsTheyClaim) {
  const auto log = [](double x) { return std::log(x); };
  const auto erf = [](double x) { return std::erf(x); };
  const auto expm1 = [](double x) { return std::expm1(x); };
  const auto gelu = [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto log_sigmoid = [](double x) {
    return x > 0 ? -std::log1p(std::exp(-x)) : x - std::log1p(std::exp(x));
  };
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  const auto mish = [](double x) { return x * std::tanh(std::log1p(std::exp(x))); };
  for (const Accuracy& row :
       std::vector<Accuracy>{{UnaryOp::kLog, log, 1e-39, 3.0, 1.5},
                             {UnaryOp::kLog, log, 0.9, 1.1, 1.5},
                             {UnaryOp::kLog, log, 1.0, 3e38, 1.5},
                             {UnaryOp::kErf, erf, -5.0, 5.0, 7.0},
                             {UnaryOp::kErf, erf, -1e-3, 1e-3, 4.0},
                             {UnaryOp::kExpm1, expm1, -20.0, 80.0, 6.0},
                             {UnaryOp::kGelu, gelu, -2.0, 30.0, 8.0},
                             {UnaryOp::kGelu, gelu, -12.0, -2.0, 80.0},  // of the rounded square
                             {UnaryOp::kSigmoid, sigmoid, -80.0, 30.0, 4.0},
                             {UnaryOp::kLogSigmoid, log_sigmoid, -30.0, 80.0, 4.0},
                             {UnaryOp::kSilu, silu, -80.0, 30.0, 5.0},
                             {UnaryOp::kMish, mish, -15.0, 30.0, 8.0}}) {
    double worst = 0;
    for (int i = 0; i <= 40'000; ++i) {
      const auto x = static_cast<float>(row.low + (row.high - row.low) * i / 40'000.0);
      worst = std::max(worst, ulps(unary_one(row.op, x), row.exact(static_cast<double>(x))));
    }
    EXPECT_LT(worst, row.ulps_max) << static_cast<int>(row.op) << " from " << row.low;
  }
}

TEST(UnaryRows, EndWell) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(unary_one(UnaryOp::kLog, 0.0F), -inf);
  EXPECT_EQ(unary_one(UnaryOp::kLog, inf), inf);
  EXPECT_TRUE(std::isnan(unary_one(UnaryOp::kLog, -1.0F)));
  EXPECT_EQ(unary_one(UnaryOp::kTanh, 100.0F), 1.0F);
  EXPECT_EQ(unary_one(UnaryOp::kTanh, -inf), -1.0F);
  EXPECT_EQ(unary_one(UnaryOp::kErf, inf), 1.0F);
  EXPECT_EQ(unary_one(UnaryOp::kErf, -1e20F), -1.0F);
  EXPECT_EQ(unary_one(UnaryOp::kSigmoid, -inf), 0.0F);
  EXPECT_EQ(unary_one(UnaryOp::kGelu, 100.0F), 100.0F);
  EXPECT_EQ(unary_one(UnaryOp::kGelu, -100.0F), 0.0F);
  EXPECT_EQ(unary_one(UnaryOp::kMish, 100.0F), 100.0F);
  EXPECT_EQ(unary_one(UnaryOp::kSoftplus, 1000.0F, {1.0, 20.0}), 1000.0F);
  EXPECT_EQ(unary_one(UnaryOp::kSoftplus, -1000.0F, {1.0, 20.0}), 0.0F);
  EXPECT_EQ(unary_one(UnaryOp::kRound, 2.5F), 2.0F);
  EXPECT_EQ(unary_one(UnaryOp::kRound, -1e30F), -1e30F);
  EXPECT_EQ(unary_one(UnaryOp::kSign, -0.0F), 0.0F);
  for (const UnaryOp op : {UnaryOp::kExp, UnaryOp::kLog, UnaryOp::kTanh, UnaryOp::kErf,
                           UnaryOp::kSigmoid, UnaryOp::kGelu, UnaryOp::kGeluTanh, UnaryOp::kSilu,
                           UnaryOp::kMish, UnaryOp::kSign, UnaryOp::kExpm1, UnaryOp::kClamp}) {
    EXPECT_TRUE(std::isnan(unary_one(op, nan))) << static_cast<int>(op);
  }
}

float gelu_slope(float x) {
  const float dy = 1.0F;
  const RunOperand operands[] = {{&dy, 1}, {&x, 1}};
  float y = 0;
  row_kernelsGeneric.binary[static_cast<std::size_t>(BinaryOp::kGeluGradient)][0](operands, &y, 1,
                                                                                  nullptr);
  return y;
}

TEST(GeluGradient, IsAccurateBesideItsTwoTerms) {
  for (int i = 0; i <= 40'000; ++i) {
    const float x = -14.0F + 0.001F * static_cast<float>(i);
    const double at = static_cast<double>(x);
    const double cdf = 0.5 * std::erfc(-at / std::sqrt(2.0));
    const double turn = at * std::exp(-0.5 * at * at) / std::sqrt(2.0 * std::acos(-1.0));
    // Both terms have opposite signs below 0; 2e-44 are 14 units of the smallest numbers.
    const double error = std::abs(static_cast<double>(gelu_slope(x)) - (cdf + turn));
    ASSERT_LE(error, 8e-6 * (cdf + std::abs(turn)) + 2e-44) << x;
  }
  EXPECT_EQ(gelu_slope(100.0F), 1.0F);
  EXPECT_EQ(gelu_slope(-100.0F), 0.0F);
  EXPECT_EQ(gelu_slope(-1e30F), 0.0F);
  EXPECT_TRUE(std::isnan(gelu_slope(std::numeric_limits<float>::quiet_NaN())));
}

TEST(DropoutRow, UsesTheWordsOfThePublishedGenerator) {
  const DropoutRow row{(5ULL << 32) + 7, {11, 13}, 0x80000000U, 2.0};
  for (const std::int64_t begin : {0, 1, 63, 64, 65, 130}) {
    for (const auto& [isa, kernels] : loops_that_run(row_kernels_tables)) {
      constexpr std::int64_t kEnd = 400;
      std::vector<float> mask(kEnd, -1.0F);
      kernels->dropout[0](row, nullptr, mask.data(), begin, kEnd);
      for (std::int64_t i = 0; i < kEnd; ++i) {
        const auto block = static_cast<std::uint32_t>(i / 64 * 16 + i % 16);
        const PhiloxCounter words = philox4x32({block, 0, 7, 5}, {11, 13});
        const float kept =
            words[static_cast<std::size_t>(i % 64 / 16)] >= 0x80000000U ? 2.0F : 0.0F;
        ASSERT_EQ(mask[static_cast<std::size_t>(i)], i < begin ? -1.0F : kept) << i;
      }
    }
  }
}

TEST(ReduceRow, SumsPairwise) {
  // In order, f32 ones stop growing at 2^24 and 0.1 drifts; here only the last rounding is left.
  const std::vector<float> tenths(3'000'001, 0.1F);
  const double sum = row_kernelsGeneric.reduce_row[0][0](tenths.data(), 1,
                                                         static_cast<std::int64_t>(tenths.size()));
  const double want = 3'000'001.0 * static_cast<double>(0.1F);
  EXPECT_NEAR(sum, want, 1e-9 * want);
}

// Runs body(kernels, out) with the loops of every instruction set and compares the bytes.
template <class Body>
void expect_same(std::size_t count, const Body& body) {
  std::vector<float> generic(count, -7.0F);
  body(row_kernelsGeneric, generic.data());
  for (const auto& [isa, kernels] : loops_that_run(row_kernels_tables)) {
    std::vector<float> out(count, -7.0F);
    body(*kernels, out.data());
    EXPECT_EQ(std::memcmp(generic.data(), out.data(), count * sizeof(float)), 0)
        << "instruction set " << static_cast<int>(isa);
  }
}

TEST(RowLoops, UnaryAndBinaryLoopsAgreeInEveryBit) {
  constexpr std::int64_t kCount = 1027;
  static constexpr double kScalars[] = {0.7, 1.6};
  const std::vector<float> a = random_floats(2 * kCount, 1, 0.001, 9.0);
  const std::vector<float> b = random_floats(2 * kCount, 2, -3.0, 3.0);
  for (std::size_t op = 0; op < kUnaryOps; ++op) {
    for (const std::int64_t step : {1, 2, 0}) {
      expect_same(kCount, [&](const RowKernels& kernels, float* out) {
        const RunOperand operand{a.data(), step};
        kernels.unary[op][0](&operand, out, kCount, kScalars);
      });
    }
  }
  for (std::size_t op = 0; op < kBinaryOps; ++op) {
    for (const auto& [step_a, step_b] : {std::pair{1, 1}, {1, 0}, {0, 1}, {2, 1}}) {
      expect_same(kCount, [&, x = step_a, z = step_b](const RowKernels& kernels, float* out) {
        const RunOperand operands[] = {{a.data(), x}, {b.data(), z}};
        kernels.binary[op][0](operands, out, kCount, kScalars);
      });
    }
  }
}

// Values of all sizes, among them those between the cases of log1p, sin and cos.
std::vector<float> floats_of_all_sizes() {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32U; bits += 40'009) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  for (const float edge : {0.414213538F, -0.292893201F, -1.0F, 0x1p-29F, 0x1p-54F, 0x1p53F,
                           0.785398185F, 0x1p-12F, 120.0F, 0.0F, -0.0F}) {
    for (const float towards : {-1e9F, edge, 1e9F}) {
      values.push_back(std::nextafter(edge, towards));
    }
  }
  return values;
}

std::string hash_of(std::vector<float> values) {
  for (float& value : values) {
    if (std::isnan(value)) value = std::numeric_limits<float>::quiet_NaN();
  }
  return to_hex(xxh3_128(as_bytes(std::span<const float>(values))));
}

// The library's functions differ from one processor to another: glibc's own for aarch64 contract
// their multiply-adds. So the bits that every processor is to give stand here; they are those of
// glibc for x86-64.
struct LibraryFunction {
  UnaryOp op;
  float (*of)(float);
  const char* bits;
};

TEST(RowLoops, LogarithmsAndTurnsHaveTheBitsOfTheLibraryInEveryBuild) {
  const std::vector<float> x = floats_of_all_sizes();
  const auto count = static_cast<std::int64_t>(x.size());
  std::vector<float> y(x.size());
  const RunOperand operand{x.data(), 1};
  const LibraryFunction functions[] = {
      {UnaryOp::kLog1p, [](float v) { return std::log1p(v); }, "3fc39e43c40b910e4fcc94a9d46f2574"},
      {UnaryOp::kSin, [](float v) { return std::sin(v); }, "80d981b770154924b6c80f0d2d8426c0"},
      {UnaryOp::kCos, [](float v) { return std::cos(v); }, "d1da92217b6355e8d14835edb5b56bfe"}};
  for (const auto& [op, of, bits] : functions) {
    for (const auto& [isa, kernels] : loops_that_run(row_kernels_tables)) {
      kernels->unary[static_cast<std::size_t>(op)][0](&operand, y.data(), count, nullptr);
      EXPECT_EQ(hash_of(y), bits);
#if defined(__x86_64__) && defined(__GLIBC__)
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float wanted = of(x[i]);
        if (std::isnan(wanted)) {
          ASSERT_TRUE(std::isnan(y[i])) << x[i];
        } else {
          ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(wanted))
              << x[i];
        }
      }
#endif
    }
  }
}

TEST(RowLoops, SoftmaxAgreesInEveryBitAndWithItsSteps) {
  constexpr std::int64_t kRows = 21;
  for (const std::int64_t count : {1, 5, 16, 37, 1'025}) {
    const std::vector<float> x = random_floats(kRows * count, 5, -4.0, 4.0);
    std::vector<float> steps(x.size());
    for (std::int64_t row = 0; row < kRows; ++row) {
      const float* const from = x.data() + row * count;
      float* const to = steps.data() + row * count;
      const RowKernels& plain = row_kernelsGeneric;
      plain.exp_shifted[0](from, plain.reduce_row[1][0](from, 1, count), to, count);
      plain.affine[0](to, {1.0 / plain.reduce_row[0][0](to, 1, count), 0.0}, to, count);
    }
    for (const auto& [isa, kernels] : loops_that_run(row_kernels_tables)) {
      std::vector<float> y(x.size());
      kernels->softmax[0](x.data(), y.data(), {kRows, count}, nullptr);
      EXPECT_EQ(y, steps);
    }
    expect_same(kRows * count, [&](const RowKernels& kernels, float* out) {
      kernels.log_softmax[0](x.data(), out, {kRows, count});
    });
  }
}

TEST(RowLoops, ReductionsSoftmaxAndDropoutAgreeInEveryBit) {
  constexpr std::int64_t kCount = 70'003;
  const std::vector<float> x = random_floats(kCount, 3, -4.0, 4.0);
  for (std::size_t op = 0; op < kReduceOps; ++op) {
    SCOPED_TRACE(op);
    for (const auto& [isa, kernels] : loops_that_run(row_kernels_tables)) {
      EXPECT_EQ(row_kernelsGeneric.reduce_row[op][0](x.data(), 1, kCount),
                kernels->reduce_row[op][0](x.data(), 1, kCount));
      EXPECT_EQ(row_kernelsGeneric.reduce_row[op][0](x.data(), 3, kCount / 3),
                kernels->reduce_row[op][0](x.data(), 3, kCount / 3));
    }
  }
  expect_same(kCount, [&](const RowKernels& kernels, float* out) {
    kernels.exp_shifted[0](x.data(), 0.5, out, kCount);
  });
  expect_same(kCount, [&](const RowKernels& kernels, float* out) {
    kernels.affine[0](x.data(), {0.3, -0.7}, out, kCount);
  });
  expect_same(6'400, [&](const RowKernels& kernels, float* out) {
    std::vector<std::uint32_t> words(6'400);
    kernels.random_words({9, {3, 4}}, (1ULL << 32U) - 160, words.data(), 6'400);
    kernels.normal(words.data(), out, 6'400);
  });
  expect_same(kCount, [&](const RowKernels& kernels, float* out) {
    kernels.dropout[0]({3, {1, 2}, 0x40000000U, 1.25}, x.data(), out, 5, kCount);
  });
}

}  // namespace
}  // namespace weft::rows_test
