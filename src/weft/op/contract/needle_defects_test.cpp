// What a small teaching framework got wrong about arrays and elementwise operations, one test each:
// the figures are those that it missed.
#include <cmath>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/op/ops.h"

namespace weft::needle_defects_test {
namespace {

using ::testing::ElementsAre;

Array counting(const Shape& shape, DType dtype = DType::kF32) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.num_elements()));
  std::iota(values.begin(), values.end(), 0);
  return Array::from(values, shape).to(dtype);
}

// The offset of the first view was dropped: [6, 22] instead of [22, 38].
TEST(Defects, SumsOfASlicedViewKeepItsOffset) {
  const Tensor a(counting({3, 4}));
  EXPECT_THAT(sum(slice(a, 0, 1, 3), {1}).array().to_vector<float>(), ElementsAre(22, 38));
  const Tensor twice = slice(slice(a, 0, 1, 3), 0, 1, 2);
  EXPECT_THAT(twice.array().to_vector<float>(), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(permute(slice(a, 0, 1, 3), {1, 0}).array().to_vector<float>(),
              ElementsAre(4, 8, 5, 9, 6, 10, 7, 11));
  EXPECT_THAT(expand(slice(a, 0, 2, 3), {2, 4}).array().to_vector<float>(),
              ElementsAre(8, 9, 10, 11, 8, 9, 10, 11));
}

// A negative start raised.
TEST(Defects, ANegativeStartCountsFromTheEnd) {
  const Tensor a(counting({4, 2}));
  EXPECT_THAT(slice(a, 0, -2, {}).array().to_vector<float>(), ElementsAre(4, 5, 6, 7));
}

// It was nan, by a quotient of exponentials.
TEST(Defects, TanhOfAHundredIsOne) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    const Tensor y = tanh(Tensor(Array::from(std::vector<double>{100, -100}, {2}).to(dtype)));
    EXPECT_THAT(y.array().to(DType::kF64).to_vector<double>(), ElementsAre(1, -1));
  }
}

// It raised.
TEST(Defects, ANumberDividedByATensor) {
  const Tensor x(Array::from(std::vector<double>{1, 2, -4}, {3}), true);
  const Tensor y = 1.0 / x;
  EXPECT_THAT(y.array().to_vector<double>(), ElementsAre(1, 0.5, -0.25));
  backward(sum(y));
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(-1, -0.25, -0.0625));
}

// The gradient of flip was no tensor, which broke any longer graph.
TEST(Defects, FlipInsideALongerGraph) {
  const Tensor x(counting({2, 3}, DType::kF64), true);
  const Tensor weights(counting({2, 3}, DType::kF64));
  backward(sum(mul(square(flip(mul(x, 2.0), {1})), weights)));
  // d/dx of w (2 x)^2 is 8 x w, with the weights of the flipped places.
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(0, 8, 0, 8 * 3 * 5, 8 * 4 * 4, 8 * 5 * 3));
}

// Over all axes, and over two, the backward asserted.
TEST(Defects, LogsumexpOverAllAndOverTwoAxes) {
  const Tensor x(Array::zeros({2, 3, 4}, DType::kF64), true);
  const Tensor all_axes = logsumexp(x);
  EXPECT_NEAR(all_axes.item(), std::log(24.0), 1e-12);
  backward(all_axes);
  for (const double share : x.grad().to_vector<double>()) EXPECT_NEAR(share, 1.0 / 24, 1e-12);
  const Tensor z(Array::zeros({2, 3, 4}, DType::kF64), true);
  const Tensor two_axes = logsumexp(z, {0, 2});
  EXPECT_EQ(two_axes.shape(), (Shape{3}));
  backward(sum(two_axes));
  for (const double share : z.grad().to_vector<double>()) EXPECT_NEAR(share, 1.0 / 8, 1e-12);
}

// In order, f32 stops at 16,777,216.
TEST(Defects, TwentyMillionOnesAreTwentyMillion) {
  const Tensor ones(Array::full({20'000'001}, 1.0));
  EXPECT_EQ(sum(ones).item(), 20'000'000.0);  // the f32 nearest to 20,000,001
  EXPECT_EQ(mean(ones).item(), 1.0);
}

// Random masks did not work at all, nor Dropout on them.
TEST(Defects, RandomMasks) {
  Generator generator(3);
  const Tensor mask = bernoulli({1000}, 0.25, generator);
  EXPECT_EQ(mask.dtype(), DType::kBool);
  EXPECT_NEAR(sum(mask).item(), 250.0, 70.0);
  const Tensor x(Array::full({1000}, 2.0));
  EXPECT_EQ(sum(mul(x, mask)).item(), 2.0 * sum(mask).item());
}

// Both raised.
TEST(Defects, OneRowOfATensorAndBatchesOfMatrices) {
  const Tensor x(counting({3, 2, 2}, DType::kF64), true);
  const Tensor row = squeeze(slice(x, 0, 0, 1), 0);
  EXPECT_THAT(row.array().to_vector<double>(), ElementsAre(0, 1, 2, 3));
  const Tensor y = matmul(x, row);  // the same matrix for each of three
  EXPECT_EQ(y.shape(), (Shape{3, 2, 2}));
  EXPECT_THAT(y.array().to_vector<double>(),
              ElementsAre(2, 3, 6, 11, 10, 19, 14, 27, 18, 35, 22, 43));
  backward(sum(y));
  // On the left the row sums 1 and 5 of `row`; on the right the column sums 30 and 36 of x.
  EXPECT_THAT(x.grad().to_vector<double>(),
              ElementsAre(1 + 30, 5 + 30, 1 + 36, 5 + 36, 1, 5, 1, 5, 1, 5, 1, 5));
}

}  // namespace
}  // namespace weft::needle_defects_test
