// Elementwise kernels and reductions over strided arrays, against loops over indexes.
#include "weft/kernel/elementwise/elementwise.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/kernel/elementwise/convert.h"
#include "weft/kernel/random/dropout.h"
#include "weft/kernel/reduce/reduce.h"
#include "weft/kernel/reduce/scan.h"
#include "weft/kernel/reduce/softmax.h"

namespace weft::elementwise_test {
namespace {

using testing::ElementsAre;

Array random_array(const Shape& shape, std::uint64_t seed) {
  Array result = Array::empty(shape, DType::kF64);
  Rng rng(seed, 0);
  for (double& value : result.flat<double>()) value = 2.0 * rng.uniform() - 1.0;
  return result;
}

// The value at `index` (row-major in `shape`, to which x broadcasts), by strides.
double at(const Array& x, const Shape& shape, std::int64_t index) {
  std::int64_t offset = 0;
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    const int own = axis - (shape.size() - x.ndim());
    if (own >= 0 && x.shape()[own] != 1) offset += index % shape[axis] * x.strides()[own];
    index /= shape[axis];
  }
  return x.data<double>()[offset];
}

TEST(Binary, WalksAnyStridesAndBroadcasts) {
  const Array base = random_array({6, 8, 10}, 1);
  const std::vector<Array> operands = {
      base,
      base.transpose(0, 1).slice(0, 1, 7).slice(1, {}, {}, 1),
      base.slice(0, {}, {}, -1).slice(1, 0, 8, 3),
      base.permute({2, 0, 1}).slice(0, 0, 1),
      base.select(2, 3).unsqueeze(2),
      base.select(0, 0).select(0, 0),
      random_array({1}, 2),
      random_array({}, 3),
  };
  for (const Array& a : operands) {
    for (const Array& b : operands) {
      Shape shape;
      try {
        shape = broadcast_shapes(a.shape(), b.shape());
      } catch (const std::invalid_argument&) {
        continue;
      }
      const Array y = binary(BinaryOp::kSub, a, b);
      ASSERT_EQ(to_string(y.shape()), to_string(shape));
      for (std::int64_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y.data<double>()[i], at(a, shape, i) - at(b, shape, i));
      }
    }
  }
}

TEST(Binary, SplitsOverThreadsWithoutADifference) {
  const Array a = random_array({300, 700}, 4);
  const Array b = random_array({300, 1}, 5);
  const std::vector<double> one =
      binary(BinaryOp::kMul, a.transpose(0, 1), b.transpose(0, 1)).to_vector<double>();
  set_thread_count(4);
  const std::vector<double> four =
      binary(BinaryOp::kMul, a.transpose(0, 1), b.transpose(0, 1)).to_vector<double>();
  set_thread_count(1);
  EXPECT_EQ(one, four);
}

TEST(Binary, RefusesMixedTypesAndTypesWithoutTheOperation) {
  const Array f64 = Array::zeros({2}, DType::kF64);
  EXPECT_THROW(binary(BinaryOp::kAdd, f64, Array::zeros({2})), std::invalid_argument);
  const Array i64 = Array::zeros({2}, DType::kI64);
  EXPECT_THROW(binary(BinaryOp::kDiv, i64, i64), std::invalid_argument);
  EXPECT_THROW(unary(UnaryOp::kExp, i64), std::invalid_argument);
  const Array flags = Array::zeros({2}, DType::kBool);
  EXPECT_THROW(binary(BinaryOp::kSub, flags, flags), std::invalid_argument);
  EXPECT_THROW(unary(UnaryOp::kNeg, flags), std::invalid_argument);
  EXPECT_THROW(where(i64, i64, i64), std::invalid_argument);
  EXPECT_THROW(where(flags, i64, f64), std::invalid_argument);
}

template <class T>
std::vector<T> results(BinaryOp op, const std::vector<T>& a, const std::vector<T>& b) {
  const auto size = static_cast<std::int64_t>(a.size());
  return binary(op, Array::from(a, {size}), Array::from(b, {size})).template to_vector<T>();
}

