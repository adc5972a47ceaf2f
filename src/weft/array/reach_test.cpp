#include "weft/array/reach.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace weft::reach_test {
namespace {

// What byte_range promises, by looking at the address of every element of a matrix.
void expect_reach(const Array& view) {
  ASSERT_EQ(view.ndim(), 2);
  const std::size_t each = size_of(view.dtype());
  std::size_t low = view.storage()->size_bytes();
  std::size_t high = 0;
  for (std::int64_t i = 0; i < view.shape()[0]; ++i) {
    for (std::int64_t j = 0; j < view.shape()[1]; ++j) {
      const auto at =
          static_cast<std::size_t>(view.offset() + i * view.strides()[0] + j * view.strides()[1]);
      low = std::min(low, at * each);
      high = std::max(high, (at + 1) * each);
    }
  }
  EXPECT_EQ(byte_range(view).begin, low);
  EXPECT_EQ(byte_range(view).end, high);
}

TEST(ByteRange, CoversEveryElementOfAViewAndNoMore) {
  for (const DType dtype : {DType::kF32, DType::kU8, DType::kF64}) {
    const Array x = Array::zeros({5, 7}, dtype);
    expect_reach(x);
    expect_reach(x.as_strided({7, 5}, {1, 7}, 0));     // transposed
    expect_reach(x.as_strided({2, 7}, {7, 1}, 14));    // rows 2 and 3
    expect_reach(x.as_strided({5, 7}, {-7, 1}, 28));   // rows backwards
    expect_reach(x.as_strided({3, 2}, {-7, -3}, 26));  // both backwards, with steps
    expect_reach(x.as_strided({2, 3}, {7, -2}, 13));   // columns backwards
    expect_reach(x.as_strided({4, 3}, {0, 1}, 8));     // one row four times
  }
}

TEST(ByteRange, IsEmptyWithoutElements) {
  const Array x = Array::zeros({5, 7});
  const ByteRange range = byte_range(x.as_strided({0, 7}, {7, 1}, 3));
  EXPECT_EQ(range.begin, range.end);
}

}  // namespace
}  // namespace weft::reach_test
