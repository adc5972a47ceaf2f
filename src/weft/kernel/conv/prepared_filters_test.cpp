// Convolutions whose filters are transformed or reordered once and kept (core/prepared_weights.h).
#include <vector>

#include <gtest/gtest.h>

#include "weft/kernel/conv/conv.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/kernel/core/test_random_array.h"

namespace weft::prepared_filters_test {
namespace {

std::vector<float> convolved(const Array& x, const Array& weight, const Conv2dGeometry& geometry) {
  return conv2d_forward(x, weight, Array(), geometry, true)
      .strided()
      .contiguous()
      .to_vector<float>();
}

struct Case {
  Shape x;
  Shape weight;
  Conv2dGeometry geometry;
};

const std::vector<Case> kCases = {
    {{1, 16, 12, 12}, {24, 16, 3, 3}, {.padding = {1, 1}}},     // transformed filters
    {{1, 512, 12, 12}, {512, 512, 3, 3}, {.padding = {1, 1}}},  // in several chunks
    {{1, 32, 4, 4}, {32, 32, 3, 3}, {.padding = {1, 1}}},       // few pixels: packed
    {{2, 16, 5, 6}, {24, 16, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
    {{1, 16, 40, 40}, {24, 16, 3, 3}, {.stride = {2, 2}}},  // many: packed, or reordered
    {{1, 16, 40, 40}, {24, 16, 5, 5}, {}},                  // reordered
    {{2, 3, 9, 9}, {8, 3, 3, 3}, {.stride = {2, 2}}},
    {{1, 3, 21, 9}, {40, 3, 3, 3}, {.padding = {1, 1}}},  // the first layer: packed
    {{3, 8, 6, 6}, {8, 8, 1, 1}, {}},
};

TEST(PreparedFilters, GiveTheBitsOfFiltersThatAreNotKept) {
  for (const Case& one : kCases) {
    const Array x = random_array(one.x, 1);
    const Array weight = random_array(one.weight, 2);
    const std::vector<float> want = convolved(x, weight, one.geometry);
    PreparedWeights prepared(std::vector<Array>{weight});
    const PreparedWeights::Use use(&prepared);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(convolved(x, weight, one.geometry), want) << to_string(one.x) << ", call " << i;
    }
  }
}

TEST(PreparedFilters, AreMadeAgainAfterAWriteAndForAnotherBatch) {
  for (const Case& one : kCases) {
    Array weight = random_array(one.weight, 2);
    PreparedWeights prepared(std::vector<Array>{weight});
    const PreparedWeights::Use use(&prepared);
    convolved(random_array(one.x, 1), weight, one.geometry);
    weight.copy_from(random_array(one.weight, 3));
    for (const std::int64_t images : {1, 5, 20}) {
      Shape shape = one.x;
      shape[0] = images;
      const Array x = random_array(shape, 4);
      const std::vector<float> got = convolved(x, weight, one.geometry);
      EXPECT_EQ(got, convolved(x, weight.clone(), one.geometry)) << to_string(shape);
    }
  }
}

}  // namespace
}  // namespace weft::prepared_filters_test