// What NumPy gives for the same operands (floor division and modulo by 0 give 0 there too).
TEST(Integers, WrapAroundAndDivideTowardsMinusInfinity) {
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  using I64 = std::vector<std::int64_t>;
  EXPECT_EQ(results(BinaryOp::kAdd, I64{kMax, kMin}, I64{1, -1}), (I64{kMin, kMax}));
  EXPECT_EQ(results(BinaryOp::kMul, I64{kMin, kMax}, I64{-1, 2}), (I64{kMin, -2}));
  EXPECT_EQ(results(BinaryOp::kFloorDivide, I64{7, -7, 7, -7, 5, kMin}, I64{2, 2, -2, -2, 0, -1}),
            (I64{3, -4, -4, 3, 0, kMin}));
  EXPECT_EQ(results(BinaryOp::kRemainder, I64{7, -7, 7, -7, 5, kMin}, I64{2, 2, -2, -2, 0, -1}),
            (I64{1, 1, -1, -1, 0, 0}));
  EXPECT_EQ(results(BinaryOp::kPow, I64{3, -2, 2, -1, 1, 7}, I64{4, 3, 64, -3, -5, -1}),
            (I64{81, -8, 0, -1, 1, 0}));
  using U8 = std::vector<std::uint8_t>;
  EXPECT_EQ(results(BinaryOp::kAdd, U8{250, 1}, U8{10, 2}), (U8{4, 3}));
  EXPECT_EQ(results(BinaryOp::kSub, U8{1}, U8{2}), (U8{255}));
  EXPECT_EQ(results(BinaryOp::kMul, U8{200}, U8{200}), (U8{64}));
  using I8 = std::vector<std::int8_t>;
  EXPECT_EQ(results(BinaryOp::kMul, I8{100, -128}, I8{2, -1}), (I8{-56, -128}));
  EXPECT_EQ(results(BinaryOp::kMaximum, I8{-3, 4}, I8{-5, 9}), (I8{-3, 9}));
  const Array i8 = Array::from(I8{-128, -5, 0, 9}, {4});
  EXPECT_EQ(unary(UnaryOp::kNeg, i8).to_vector<std::int8_t>(), (I8{-128, 5, 0, -9}));
  EXPECT_EQ(unary(UnaryOp::kSign, i8).to_vector<std::int8_t>(), (I8{-1, -1, 0, 1}));
  EXPECT_EQ(unary(UnaryOp::kClamp, i8, {-5.0, 3.0}).to_vector<std::int8_t>(), (I8{-5, -5, 0, 3}));
}

TEST(Comparisons, GiveBoolForEveryType) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI64,
                            DType::kI32, DType::kI8, DType::kU8}) {
    const Array a = Array::from(std::vector<double>{1, 2, 3, 5, 4}, {5}).to(dtype);
    const Array b = Array::from(std::vector<double>{1, 3, 2, 5, 7}, {5}).to(dtype);
    const auto got = [&](BinaryOp op) { return binary(op, a, b).to_vector<bool>(); };
    EXPECT_EQ(got(BinaryOp::kEq), (std::vector<bool>{true, false, false, true, false}));
    EXPECT_EQ(got(BinaryOp::kNe), (std::vector<bool>{false, true, true, false, true}));
    EXPECT_EQ(got(BinaryOp::kLt), (std::vector<bool>{false, true, false, false, true}));
    EXPECT_EQ(got(BinaryOp::kGe), (std::vector<bool>{true, false, true, true, false}));
    EXPECT_EQ(binary(BinaryOp::kGt, a, 2.0).to_vector<bool>(),
              (std::vector<bool>{false, false, true, true, true}));
    EXPECT_EQ(binary(BinaryOp::kLe, 3.0, a).to_vector<bool>(),
              (std::vector<bool>{false, false, true, true, true}));
    const Array chosen = where(binary(BinaryOp::kLt, a, b), a, b.slice(0, {}, {}, -1));
    EXPECT_EQ(chosen.to(DType::kI64).to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{7, 2, 2, 3, 4}));
  }
}

TEST(Convert, DoesWhatArraysDoByThemselves) {
  constexpr DType kAll[] = {DType::kF32, DType::kF64, DType::kI64, DType::kU8,  DType::kBF16,
                            DType::kF16, DType::kI8,  DType::kI32, DType::kBool};
  const Array values = binary(BinaryOp::kMul, random_array({7, 33}, 31), 300.0);
  for (const DType from : kAll) {
    const Array x = values.to(from);
    for (const Array& view : {x, x.transpose(0, 1), x.slice(1, {}, {}, -2)}) {
      for (const DType to : kAll) {
        const Array got = convert(view, to);
        EXPECT_EQ(got.dtype(), to);
        EXPECT_EQ(got.to(DType::kF64).to_vector<double>(),
                  view.to(to).to(DType::kF64).to_vector<double>());
      }
    }
  }
}

