#include "weft/array/reach.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

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

// A storage that follows another is a part of it: values, and who wrote them.
TEST(Storage, ThatFollowsAnotherHasItsValuesAndItsWrites) {
  Array part = Array::full({3}, 1.0);
  const Array old_view = part.slice(0, 1, 3);
  const std::shared_ptr<Storage>& own = part.storage();
  const float* const before = part.data<float>();
  part.fill(2);
  const std::uint64_t first = own->version();
  Array whole = Array::zeros({64});
  whole.fill(4);
  own->follow(whole.storage(), 16 * sizeof(float), 3 * sizeof(float));
  EXPECT_EQ(own->version(), first);
  EXPECT_EQ(part.to_vector<float>(), (std::vector<float>{4, 4, 4}));
  EXPECT_EQ(*before, 2.0F);  // readable still

  whole.storage()->note_write(0, 16 * sizeof(float), "elsewhere");
  EXPECT_EQ(own->writer_since(first, 0, 12), nullptr);
  whole.storage()->note_write(0, 17 * sizeof(float), "here");
  EXPECT_STREQ(own->writer_since(first, 0, 12), "here");
  EXPECT_EQ(own->writer_since(first, 4, 12), nullptr);
  EXPECT_EQ(own->version(), first + 2);
  EXPECT_STREQ(own->writer_since(first - 1, 4, 12), "fill");  // of before

  const std::uint64_t theirs = whole.storage()->version();
  Array(old_view).fill(9);
  EXPECT_STREQ(whole.storage()->writer_since(theirs, 17 * 4, 18 * 4), "fill");
  EXPECT_EQ(whole.storage()->writer_since(theirs, 0, 17 * 4), nullptr);
  EXPECT_EQ(whole.data<float>()[17], 9.0F);
  EXPECT_EQ(own->versioned_bytes(), whole.storage()->size_bytes());
  EXPECT_THROW(part.as_strided({4}, {1}), std::invalid_argument);
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
