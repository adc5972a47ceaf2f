#include "weft/autograd/format.h"

#include <sstream>

#include <gtest/gtest.h>

namespace weft::format_test {
namespace {

TEST(Format, ShowsTensorsArraysShapesAndTypes) {
  const Tensor x(Array::from<float>({1, 2.5}, {2}), true);
  EXPECT_EQ(fmt::format("{} {} {} {}", x, x.array(), x.shape(), x.dtype()),
            "[1, 2.5] [1, 2.5] [2] f32");
  EXPECT_EQ(fmt::format("{:>10}|", x), "  [1, 2.5]|");
  EXPECT_EQ(fmt::format("{}", Tensor()), "undefined");
}

TEST(Format, TensorsGoToStreams) {
  std::ostringstream out;
  out << Tensor(Array::from<float>({1, 2.5}, {2}), true) << " " << Tensor();
  EXPECT_EQ(out.str(), "[1, 2.5] undefined");
}

}  // namespace
}  // namespace weft::format_test