// Through any strides, blocks and tails: the f32 result of the widened operands, rounded once.
TEST(Halves, AreComputedInF32AndRoundedOnce) {
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const Array a = random_array({1300}, 21).to(dtype);
    const Array b = random_array({1300}, 22).to(dtype);
    for (const Array& x : {a, a.slice(0, {}, {}, -1)}) {
      const auto expect = [&](const Array& got, const Array& wide) {
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_EQ(got.to(DType::kF32).to_vector<float>(),
                  wide.to(dtype).to(DType::kF32).to_vector<float>());
      };
      const Array wide_x = x.to(DType::kF32);
      const Array wide_b = b.to(DType::kF32);
      expect(unary(UnaryOp::kGelu, x), unary(UnaryOp::kGelu, wide_x));
      expect(binary(BinaryOp::kMul, x, b), binary(BinaryOp::kMul, wide_x, wide_b));
      expect(binary(BinaryOp::kSub, 0.3, x), binary(BinaryOp::kSub, 0.3, wide_x));
      expect(binary(BinaryOp::kAdd, x, 0.3), binary(BinaryOp::kAdd, wide_x, 0.3));
      expect(binary(BinaryOp::kAdd, x, b.slice(0, 0, 1)),
             binary(BinaryOp::kAdd, wide_x, wide_b.slice(0, 0, 1)));
    }
  }
}

TEST(Accumulate, AddsInPlaceAndBroadcasts) {
  Array target = Array::full({2, 3}, 1.0, DType::kF64);
  accumulate(Array::from(std::vector<double>{1, 2, 3}, {3}), target);
  EXPECT_THAT(target.to_vector<double>(), ElementsAre(2, 3, 4, 2, 3, 4));
}

TEST(Reduce, AgreesWithLoopsOverEveryMaskAndOrder) {
  const Array base = random_array({5, 70, 3, 4}, 6);
  for (const Array& x : {base, base.permute({3, 1, 0, 2}), base.slice(1, {}, {}, -2)}) {
    for (AxisMask mask = 0; mask < 16; ++mask) {
      const Array sums = reduce(ReduceOp::kSum, x, mask, true);
      const Array largest = reduce(ReduceOp::kMax, x, mask, true);
      Array want_sums = Array::zeros(sums.shape(), DType::kF64);
      Array want_largest = Array::full(sums.shape(), -2.0, DType::kF64);
      for (std::int64_t i = 0; i < x.size(); ++i) {
        std::int64_t rest = i;
        std::int64_t output = 0;
        std::int64_t stride = 1;
        for (int axis = 3; axis >= 0; --axis) {
          if ((mask >> axis & 1U) == 0) {
            output += rest % x.dim(axis) * stride;
            stride *= x.dim(axis);
          }
          rest /= x.dim(axis);
        }
        const double value = at(x, x.shape(), i);
        want_sums.data<double>()[output] += value;
        double& most = want_largest.data<double>()[output];
        most = std::max(most, value);
      }
      EXPECT_EQ(largest.to_vector<double>(), want_largest.to_vector<double>());
      for (std::int64_t i = 0; i < sums.size(); ++i) {
        ASSERT_NEAR(sums.data<double>()[i], want_sums.data<double>()[i], 1e-12);
      }
    }
  }
}

// In order, f32 stops at 2^24; bf16 would stop at 256.
TEST(Reduce, TwentyMillionOnesAreTwentyMillion) {
  constexpr std::int64_t kOnes = 20'000'001;
  const Array ones = Array::full({kOnes}, 1.0);
  EXPECT_EQ(reduce(ReduceOp::kSum, ones, 1, false).item(), 20'000'000.0);  // 2e7 + 1 in f32
  EXPECT_EQ(reduce(ReduceOp::kSum, ones, 1, false, 1.0 / kOnes).item(), 1.0);
  EXPECT_EQ(reduce(ReduceOp::kSum, ones.to(DType::kF64), 1, false).item(), 20'000'001.0);
  const Array half = ones.slice(0, 0, 10'000'001).to(DType::kBF16);
  const double rounded = static_cast<double>(static_cast<float>(BFloat16(10'000'001.0F)));
  EXPECT_EQ(reduce(ReduceOp::kSum, half, 1, false).item(), rounded);
  EXPECT_EQ(reduce(ReduceOp::kSum, ones.slice(0, {}, {}, -3), 1, false).item(), 6'666'667.0);
  const Array columns = ones.slice(0, 0, 20'000'000).reshape({4'000'000, 5}).slice(1, 1, 4);
  EXPECT_THAT(reduce(ReduceOp::kSum, columns, 1, false).to_vector<float>(),
              ElementsAre(4e6F, 4e6F, 4e6F));
}

