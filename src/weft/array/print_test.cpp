#include "weft/array/print.h"

#include <limits>
#include <sstream>

#include <gtest/gtest.h>

namespace weft::print_test {
namespace {

TEST(Print, ShowsValuesInTheOrderOfTheirIndexes) {
  const Array x = Array::from<float>({1, 2.5, -3, 4e10F, 0, 6}, {2, 3});
  EXPECT_EQ(to_string(x), "[[1, 2.5, -3], [4e+10, 0, 6]]");
  EXPECT_EQ(to_string(x.transpose(0, 1)), "[[1, 4e+10], [2.5, 0], [-3, 6]]");
  EXPECT_EQ(to_string(x.slice(1, {}, {}, -2)), "[[-3, 1], [6, 4e+10]]");
}

TEST(Print, KnowsEveryElementType) {
  EXPECT_EQ(to_string(Array::full({}, 7, DType::kI64)), "7");
  EXPECT_EQ(to_string(Array::full({2}, 200, DType::kU8)), "[200, 200]");
  EXPECT_EQ(to_string(Array::full({1}, -5, DType::kI8)), "[-5]");
  EXPECT_EQ(to_string(Array::full({1}, 1, DType::kBool)), "[true]");
  EXPECT_EQ(to_string(Array::full({1}, 1.5, DType::kBF16)), "[1.5]");
  EXPECT_EQ(to_string(Array::full({1}, std::numeric_limits<double>::infinity(), DType::kF64)),
            "[inf]");
}

TEST(Print, CutsWhatIsLong) {
  Array x = Array::zeros({1001}, DType::kI64);
  x.slice(0, 998, {}).fill(9);
  EXPECT_EQ(to_string(x), "[0, 0, 0, ..., 9, 9, 9]");
  EXPECT_EQ(to_string(Array::zeros({2, 600}, DType::kU8)),
            "[[0, 0, 0, ..., 0, 0, 0], [0, 0, 0, ..., 0, 0, 0]]");
}

TEST(Print, HandlesNothing) {
  EXPECT_EQ(to_string(Array()), "undefined");
  EXPECT_EQ(to_string(Array::zeros({0})), "[]");
  EXPECT_EQ(to_string(Array::zeros({2, 0})), "[[], []]");
  std::ostringstream out;
  out << Array::full({2}, 1);
  EXPECT_EQ(out.str(), "[1, 1]");
}

TEST(Print, ShapesAndTypesGoToStreams) {
  std::ostringstream out;
  out << Shape{2, 3} << " of " << DType::kBF16;
  EXPECT_EQ(out.str(), "[2, 3] of bf16");
}

}  // namespace
}  // namespace weft::print_test
