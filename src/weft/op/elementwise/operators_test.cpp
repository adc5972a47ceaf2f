// Operators and short forms, against the functions that they stand for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/test_tensor.h"
#include "weft/op/ops.h"

namespace weft::operators_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Operators, CompoundAssignmentsWriteInPlace) {
  const Tensor a = leaf({1, 2, 3});
  Tensor x = a * 2.0;
  const Tensor same = x;  // another handle of the memory
  x += a;
  x -= 1.0;
  x *= a;
  x /= 2.0;
  EXPECT_THAT(values_of(same), ElementsAre(1, 5, 12));
  backward(sum(x));  // (3 a^2 - a) / 2
  EXPECT_THAT(gradient(a), ElementsAre(2.5, 5.5, 8.5));
  Tensor fixed = leaf({1, 2});
  EXPECT_THAT(refusal([&] { fixed += 1.0; }), HasSubstr("[add_]"));
  const NoGrad no_grad;
  fixed += 1.0;
  fixed -= fixed;
  EXPECT_THAT(values_of(fixed), ElementsAre(0, 0));
}

TEST(Operators, DivisionInPlaceHasTheGradientsOfDivision) {
  const auto apart = [](const Tensor& a, const Tensor& b) { return square(a) / b / 4.0; };
  const auto in_place = [](const Tensor& a, const Tensor& b) {
    Tensor x = square(a);
    x /= b;
    x /= 4.0;
    return x;
  };
  const Tensor a = leaf({1, 2, 3});
  const Tensor b = leaf({4, -5, 0.5});
  const GradOptions twice = {.create_graph = true};
  const auto first = grad({sum(in_place(a, b))}, {a, b}, twice);
  const auto wanted = grad({sum(apart(a, b))}, {a, b}, twice);
  const Tensor second = sum(first[0] * first[1]);
  const Tensor wanted_second = sum(wanted[0] * wanted[1]);
  const auto again = grad({second}, {a, b});
  const auto wanted_again = grad({wanted_second}, {a, b});
  for (int i : {0, 1}) {
    EXPECT_TRUE(allclose(first[i], wanted[i])) << i;
    EXPECT_TRUE(allclose(again[i], wanted_again[i])) << i;
  }
  Tensor own = a * 1.0;
  own /= own;
  EXPECT_THAT(values_of(own), ElementsAre(1, 1, 1));
  Tensor whole(Array::from<std::int64_t>({4, 2}, {2}));
  EXPECT_THAT(refusal([&] { whole /= 2.0; }), HasSubstr("[div_] expected floating values"));
}

TEST(Operators, ComparisonsAreElementByElement) {
  const Tensor x = leaf({1, 2, 3});
  const Tensor y = leaf({3, 2, 1});
  EXPECT_THAT(values_of(x < y), ElementsAre(1, 0, 0));
  EXPECT_THAT(values_of(x <= y), ElementsAre(1, 1, 0));
  EXPECT_THAT(values_of(x > y), ElementsAre(0, 0, 1));
  EXPECT_THAT(values_of(x >= y), ElementsAre(0, 1, 1));
  EXPECT_THAT(values_of(x == y), ElementsAre(0, 1, 0));
  EXPECT_THAT(values_of(x != y), ElementsAre(1, 0, 1));
  EXPECT_THAT(values_of(x < 2), ElementsAre(1, 0, 0));
  EXPECT_THAT(values_of(x <= 2), ElementsAre(1, 1, 0));
  EXPECT_THAT(values_of(x > 2), ElementsAre(0, 0, 1));
  EXPECT_THAT(values_of(x >= 2), ElementsAre(0, 1, 1));
  EXPECT_THAT(values_of(x == 2), ElementsAre(0, 1, 0));
  EXPECT_THAT(values_of(x != 2), ElementsAre(1, 0, 1));
  EXPECT_EQ((x > 0.5).dtype(), DType::kBool);
}

TEST(Operators, SelectTakesTheSliceWithoutItsAxis) {
  const Tensor x = reshape(leaf({1, 2, 3, 4, 5, 6}) * 1.0, {2, 3});
  EXPECT_THAT(values_of(select(x, 0, 1)), ElementsAre(4, 5, 6));
  EXPECT_THAT(values_of(select(x, -1, -3)), ElementsAre(1, 4));
  EXPECT_EQ(select(x, 1, 0).shape(), Shape({2}));
  Tensor row = select(x, 0, 0);
  row *= 0.0;  // a view
  EXPECT_THAT(values_of(x), ElementsAre(0, 0, 0, 4, 5, 6));
  EXPECT_THAT(refusal([&] { select(x, 1, 3); }),
              HasSubstr("[select] expected a position in [-3, 3), got 3"));
  EXPECT_EQ(x.at({1, -1}), 6);
}

}  // namespace
}  // namespace weft::operators_test
