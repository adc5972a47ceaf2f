#include "weft/collective/report/weighted_part.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/wire/codec.h"

namespace weft::weighted_part_test {
namespace {

TEST(WeightedPart, ComesBackFromItsBytes) {
  const double any[] = {0.0, -2.5, 1e300, std::numeric_limits<double>::infinity()};
  for (const double loss : any) {
    const WeightedPart part{16777217.0, loss};  // a weight that an f32 does not hold
    const auto back = WeightedPart::decode(part.encode());
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, part);
  }
  const auto none = WeightedPart::decode(WeightedPart{1, std::nan("")}.encode());
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(std::isnan(none->weighted_loss));
}

// Each of these would be believed by all if it were decoded: a negative weight turns the mean.
TEST(WeightedPart, RefusesWhatNoMemberWrites) {
  const auto code_of = [](const Bytes& bytes) {
    return WeightedPart::decode(bytes).status().code();
  };
  const auto with_weight = [](double weight) {
    Writer out;
    out.u8(1).f64(weight).u64(0);
    return out.take();
  };
  for (const double weight : {-1.0, 3.5e38, std::numeric_limits<double>::infinity(),
                              std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(code_of(with_weight(weight)), Code::kCorrupt) << weight;
  }
  Bytes bytes = WeightedPart{1, 1}.encode();
  bytes[0] = 2;
  EXPECT_EQ(code_of(bytes), Code::kCorrupt);
  bytes[0] = 1;
  bytes.push_back(0);
  EXPECT_EQ(code_of(bytes), Code::kCorrupt);
  bytes.resize(16);
  EXPECT_EQ(code_of(bytes), Code::kCorrupt);
}

TEST(WeightedPart, SumsWhatDecodes) {
  const std::vector<Bytes> reports = {WeightedPart{3, 6}.encode(), Bytes{}, Bytes{9, 9},
                                      WeightedPart{0.5, 1}.encode()};
  EXPECT_EQ(sum_of_parts(reports), (WeightedPart{3.5, 7}));
  EXPECT_EQ(sum_of_parts({}), WeightedPart());
}

}  // namespace
}  // namespace weft::weighted_part_test
