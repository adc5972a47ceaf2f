// Products with weights of 8 bits (kernel/gemm/int8.h).
#include "weft/kernel/gemm/int8.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/gemm/linear.h"

namespace weft::int8_test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A row as whole numbers and their scale, by the definition alone.
struct QuantisedRow {
  std::vector<std::int64_t> values;
  float scale = 0;
};

QuantisedRow quantised(const float* row, std::int64_t count) {
  QuantisedRow out;
  float largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(row[i]));
  out.scale = largest / 127.0F;
  const float inverse = largest > 0 ? 127.0F / largest : 0.0F;
  for (std::int64_t i = 0; i < count; ++i) {
    out.values.push_back(static_cast<std::int64_t>(std::nearbyint(row[i] * inverse)));
  }
  return out;
}

// x weight^T with exact sums, then bias and ReLU.
std::vector<float> reference(const Array& x, const Array& weight, const Array& bias, bool relu) {
  const std::int64_t k = x.dim(1);
  std::vector<float> out;
  for (std::int64_t i = 0; i < x.dim(0); ++i) {
    const QuantisedRow row = quantised(x.data<float>() + i * k, k);
    for (std::int64_t j = 0; j < weight.dim(0); ++j) {
      const QuantisedRow column = quantised(weight.data<float>() + j * k, k);
      std::int64_t sum = 0;
      for (std::size_t t = 0; t < row.values.size(); ++t) sum += row.values[t] * column.values[t];
      float value = static_cast<float>(sum) * row.scale * column.scale;
      if (bias.defined()) value += bias.data<float>()[j];
      out.push_back(relu ? std::max(value, 0.0F) : value);
    }
  }
  return out;
}

std::vector<float> by_loops(const Int8Loops& loops, const Array& x, const Array& weight,
                            const Array& bias = Array(), bool relu = false) {
  const Int8Matrix matrix(weight.data<float>(), weight.dim(0), weight.dim(1), loops);
  Array out = Array::full({x.dim(0), weight.dim(0)}, kNan);
  gemm_int8(
      x.dim(0), x.data<float>(), x.dim(1), matrix,
      {out.data<float>(), out.dim(1), false, bias.defined() ? bias.data<float>() : nullptr, relu});
  return out.to_vector<float>();
}

void expect_exact(const Shape& sizes) {
  const Array x = random_array({sizes[0], sizes[2]}, 1);
  const Array weight = random_array({sizes[1], sizes[2]}, 2);
  const Array bias = random_array({sizes[1]}, 3);
  for (const bool relu : {false, true}) {
    const Array some_bias = relu ? bias : Array();
    const std::vector<float> want = reference(x, weight, some_bias, relu);
    for (const auto& [isa, loops] : loops_that_run(int8_loops_tables)) {
      ASSERT_EQ(by_loops(*loops, x, weight, some_bias, relu), want)
          << to_string(sizes) << " with instruction set " << static_cast<int>(isa);
    }
  }
}

TEST(Int8, IsExactForEveryDepthInEverySet) {
  for (std::int64_t k = 1; k <= 130; ++k) expect_exact({k % 9 + 1, k % 5 * 16 + 3, k});
}

TEST(Int8, IsExactForAnyNumbersOfRowsAndColumns) {
  for (const std::int64_t columns : {1, 15, 16, 17, 33, 48, 63, 64, 65, 130}) {
    for (const std::int64_t rows : {1, 2, 3, 5, 6, 7, 13, 25}) expect_exact({rows, columns, 21});
  }
  expect_exact({230, 30, 9});  // more rows than columns: cut by rows
}

TEST(Int8, HasTheSameBitsForAnyThreadCount) {
  for (const Shape& sizes : std::vector<Shape>{{1, 400, 4000}, {40, 300, 200}, {300, 70, 150}}) {
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      expect_exact(sizes);
    }
  }
  set_thread_count(1);
}

TEST(Int8, SumsOfTheLargestValuesFit) {
  const Array x = Array::full({2, kInt8DepthMax}, 1.0);
  Array weight = Array::full({2, kInt8DepthMax}, 1.0);
  weight.select(0, 1).fill(-1.0);
  const std::vector<float> want = reference(x, weight, Array(), false);
  for (const auto& [isa, loops] : loops_that_run(int8_loops_tables)) {
    EXPECT_EQ(by_loops(*loops, x, weight), want);
  }
}

TEST(Int8, WhatIsNotFiniteBecomesNan) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    Array x = random_array({3, 40}, 4);
    x.data<float>()[40 + 7] = bad;
    Array weight = random_array({20, 40}, 5);
    weight.data<float>()[5 * 40 + 39] = bad;
    for (const auto& [isa, loops] : loops_that_run(int8_loops_tables)) {
      const std::vector<float> got = by_loops(*loops, x, weight, Array(), true);
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(std::isnan(got[i]), i / 20 == 1 || i % 20 == 5) << i;
      }
    }
  }
}