TEST(Reduce, EveryTypeHasSumsProductsAndExtremes) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kI64,
                            DType::kI32, DType::kI8, DType::kU8}) {
    const Array x =
        Array::from(std::vector<double>{5, 1, 2, 7, 3, 4}, {2, 3}).to(dtype).transpose(0, 1);
    const bool floating = is_floating(dtype);
    const auto got = [&](ReduceOp op, AxisMask axes) {
      const Array y = reduce(op, x, axes, false);
      const bool extreme = op == ReduceOp::kMax || op == ReduceOp::kMin;
      EXPECT_EQ(y.dtype(), floating || extreme ? dtype : DType::kI64);
      return y.to(DType::kF64).to_vector<double>();
    };
    EXPECT_THAT(got(ReduceOp::kSum, 1), ElementsAre(8, 14));
    EXPECT_THAT(got(ReduceOp::kProduct, 2), ElementsAre(35, 3, 8));
    EXPECT_THAT(got(ReduceOp::kMin, 1), ElementsAre(1, 3));
    EXPECT_THAT(got(ReduceOp::kMax, 3), ElementsAre(7));
    EXPECT_EQ(
        reduce(ReduceOp::kSum, x.slice(0, 0, 0), 1, false).to(DType::kF64).to_vector<double>(),
        (std::vector<double>{0, 0}));
    EXPECT_EQ(reduce(ReduceOp::kProduct, x.slice(0, 0, 0), 3, false).item(), 1.0);
    EXPECT_THROW(reduce(ReduceOp::kMin, x.slice(0, 0, 0), 3, false), std::invalid_argument);
  }
  const Array flags = Array::from(std::vector<bool>{true, false, true, true}, {2, 2});
  EXPECT_EQ(reduce(ReduceOp::kSum, flags, 3, false).item_int(), 3);
  EXPECT_EQ(reduce(ReduceOp::kMin, flags, 2, false).to_vector<bool>(),
            (std::vector<bool>{false, true}));
  const double nan = std::nan("");
  const Array hole = Array::from(std::vector<double>{1, nan, 3}, {3});
  EXPECT_TRUE(std::isnan(reduce(ReduceOp::kMin, hole, 1, false).item()));
  EXPECT_TRUE(std::isnan(reduce(ReduceOp::kMax, hole, 1, false).item()));
}

// Against two passes in f64 over a far mean, where sums of squares would cancel.
TEST(Variance, TakesTheMeanOffFirst) {
  const Array base = random_array({7, 40, 11}, 9);
  const Array far = binary(BinaryOp::kAdd, base, 1e8);
  for (const AxisMask axes : {1U, 2U, 4U, 5U, 7U}) {
    const Array near_values = variance(base, axes, true, 1.0);
    const Array far_values = variance(far, axes, true, 1.0);
    for (std::int64_t i = 0; i < near_values.size(); ++i) {
      EXPECT_NEAR(near_values.data<double>()[i], far_values.data<double>()[i], 1e-7);
    }
  }
  const Array four = Array::from(std::vector<double>{1, 2, 4, 9}, {4});
  EXPECT_DOUBLE_EQ(variance(four, 1, false, 1.0).item(), 38.0 / 3.0);
  EXPECT_DOUBLE_EQ(variance(four, 1, false, 0.0).item(), 38.0 / 4.0);
  EXPECT_TRUE(std::isnan(variance(four.slice(0, 0, 1), 1, false, 1.0).item()));
}

// Three times 0.1 over 3 is not 0.1, and the root of the variance would show that.
TEST(Variance, OfEqualValuesIsZero) {
  for (const std::int64_t count : {3, 6, 7, 1'000, 200'001}) {
    for (const double value : {0.1, -1.1, 1e-200, 1e200 / 3}) {
      const Array row = Array::full({count}, value, DType::kF64);
      EXPECT_EQ(variance(row, 1, false, 1.0).item(), 0.0) << count << " times " << value;
      const Array columns = row.reshape({count, 1}).expand({count, 3}).contiguous();
      EXPECT_THAT(variance(columns, 1, false, 0.0).to_vector<double>(), ElementsAre(0, 0, 0));
    }
  }
  // One value that is another counts, as near as it may be; so does a NaN.
  Array rows = Array::full({3, 6}, 0.1, DType::kF64);
  rows.data<double>()[7] = std::nextafter(0.1, 1.0);
  rows.data<double>()[17] = std::nan("");
  const std::vector<double> found = variance(rows, 2, false, 1.0).to_vector<double>();
  EXPECT_EQ(found[0], 0.0);
  EXPECT_GT(found[1], 0.0);
  EXPECT_TRUE(std::isnan(found[2]));
}

