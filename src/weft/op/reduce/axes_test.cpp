#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/op/reduce.h"

namespace weft::axes_test {
namespace {

Tensor sample() { return Tensor(Array::from<float>({1, 2, 3, 4, 5, 9}, {2, 3})); }

TEST(Axes, OneAxisIsANumber) {
  EXPECT_EQ(to_string(mean(sample(), 1)), "[2, 6]");
  EXPECT_EQ(to_string(sum(sample(), 0, true)), "[[5, 7, 12]]");
  EXPECT_EQ(to_string(max(sample(), -1)), "[3, 9]");
  const int axis = 0;
  EXPECT_EQ(to_string(var(sample(), axis)), "[4.5, 4.5, 18]");
  EXPECT_EQ(to_string(norm(sample(), 1.0, axis)), "[5, 7, 12]");
}

TEST(Axes, SeveralAxesAndNoneAreWhatTheyWere) {
  EXPECT_EQ(to_string(sum(sample(), {0, -1})), "24");
  EXPECT_EQ(to_string(sum(sample(), {0})), "[5, 7, 12]");
  EXPECT_EQ(to_string(sum(sample(), {}, true)), "[[24]]");
  const std::vector<int> axes = {1};
  EXPECT_EQ(to_string(sum(sample(), axes)), "[6, 18]");
}

// sum(x, true) meant keepdims, max(x, 0.5) an elementwise maximum: neither is axis 1 or axis 0.
TEST(Axes, AreNeitherBoolNorFloatingNumbers) {
  static_assert(std::is_convertible_v<int, Axes>);
  static_assert(!std::is_convertible_v<bool, Axes>);
  static_assert(!std::is_convertible_v<double, Axes>);
}

}  // namespace
}  // namespace weft::axes_test
