// Layers whose weights are packed once and kept (core/prepared_weights.h).
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/gemm/gemm.h"
#include "weft/kernel/gemm/linear.h"

namespace weft::packed_weight_test {
namespace {

std::vector<float> layer(const Array& x, const Array& weight, const Array& bias) {
  return linear_forward(x, weight, bias, true).to_vector<float>();
}

// Rows, outputs, inputs: one row of several groups of panels, a rest of them, several parts of k;
// more rows and outputs than are multiplied at once; a single panel whose rows threads share, and
// many panels.
const std::vector<Shape> kSizes = {{1, 200, 40},    {1, 64, 900},  {1, 5, 7},       {2, 130, 33},
                                   {7, 600, 64},    {200, 48, 20}, {98, 1560, 790}, {300, 10, 500},
                                   {130, 100, 800}, {97, 65, 50}};

TEST(PackedWeight, GivesTheBitsOfALayerThatPacksItself) {
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    for (const Shape& size : kSizes) {
      const Array x = random_array({size[0], size[2]}, 1);
      const Array weight = random_array({size[1], size[2]}, 2);
      const Array bias = random_array({size[1]}, 3);
      const std::vector<float> want = layer(x, weight, bias);
      PreparedWeights prepared(std::vector<Array>{weight});
      const PreparedWeights::Use use(&prepared);
      EXPECT_EQ(layer(x, weight, bias), want) << to_string(size) << " when it is packed";
      EXPECT_EQ(layer(x, weight, bias), want) << to_string(size) << " when it is found";
    }
  }
  set_thread_count(1);
}

TEST(PackedWeight, OneRowHasTheBitsThatItHasAmongOthers) {
  const Array x = random_array({9, 500}, 1);
  const Array weight = random_array({150, 500}, 2);
  const Array bias = random_array({150}, 3);
  const Array all = linear_forward(x, weight, bias, true);
  for (std::int64_t row = 0; row < 9; ++row) {
    const Array alone = linear_forward(x.slice(0, row, row + 1), weight, bias, true);
    EXPECT_EQ(alone.to_vector<float>(), all.slice(0, row, row + 1).to_vector<float>());
  }
}

TEST(PackedWeight, IsPackedAgainAfterAWrite) {
  const Array x = random_array({1, 32}, 1);
  Array weight = random_array({64, 32}, 2);
  PreparedWeights prepared(std::vector<Array>{weight});
  const PreparedWeights::Use use(&prepared);
  const auto first = packed_weight(weight);
  EXPECT_EQ(packed_weight(weight), first);
  weight.copy_from(random_array({64, 32}, 3));
  EXPECT_NE(packed_weight(weight), first);
  EXPECT_EQ(layer(x, weight, Array()), layer(x, weight.clone(), Array()));
}

// A storage that follows that of the weight has the same first byte and may have the same version.
TEST(PackedWeight, IsNotFoundByArraysOfOtherStorages) {
  const Array weight = random_array({64, 32}, 2);
  PreparedWeights prepared(std::vector<Array>{weight});
  const PreparedWeights::Use use(&prepared);
  ASSERT_NE(packed_weight(weight), nullptr);
  const Array follower = Array::empty({64, 32});
  follower.storage()->follow(weight.storage(), 0, weight.size_bytes());
  ASSERT_EQ(follower.raw_data(), weight.raw_data());
  EXPECT_EQ(packed_weight(follower), nullptr);
}

// x of other than two axes is one matrix, of any type.
TEST(PackedWeight, RowsOfMoreAxesGiveTheBitsOfAMatrix) {
  const Array values = random_array({2, 3, 5, 20}, 1);
  const Array weights = random_array({7, 20}, 2);
  const Array shifts = random_array({7}, 3);
  for (const DType type : {DType::kF32, DType::kF64, DType::kBF16}) {
    const Array x = values.to(type);
    const Array weight = weights.to(type);
    const Array bias = shifts.to(type);
    const Array y = linear_forward(x, weight, bias, true);
    EXPECT_EQ(y.shape(), (Shape{2, 3, 5, 7}));
    const Array rows = linear_forward(x.reshape({30, 20}), weight, bias, true);
    EXPECT_EQ(y.to(DType::kF64).to_vector<double>(), rows.to(DType::kF64).to_vector<double>());
    const Array one = linear_forward(x.reshape({30, 20}).select(0, 4), weight, bias, true);
    EXPECT_EQ(one.to(DType::kF64).to_vector<double>(),
              rows.select(0, 4).to(DType::kF64).to_vector<double>());
  }
  EXPECT_EQ(linear_forward(Array::empty({2, 3, 0}), Array::empty({7, 0}), shifts, false)
                .select(0, 1)
                .select(0, 2)
                .to_vector<float>(),
            shifts.to_vector<float>());
}

TEST(PackedWeight, IsKeptOnlyForTheGivenWeightsAndWithinAUse) {
  const Array weight = random_array({64, 32}, 2);
  const Array other = random_array({64, 32}, 2);
  EXPECT_EQ(packed_weight(weight), nullptr);
  PreparedWeights prepared(std::vector<Array>{weight});
  {
    const PreparedWeights::Use use(&prepared);
    EXPECT_NE(packed_weight(weight), nullptr);
    EXPECT_EQ(packed_weight(other), nullptr);
    const PreparedWeights::Use none(nullptr);
    EXPECT_EQ(packed_weight(weight), nullptr);
  }
  EXPECT_EQ(packed_weight(weight), nullptr);
}

}  // namespace
}  // namespace weft::packed_weight_test