TEST(Scan, RunsAlongAnyAxisOfAnyType) {
  const Array x = Array::from(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_THAT(cumulative_sum(x, 0).to_vector<double>(), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(cumulative_sum(x, 1).to_vector<double>(), ElementsAre(1, 3, 6, 4, 9, 15));
  EXPECT_THAT(cumulative_sum(x, 1, true).to_vector<double>(), ElementsAre(6, 5, 3, 15, 11, 6));
  EXPECT_THAT(cumulative_product(x.to(DType::kI8), 0).to_vector<std::int64_t>(),
              ElementsAre(1, 2, 3, 4, 10, 18));
  EXPECT_EQ(cumulative_sum(Array::zeros({0, 3}), 0).size(), 0);
  EXPECT_THAT(
      extreme_index(Extreme::kMax, x.slice(1, {}, {}, -1), 1, false).to_vector<std::int64_t>(),
      ElementsAre(0, 0));
  EXPECT_THAT(extreme_index(Extreme::kMin, x, 0, true).to_vector<std::int64_t>(),
              ElementsAre(0, 0, 0));
  const Array ties = Array::from(std::vector<float>{2, 5, 5, std::nanf(""), 9}, {5});
  EXPECT_EQ(extreme_index(Extreme::kMax, ties.slice(0, 0, 3), 0, false).item_int(), 1);
  EXPECT_EQ(extreme_index(Extreme::kMax, ties, 0, false).item_int(), 3);
  EXPECT_EQ(extreme_index(Extreme::kMin, ties, 0, false).item_int(), 3);
  EXPECT_THROW(extreme_index(Extreme::kMax, Array::zeros({2, 0}), 1, false), std::invalid_argument);
}

TEST(Reduce, GivesTheSameBitsForAnyThreadCount) {
  const Array x = random_array({3, 200'001}, 7).to(DType::kF32);
  for (const AxisMask mask : {1U, 2U, 3U}) {
    const std::vector<float> one = reduce(ReduceOp::kSum, x, mask, false).to_vector<float>();
    set_thread_count(5);
    const std::vector<float> five = reduce(ReduceOp::kSum, x, mask, false).to_vector<float>();
    set_thread_count(1);
    EXPECT_EQ(one, five);
  }
}

TEST(Reduce, SumsBackToTheShapeThatWasBroadcast) {
  const Array x = Array::full({4, 2, 3}, 1.0, DType::kF64);
  EXPECT_THAT(sum_to_shape(x, {3}).to_vector<double>(), ElementsAre(8, 8, 8));
  EXPECT_THAT(sum_to_shape(x, {2, 1}).to_vector<double>(), ElementsAre(12, 12));
  EXPECT_EQ(sum_to_shape(x, {}).item(), 24.0);
  EXPECT_EQ(sum_to_shape(x, {4, 2, 3}).storage(), x.storage());
}

TEST(Softmax, RowsSplitOverThreadsWithoutADifference) {
  const Array x = random_array({997, 33}, 8).to(DType::kF32);
  const std::vector<float> one = softmax_rows(x).to_vector<float>();
  set_thread_count(3);
  const std::vector<float> three = softmax_rows(x).to_vector<float>();
  set_thread_count(1);
  EXPECT_EQ(one, three);
}

TEST(Dropout, SplitsOverThreadsWithoutADifference) {
  const Array x = Array::full({50, 1'111}, 1.0);
  const Array stream = Array::from(std::vector<std::int64_t>{1, 2, 3}, {3});
  const std::vector<float> one = dropout_rows(x, stream, 0.3).to_vector<float>();
  set_thread_count(3);
  const std::vector<float> three = dropout_rows(x, stream, 0.3).to_vector<float>();
  set_thread_count(1);
  EXPECT_EQ(one, three);
}

}  // namespace
}  // namespace weft::elementwise_test
