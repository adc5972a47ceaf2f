// Elementwise kernels and reductions over strided arrays, against loops over indexes.
#include "weft/kernel/elementwise.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/kernel/dropout.h"
#include "weft/kernel/normalize.h"
#include "weft/kernel/reduce.h"
#include "weft/kernel/softmax.h"

namespace weft {
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

TEST(Binary, RefusesMixedAndIntegerTypes) {
  const Array f64 = Array::zeros({2}, DType::kF64);
  EXPECT_THROW(binary(BinaryOp::kAdd, f64, Array::zeros({2})), std::invalid_argument);
  const Array i64 = Array::zeros({2}, DType::kI64);
  EXPECT_THROW(binary(BinaryOp::kAdd, i64, i64), std::invalid_argument);
  EXPECT_THROW(unary(UnaryOp::kExp, i64), std::invalid_argument);
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
  const DropoutStream stream{{1, 2}, 3, 0.3};
  const std::vector<float> one = dropout_rows(x, stream).to_vector<float>();
  set_thread_count(3);
  const std::vector<float> three = dropout_rows(x, stream).to_vector<float>();
  set_thread_count(1);
  EXPECT_EQ(one, three);
}

TEST(Normalize, GivesMeanZeroAndVarianceOne) {
  const Array x = binary(BinaryOp::kAdd, random_array({7, 5, 9}, 9), 100.0);
  const Normalized normalized = normalize(x, 5, 0.0);
  const Array mean = reduce(ReduceOp::kSum, normalized.values, 5, false, 1.0 / 63);
  const Array square =
      reduce(ReduceOp::kSum, binary(BinaryOp::kMul, normalized.values, normalized.values), 5, false,
             1.0 / 63);
  for (int c = 0; c < 5; ++c) {
    EXPECT_NEAR(mean.select(0, c).item(), 0.0, 1e-12);
    EXPECT_NEAR(square.select(0, c).item(), 1.0, 1e-12);
  }
}

}  // namespace
}  // namespace weft
