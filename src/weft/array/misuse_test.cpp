// What callers get wrong throws, with what came and what to do; the program goes on.
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/array/array.h"
#include "weft/array/pair.h"
#include "weft/base/testing/test_refusal.h"

namespace weft::misuse_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class OddOrder : public MemoryFormat {
 public:
  std::size_t size_bytes() const override { return 64; }
  Array to_strided(const Array& blocked) const override {
    return Array::full(blocked.shape(), 5.0, blocked.dtype());
  }
};

TEST(ArrayMisuse, AnotherTypeIsNamedWithTheOneThatIsThere) {
  Array x = Array::zeros({2});
  const auto types = AllOf(HasSubstr("f32"), HasSubstr("f64"), HasSubstr("to()"));
  EXPECT_THAT(refusal([&] { x.data<double>(); }), AllOf(HasSubstr("[data]"), types));
  EXPECT_THAT(refusal([&] { x.flat<double>(); }), types);
  EXPECT_THAT(refusal([&] { x.to_vector<double>(); }), AllOf(HasSubstr("[to_vector]"), types));
}

TEST(ArrayMisuse, AnUndefinedArrayIsRefused) {
  Array undefined;
  Array full = Array::zeros({2});
  const Array kept = std::move(full);
  // NOLINTNEXTLINE(bugprone-use-after-move): what an array does then is under test.
  for (Array* array : {&undefined, &full}) {
    const auto said = AllOf(HasSubstr("undefined"), HasSubstr("moved from"));
    EXPECT_THAT(refusal([&] { array->to_vector<float>(); }), said);
    EXPECT_THAT(refusal([&] { array->flat<float>(); }), said);
    EXPECT_THAT(refusal([&] { array->data<float>(); }), said);
    EXPECT_THAT(refusal([&] { array->fill(1); }), AllOf(HasSubstr("[fill]"), said));
    EXPECT_THAT(refusal([&] { array->copy_from(kept); }), said);
  }
}

TEST(ArrayMisuse, ElementsThatAreNotInOrderLeadToContiguous) {
  const Array x = Array::zeros({2, 3});
  EXPECT_THAT(refusal([&] { x.transpose(0, 1).flat<float>(); }),
              AllOf(HasSubstr("strides [1, 3]"), HasSubstr("contiguous()")));
  Array blocked = Array::blocked({2}, DType::kF32, std::make_shared<OddOrder>());
  const auto said = AllOf(HasSubstr("blocked"), HasSubstr("contiguous()"));
  EXPECT_THAT(refusal([&] { blocked.flat<float>(); }), said);
  EXPECT_THAT(refusal([&] { blocked.data<float>(); }), said);
  EXPECT_THAT(refusal([&] { blocked.fill(1); }), said);
  EXPECT_THAT(blocked.to_vector<float>(), ElementsAre(5, 5));
}

TEST(ArrayMisuse, PlacesOutsideAShapeAreRefused) {
  Shape shape = {2, 3};
  EXPECT_THAT(refusal([&] { shape.insert(3, 1); }), HasSubstr("from 0 to 2, got 3"));
  EXPECT_THAT(refusal([&] { shape.erase(2); }), HasSubstr("from 0 to 1, got 2"));
  EXPECT_THAT(refusal([&] { Array::on(nullptr, 0, {1}, {1}, DType::kF32); }), HasSubstr("null"));
}

TEST(Pair, OneNumberHoldsForBothAxes) {
  const Pair both = 3;
  EXPECT_EQ(both, (Pair{3, 3}));
  EXPECT_EQ(both[0], 3);
  EXPECT_EQ(both[1], 3);
  Pair each = {1, 2};
  EXPECT_FALSE(each == Pair(1));
  each[1] = 5;
  const auto [height, width] = each;
  EXPECT_EQ(height, 1);
  EXPECT_EQ(width, 5);
  static_assert(!std::is_convertible_v<double, Pair>);
}

}  // namespace
}  // namespace weft::misuse_test
