// Normalisations of long rows and many values against sums in f64, in every memory order.
#include "weft/kernel/norm/norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/elementwise/convert.h"
#include "weft/kernel/norm/norm_loops.h"

namespace weft::norm_test {
namespace {

Array random(const Shape& shape, std::uint64_t seed, double mean = 0.0) {
  Rng rng(seed);
  Array values = Array::empty(shape);
  for (float& value : values.flat<float>()) value = static_cast<float>(mean + rng.normal());
  return values;
}

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <class Value>
Moments moments_of(std::int64_t count, Value value) {
  Moments result;
  for (std::int64_t i = 0; i < count; ++i) result.mean += value(i) / static_cast<double>(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const double d = value(i) - result.mean;
    result.variance += d * d / static_cast<double>(count);
  }
  return result;
}

// The mean is a thousand deviations away: a sum of squares in f32 would lose the variance.
TEST(NormRows, LongRowsFarFromZeroKeepTheirVariance) {
  const std::int64_t n = 5003;
  const Array x = random({3, n}, 1, 1000.0);
  const NormedRows normed = norm_rows(x, {}, {}, {n, 1e-5, true});
  for (std::int64_t row = 0; row < 3; ++row) {
    const float* const values = x.data<float>() + row * n;
    const Moments want = moments_of(n, [&](std::int64_t i) { return double{values[i]}; });
    EXPECT_NEAR(normed.mean.data<double>()[row], want.mean, 1e-4);
    const double inverse = normed.inverse.data<double>()[row];
    EXPECT_NEAR(inverse * std::sqrt(want.variance + 1e-5), 1.0, 1e-5);
    for (std::int64_t i = 0; i < n; i += 97) {
      EXPECT_NEAR(normed.y.data<float>()[row * n + i],
                  (values[i] - want.mean) / std::sqrt(want.variance + 1e-5), 1e-4);
    }
  }
}

TEST(BatchNorm, ManyValuesFarFromZeroKeepTheirVariance) {
  const Array x = random({50, 16, 12, 11}, 2, 300.0);
  for (const bool blocked : {false, true}) {
    const Array in = blocked ? in_blocks_of_8(x) : x;
    const BatchNormed normed = batch_norm_forward(in, {}, {}, {}, {}, {});
    EXPECT_EQ(normed.y.is_strided(), !blocked);
    for (std::int64_t c = 0; c < 16; ++c) {
      const Moments want = moments_of(50 * 132, [&](std::int64_t i) {
        return double{x.data<float>()[(i / 132 * 16 + c) * 132 + i % 132]};
      });
      EXPECT_NEAR(normed.mean.data<double>()[c], want.mean, 1e-4);
      EXPECT_NEAR(normed.variance.data<double>()[c] / want.variance, 1.0, 1e-5);
    }
  }
}

void expect_near(const Array& a, const Array& b, double tolerance) {
  const std::vector<float> left = a.strided().to_vector<float>();
  const std::vector<float> right = b.strided().to_vector<float>();
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) ASSERT_NEAR(left[i], right[i], tolerance);
}

void expect_blocked_as_plain(const Shape& shape, bool relu) {
  const Array x = random(shape, 3);
  const Array dy = random(shape, 4);
  const Array weight = random({shape[1]}, 5, 1.0);
  const Array bias = random({shape[1]}, 6);
  BatchNormSpec spec;
  spec.relu = relu;
  const BatchNormed plain = batch_norm_forward(x, weight, bias, spec, {}, {});
  const BatchNormed blocked = batch_norm_forward(in_blocks_of_8(x), weight, bias, spec, {}, {});
  expect_near(plain.y, blocked.y, 1e-5);
  const NormGradients left = batch_norm_backward(dy, x, weight, bias, plain, spec);
  const NormGradients right =
      batch_norm_backward(dy, in_blocks_of_8(x), weight, bias, blocked, spec);
  expect_near(left.x, right.x, 1e-4);
  expect_near(left.weight, right.weight, 1e-3);
  expect_near(left.bias, right.bias, 1e-3);
}

// Planes of less than a page of memory, of more in blocks of channels, and of more in either order.
TEST(BatchNorm, BlockedAndPlainArraysGiveTheSame) {
  for (const Shape& shape : {Shape{5, 24, 7, 6}, Shape{3, 16, 13, 17}, Shape{2, 8, 35, 31}}) {
    for (const bool relu : {false, true}) expect_blocked_as_plain(shape, relu);
  }
}

// Lanes of f32 keep 2^24, and lose each 1 that is added to it; so they go to f64 every 128 values.
TEST(NormLoops, LanesAreAddedUpToSoManyTimesInF32) {
  constexpr std::int64_t kPixels = 1024;
  constexpr std::int64_t kRun = 128;
  std::vector<float> x(8 * kPixels, 1.0F);
  std::fill_n(x.begin(), 8, 0x1p24F);
  const double origin[8] = {};
  for (const auto& [isa, build] : loops_that_run(norm_build_tables)) {
    NormSums sums;
    build->f32.eight.moments(x.data(), {1, 0, kPixels, 8}, origin, sums);
    for (int lane = 0; lane < 8; ++lane) {
      EXPECT_EQ(sums.first[lane], 0x1p24 + double{kPixels - kRun});
      EXPECT_EQ(sums.second[lane], 0x1p48 + double{kPixels - kRun});
    }
  }
}

TEST(BatchNorm, OfBf16HasTheBitsOfF32RoundedOnce) {
  for (const Shape& shape :
       {Shape{5, 24, 7, 6}, Shape{3, 5, 2, 9}, Shape{30, 19}, Shape{2, 8, 19, 17}}) {
    const Array x = convert(random(shape, 3), DType::kBF16);
    const Array dy = convert(random(shape, 4), DType::kBF16);
    const Array weight = random({shape[1]}, 5, 1.0);
    const Array bias = random({shape[1]}, 6);
    const auto wide = [](const Array& half) { return convert(half, DType::kF32); };
    const auto values = [&](const Array& a) { return wide(a).strided().to_vector<float>(); };
    for (const bool blocked : {false, true}) {
      if (blocked && shape[1] % 8 != 0) continue;
      const Array in = blocked ? in_blocks_of_8(x) : x;
      for (const bool relu : {false, true}) {
        BatchNormSpec spec;
        spec.relu = relu;
        const BatchNormed got = batch_norm_forward(in, weight, bias, spec, {}, {});
        const BatchNormed want = batch_norm_forward(wide(in), weight, bias, spec, {}, {});
        EXPECT_EQ(got.y.dtype(), DType::kBF16);
        EXPECT_EQ(got.y.is_strided(), !blocked);
        EXPECT_EQ(values(got.y), values(convert(want.y, DType::kBF16)));
        EXPECT_EQ(got.variance.to_vector<double>(), want.variance.to_vector<double>());
        const NormGradients gradient = batch_norm_backward(dy, in, weight, bias, got, spec);
        const NormGradients exact =
            batch_norm_backward(wide(dy), wide(in), weight, bias, want, spec);
        EXPECT_EQ(values(gradient.x), values(convert(exact.x, DType::kBF16)));
        EXPECT_EQ(gradient.weight.to_vector<float>(), exact.weight.to_vector<float>());
        EXPECT_EQ(gradient.bias.to_vector<float>(), exact.bias.to_vector<float>());
      }
    }
  }
}

TEST(Norm, RowsWithoutStatisticsHaveTheSameBits) {
  const Array x = random({37, 70}, 7);
  const Array weight = random({70}, 9, 1.0);
  for (const bool centered : {true, false}) {
    const NormedRows with = norm_rows(x, weight, weight, {70, 1e-5, centered});
    const NormedRows without = norm_rows(x, weight, weight, {70, 1e-5, centered, false});
    EXPECT_EQ(without.y.to_vector<float>(), with.y.to_vector<float>());
    EXPECT_TRUE(with.inverse.defined());
    EXPECT_FALSE(without.inverse.defined());
    EXPECT_FALSE(without.mean.defined());
  }
}

TEST(Norm, HasTheSameBitsForAnyThreadCount) {
  const Array x = random({40, 32, 9, 9}, 7);
  const Array dy = random({40, 32, 9, 9}, 8);
  const Array weight = random({32}, 9, 1.0);
  const Array row_weight = random({9 * 9}, 10, 1.0);
  const auto all = [&] {
    std::vector<float> values;
    const auto keep = [&](const Array& a) {
      const std::vector<float> own = a.strided().to_vector<float>();
      values.insert(values.end(), own.begin(), own.end());
    };
    const BatchNormed batch = batch_norm_forward(x, weight, weight, {}, {}, {});
    const NormGradients of_batch = batch_norm_backward(dy, x, weight, weight, batch, {});
    const GroupNormed group = group_norm_forward(x, weight, weight, 4, 1e-5);
    const NormGradients of_group = group_norm_backward(dy, x, weight, group, 4);
    const RowNormOptions options{81, 1e-5, true};
    const NormedRows rows = norm_rows(x, row_weight, row_weight, options);
    const NormGradients of_rows = norm_rows_gradient(dy, x, row_weight, rows, options, {});
    for (const Array& y : {batch.y, group.y, rows.y}) keep(y);
    for (const NormGradients& g : {of_batch, of_group, of_rows}) {
      keep(g.x);
      keep(g.weight);
      keep(g.bias);
    }
    return values;
  };
  const std::vector<float> one = all();
  set_thread_count(3);
  EXPECT_EQ(all(), one);
  set_thread_count(1);
}

}  // namespace
}  // namespace weft::norm_test
