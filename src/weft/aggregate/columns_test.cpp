// Rules that do many coordinates at once, against what they do with one.
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/math/test_random_values.h"
#include "weft/base/rng.h"

namespace weft::columns_test {
namespace {

TEST(Columns, RulesGiveManyCoordinatesTheBitsOfEach) {
  Rng rng(3);
  int rules = 0;
  for (const AggregatorDef* def : aggregators()) {
    if (def->columns == nullptr) continue;
    ++rules;
    for (int rows = 1; rows <= 40; ++rows) {
      const RuleInput input{rows, (rows - 1) / 2 / (1 + rows % 3), 0, {}};
      const std::size_t stride = 300;
      const std::size_t count = 281;
      std::vector<float> values =
          random_values_with_ties(static_cast<std::size_t>(rows) * stride, rng);
      std::vector<float> want;
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<float> column;
        for (std::size_t at = i; at < values.size(); at += stride) column.push_back(values[at]);
        want.push_back(def->column(input, column));
      }
      std::vector<float> out(count);
      std::vector<const float*> starts;
      starts.reserve(static_cast<std::size_t>(rows));
      for (int row = 0; row < rows; ++row) {
        starts.push_back(values.data() + static_cast<std::size_t>(row) * stride);
      }
      def->columns(input, starts, out);
      for (std::size_t i = 0; i < count; ++i) {
        // The bits of a NaN, infinity less infinity, are nobody's promise.
        if (want[i] != want[i] && out[i] != out[i]) continue;
        EXPECT_EQ(std::bit_cast<std::uint32_t>(out[i]), std::bit_cast<std::uint32_t>(want[i]))
            << def->name << " of " << rows << ": " << out[i] << ", " << want[i];
      }
    }
  }
  EXPECT_EQ(rules, 2);
}

}  // namespace
}  // namespace weft::columns_test
