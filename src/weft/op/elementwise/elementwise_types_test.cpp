// Types of elementwise operations and reductions: what operands of any two types give, as PyTorch
// 1.13 does it, and values of the types that are not f32 or f64.
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/test_tensor.h"
#include "weft/op/ops.h"

namespace weft::elementwise_types_test {
namespace {

using ::testing::ElementsAre;

constexpr DType kAll[] = {DType::kF32, DType::kF64, DType::kI64, DType::kU8,  DType::kBF16,
                          DType::kF16, DType::kI8,  DType::kI32, DType::kBool};

Tensor ones_of(DType dtype) { return Tensor(Array::full({2}, 1.0, dtype)); }

TEST(Promotion, EveryPairOfTypesGivesPyTorchsType) {
  for (const DType a : kAll) {
    for (const DType b : kAll) {
      SCOPED_TRACE(std::string(to_string(a)) + " and " + std::string(to_string(b)));
      const Tensor x = ones_of(a);
      const Tensor y = ones_of(b);
      const DType common = promote_types(a, b);
      const DType real = is_floating(common) ? common : DType::kF32;
      EXPECT_EQ(add(x, y).dtype(), common);
      EXPECT_EQ(mul(x, y).dtype(), common);
      EXPECT_EQ(maximum(x, y).dtype(), common);
      EXPECT_EQ(minimum(x, y).dtype(), common);
      EXPECT_EQ(div(x, y).dtype(), real);
      EXPECT_EQ(atan2(x, y).dtype(), real);
      EXPECT_EQ(lt(x, y).dtype(), DType::kBool);
      EXPECT_EQ(logical_and(x, y).dtype(), DType::kBool);
      EXPECT_EQ(where(Tensor(Array::full({2}, 1, DType::kBool)), x, y).dtype(), common);
      EXPECT_EQ(values_of(eq(x, y)), (std::vector<double>{1, 1}));
      EXPECT_EQ(values_of(add(x, y))[0], common == DType::kBool ? 1.0 : 2.0);
      EXPECT_EQ(values_of(div(x, y))[0], 1.0);
      if (common == DType::kBool) {
        EXPECT_THROW(sub(x, y), std::invalid_argument);
        EXPECT_THROW(pow(x, y), std::invalid_argument);
        continue;
      }
      EXPECT_EQ(sub(x, y).dtype(), common);
      EXPECT_EQ(pow(x, y).dtype(), common);
      EXPECT_EQ(remainder(x, y).dtype(), common);
      EXPECT_EQ(floor_divide(x, y).dtype(), common);
    }
  }
}

TEST(Promotion, FunctionsOfRealNumbersMakeFloats) {
  using Op = Tensor (*)(const Tensor&);
  for (const DType dtype : kAll) {
    const Tensor x = ones_of(dtype);
    const DType real = is_floating(dtype) ? dtype : DType::kF32;
    for (const Op op : std::vector<Op>{exp, log, sqrt, tanh, sigmoid, sin, cos, erf, expm1, log1p,
                                       exp2, log2, rsqrt, reciprocal, silu, mish}) {
      EXPECT_EQ(op(x).dtype(), real) << to_string(dtype);
    }
    EXPECT_NEAR(values_of(exp(x))[0], std::exp(1.0), 0.02);
    EXPECT_EQ(isnan(x).dtype(), DType::kBool);
    EXPECT_EQ(sum(x).dtype(), is_floating(dtype) ? dtype : DType::kI64);
    EXPECT_EQ(prod(x).dtype(), is_floating(dtype) ? dtype : DType::kI64);
    EXPECT_EQ(cumsum(x, 0).dtype(), is_floating(dtype) ? dtype : DType::kI64);
    EXPECT_EQ(max(x).dtype(), dtype);
    EXPECT_EQ(argmax(x).dtype(), DType::kI64);
    EXPECT_EQ(any(x).dtype(), DType::kBool);
    EXPECT_EQ(sum(x).item(), 2.0);
    if (is_floating(dtype)) {
      EXPECT_EQ(mean(x).dtype(), dtype);
    } else {
      EXPECT_THROW(mean(x), std::invalid_argument);
      EXPECT_THROW(var(x), std::invalid_argument);
    }
  }
}

TEST(Promotion, ANumberBesideATensorDoesNotWidenIt) {
  const Tensor integers(Array::from(std::vector<std::int32_t>{1, -2, 7}, {3}));
  EXPECT_EQ((integers + 2).dtype(), DType::kI32);
  EXPECT_EQ((integers * 0.5).dtype(), DType::kF32);
  EXPECT_EQ((2.0 / integers).dtype(), DType::kF32);
  EXPECT_THAT(values_of(integers - 1), ElementsAre(0, -3, 6));
  EXPECT_THAT(values_of(integers / 2), ElementsAre(0.5, -1, 3.5));
  EXPECT_THAT(values_of(pow(integers, 2.0)), ElementsAre(1, 4, 49));
  EXPECT_THAT(values_of(clamp(integers, -1.5, 3.5)), ElementsAre(1, -1.5, 3.5));
  EXPECT_EQ(clamp(integers, -1, 3).dtype(), DType::kI32);
  const Tensor half(Array::full({2}, 1.0, DType::kBF16));
  EXPECT_EQ((half * 0.1).dtype(), DType::kBF16);
  const Tensor flags(Array::from(std::vector<bool>{true, false}, {2}));
  EXPECT_EQ((flags + 1).dtype(), DType::kI64);
  // Beyond the type: compared as numbers.
  const Tensor bytes(Array::from(std::vector<std::uint8_t>{0, 255}, {2}));
  EXPECT_THAT(values_of(lt(bytes, 300)), ElementsAre(1, 1));
  EXPECT_THAT(values_of(gt(bytes, 254.5)), ElementsAre(0, 1));
  EXPECT_THAT(values_of(ge(bytes, -1)), ElementsAre(1, 1));
}

TEST(Promotion, GradientsComeBackInTheTypeOfTheirInput) {
  const Tensor a(Array::full({3}, 2.0, DType::kF64), true);
  const Tensor b(Array::full({1}, 3.0), true);
  const Tensor c(Array::from(std::vector<std::int64_t>{1, 2, 3}, {3}));
  backward(sum(mul(mul(a, b), c)));
  EXPECT_EQ(a.grad().dtype(), DType::kF64);
  EXPECT_EQ(b.grad().dtype(), DType::kF32);
  EXPECT_THAT(a.grad().to_vector<double>(), ElementsAre(3, 6, 9));
  EXPECT_THAT(b.grad().to_vector<float>(), ElementsAre(12));
}

TEST(Promotion, MistakesAreNamed) {
  EXPECT_THROW(add(Tensor(), ones_of(DType::kF32)), std::invalid_argument);
  EXPECT_THROW(add(ones_of(DType::kF32), Tensor(Array::zeros({3}, DType::kI64))),
               std::invalid_argument);
  using Op = Tensor (*)(const Tensor&);
  for (const Op op :
       std::vector<Op>{exp, log, tanh, sigmoid, sqrt, neg, abs, square, floor, isnan}) {
    EXPECT_THROW(op(Tensor()), std::invalid_argument);
  }
  EXPECT_THROW(add(Tensor(), 1.0), std::invalid_argument);
  EXPECT_THROW(mul(Tensor(), 1.0), std::invalid_argument);
  EXPECT_THROW(div(1.0, Tensor()), std::invalid_argument);
  EXPECT_THROW(pow(Tensor(), 2.0), std::invalid_argument);
  EXPECT_THROW(lt(Tensor(), 2.0), std::invalid_argument);
  EXPECT_THROW(div(Tensor(), ones_of(DType::kF32)), std::invalid_argument);
  EXPECT_THROW(neg(ones_of(DType::kBool)), std::invalid_argument);
  EXPECT_THROW(where(ones_of(DType::kI64), ones_of(DType::kF32), ones_of(DType::kF32)),
               std::invalid_argument);
  EXPECT_THROW(argmax(Tensor(Array::zeros({0}))), std::invalid_argument);
  EXPECT_THROW(cumsum(ones_of(DType::kF32), 1), std::invalid_argument);
  EXPECT_THROW(softplus(ones_of(DType::kF32), 0.0), std::invalid_argument);
}

TEST(Specials, ReductionsOfNothingAndOfInfinities) {
  const Tensor none(Array::zeros({0}));
  EXPECT_EQ(sum(none).item(), 0.0);
  EXPECT_EQ(prod(none).item(), 1.0);
  EXPECT_TRUE(std::isnan(mean(none).item()));
  EXPECT_EQ(all(none).item(), 1.0);
  EXPECT_EQ(any(none).item(), 0.0);
  EXPECT_EQ(logsumexp(none).item(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(norm(none).item(), 0.0);
  EXPECT_THROW(max(none), std::invalid_argument);
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor wide(Array::from(std::vector<float>{-inf, 2.0F, inf}, {3}));
  EXPECT_EQ(max(wide).item(), static_cast<double>(inf));
  EXPECT_EQ(min(wide).item(), -static_cast<double>(inf));
  EXPECT_EQ(logsumexp(wide).item(), static_cast<double>(inf));
  EXPECT_EQ(argmin(wide).item(), 0.0);
  // Squares beyond f32.
  EXPECT_NEAR(norm(Tensor(Array::full({4}, 1e30))).item() / 2e30, 1.0, 1e-6);
}

TEST(Specials, ClosenessTakesInEqualInfinitiesAndNoNan) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  const Tensor a(Array::from(std::vector<double>{1, 1, inf, inf, nan, 5}, {6}));
  const Tensor b(Array::from(std::vector<double>{1.000001, 1.1, inf, 5, nan, inf}, {6}));
  EXPECT_THAT(values_of(isclose(a, b)), ElementsAre(1, 0, 1, 0, 0, 0));
  EXPECT_FALSE(allclose(a, b));
  EXPECT_TRUE(allclose(ones_of(DType::kF32), ones_of(DType::kI64)));
}

TEST(Specials, TheNormHasAGradientWhereItIsZero) {
  const Tensor x(Array::zeros({3}, DType::kF64), true);
  backward(norm(x));
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace weft::elementwise_types_test