TEST(Int8, RowsOfZerosAndOfTinyValuesGiveTheBias) {
  Array x = Array::zeros({2, 24});
  x.select(0, 1).fill(1e-38);
  const Array weight = random_array({5, 24}, 6);
  const Array bias = random_array({5}, 7);
  std::vector<float> want = bias.to_vector<float>();
  want.insert(want.end(), want.begin(), want.begin() + 5);
  for (const auto& [isa, loops] : loops_that_run(int8_loops_tables)) {
    EXPECT_EQ(by_loops(*loops, x, weight, bias), want);
  }
}

TEST(Int8, AddsToItsTargetAndOnTheCallingThreadAlone) {
  const Array x = random_array({4, 30}, 8);
  const Array weight = random_array({21, 30}, 9);
  const std::vector<float> product = reference(x, weight, Array(), false);
  const Int8Matrix matrix(weight.data<float>(), 21, 30);
  Array out = Array::full({4, 21}, 2.0);
  gemm_int8_here(4, x.data<float>(), 30, matrix, {out.data<float>(), 21, true});
  for (std::size_t i = 0; i < product.size(); ++i) {
    EXPECT_EQ(out.data<float>()[i], product[i] + 2.0F);
  }
}

// A quantised value is within half a step of its own, and a step is the scale: |x - x'| <= s_x / 2,
// |w - w'| <= s_w / 2. The errors of a sum over k add up to at most
//   |sum x w - sum x' w'| <= sum |x| |w - w'| + |w'| |x - x'| <= sum |x| s_w / 2 + |w'| s_x / 2,
// with |w'| <= |w| + s_w / 2. The last roundings to f32 are below 1e-5 of the sum of magnitudes.
TEST(Int8, IsAsExactAsItsSteps) {
  const std::int64_t k = 500;
  const Array x = random_array({7, k}, 10);
  const Array weight = random_array({90, k}, 11);
  const std::vector<float> got = by_loops(int8_loops(), x, weight);
  for (std::int64_t i = 0; i < 7; ++i) {
    const float* const row = x.data<float>() + i * k;
    const double row_step = static_cast<double>(quantised(row, k).scale);
    for (std::int64_t j = 0; j < 90; ++j) {
      const float* const column = weight.data<float>() + j * k;
      const double column_step = static_cast<double>(quantised(column, k).scale);
      double want = 0;
      double bound = 0;
      for (std::int64_t t = 0; t < k; ++t) {
        const auto a = static_cast<double>(row[t]);
        const auto b = static_cast<double>(column[t]);
        want += a * b;
        bound += std::abs(a) * column_step / 2 + (std::abs(b) + column_step / 2) * row_step / 2 +
                 1e-5 * std::abs(a * b);
      }
      EXPECT_NEAR(static_cast<double>(got[static_cast<std::size_t>(i * 90 + j)]), want, bound);
    }
  }
}

std::vector<float> layer(const Array& x, const Array& weight) {
  return linear_forward(x, weight, Array(), false).to_vector<float>();
}

TEST(Int8, ALayerUsesItWhereTheWeightsAskForIt) {
  const Array x = random_array({40, 3}, 12).transpose(0, 1);
  const Array weight = random_array({70, 40}, 13);
  const std::vector<float> plain = layer(x, weight);
  const std::vector<float> want = reference(x.contiguous(), weight, Array(), false);
  EXPECT_EQ(int8_weight(weight), nullptr);
  PreparedWeights prepared(std::vector<Array>{weight}, WeightPrecision::kInt8);
  {
    const PreparedWeights::Use use(&prepared);
    EXPECT_EQ(layer(x, weight), want);
    EXPECT_EQ(layer(x, weight.clone()), plain) << "a weight that is not kept";
    const Array deep = Array::zeros({2, kInt8DepthMax + 1});
    PreparedWeights more(std::vector<Array>{deep}, WeightPrecision::kInt8);
    const PreparedWeights::Use inner(&more);
    EXPECT_EQ(int8_weight(deep), nullptr);
  }
  EXPECT_EQ(layer(x, weight), plain);
}

TEST(Int8, AWeightIsQuantisedAgainAfterAWrite) {
  const Array x = random_array({1, 32}, 14);
  Array weight = random_array({64, 32}, 15);
  PreparedWeights prepared(std::vector<Array>{weight}, WeightPrecision::kInt8);
  const PreparedWeights::Use use(&prepared);
  const auto first = int8_weight(weight);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(int8_weight(weight), first);
  weight.copy_from(random_array({64, 32}, 16));
  EXPECT_NE(int8_weight(weight), first);
  EXPECT_EQ(layer(x, weight), reference(x, weight, Array(), false));
}

}  // namespace
}  // namespace weft::int8_test
