// Which parameters of a layout are matrices, and of what sizes.
#include "weft/swarm/matrix_layout.h"

#include <gtest/gtest.h>

namespace weft::matrix_layout_test {
namespace {

TEST(MatrixLayout, HasTheParametersOfTwoDimensionsOrMore) {
  Layout layout;
  layout.add("kernel", {6, 3, 5, 5});
  layout.add("bias", {6}, ParameterKind::kBias);
  layout.add("weight", {10, 7});
  layout.add("scale", {}, ParameterKind::kNorm);
  layout.add("statistics", {4, 4}, ParameterKind::kBuffer);
  layout.add("nothing", {0, 4});
  const auto made = matrix_layout(layout);
  EXPECT_EQ(made->elements, static_cast<std::size_t>(layout.num_elements()));
  ASSERT_EQ(made->matrices.size(), 2U);
  EXPECT_EQ(made->matrices[0].offset, 0U);
  EXPECT_EQ(made->matrices[0].rows, 6U);
  EXPECT_EQ(made->matrices[0].cols, 75U);
  // 450 values and 6 more, each rounded up to a multiple of 16.
  EXPECT_EQ(made->matrices[1].offset, 464U + 16U);
  EXPECT_EQ(made->matrices[1].rows, 10U);
  EXPECT_EQ(made->matrices[1].cols, 7U);
}

TEST(MatrixLayout, OfNoParametersIsEmpty) {
  EXPECT_TRUE(matrix_layout(Layout())->matrices.empty());
  EXPECT_EQ(matrix_layout(Layout())->elements, 0U);
}

}  // namespace
}  // namespace weft::matrix_layout_test
