#include "weft/array/map.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "weft/array/print.h"
#include "weft/array/shape/memory_format.h"
#include "weft/base/parallel.h"
#include "weft/base/testing/test_refusal.h"

namespace weft::map_test {
namespace {

const auto softsquare = [](auto x) { return x * x / (1 + std::abs(x)); };

template <class... Arrays>
std::string refused(const Arrays&... operands) {
  return refusal([&] {
    map_floating(
        "sum_of", [](auto... numbers) { return (numbers + ...); }, operands...);
  });
}

// 2.25 and 1.5 have few digits: every type holds them.
TEST(MapFloating, WritesEveryElementInEachFloatingType) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    SCOPED_TRACE(to_string(dtype));
    const Array x = Array::from<double>({3, -3, 0, 1}, {2, 2}).to(dtype);
    const Array y = map_floating("softsquare", softsquare, x);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(to_string(y), "[[2.25, 2.25], [0, 0.5]]");
  }
}

// 1 + 2^-9 is no bf16: the function sees it in f32, and the result is rounded once.
TEST(MapFloating, ComputesHalvesInF32) {
  const Array x = Array::full({1}, 0x1p-9, DType::kBF16);
  const Array y = map_floating(
      "near", [](auto v) { return (1 + v) - 1; }, x);
  EXPECT_EQ(y.to(DType::kF64).item(), 0x1p-9);
}

TEST(MapFloating, RefusesOtherTypesAndMixedOnes) {
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kI8, DType::kU8, DType::kBool}) {
    EXPECT_EQ(
        refused(Array::zeros({2}, dtype)),
        "[sum_of] expected f32, f64, bf16 or f16 values, got " + std::string(to_string(dtype)));
  }
  EXPECT_EQ(refused(Array::zeros({2}), Array::zeros({2}, DType::kF64)),
            "[sum_of] expected operands of one type, got f32 and f64");
  EXPECT_EQ(refused(Array()), "[sum_of] expected an array, got an undefined one");
  EXPECT_NE(refused(Array::zeros({2}), Array::zeros({3})), "");
}

TEST(MapFloating, BroadcastsAndTakesAnyStrides) {
  const Array a = Array::from<float>({1, 2, 3, 4, 5, 6}, {3, 2}).transpose(0, 1);
  const Array b = Array::from<float>({10, 20}, {2, 1});
  const Array c = Array::from<float>({3, 2, 1}, {3}).flip({0});
  const auto f = [](auto x, auto y, auto z) { return x + y * z; };
  EXPECT_EQ(to_string(map_floating("f", f, a, b, c)), "[[11, 23, 35], [22, 44, 66]]");
  EXPECT_EQ(to_string(map_floating("f", softsquare, Array::zeros({2, 0}))), "[[], []]");
}

TEST(MapFloating, CarriesCapturedNumbers) {
  const double slope = 0.25;
  const float shift = 2;
  const std::int64_t times = 3;
  const auto f = [slope, shift, times](auto x) {
    return (x < 0 ? slope * x : x) * static_cast<double>(times) + shift;
  };
  EXPECT_EQ(to_string(map_floating("leaky", f, Array::from<float>({-4, 4}, {2}))), "[-1, 14]");
}

TEST(MapFloating, GivesTheSameBitsForAnyThreadCount) {
  Array x = Array::empty({100'000});
  for (std::int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(i) / 7;
  const Array one = map_floating("softsquare", softsquare, x);
  set_thread_count(3);
  const Array three = map_floating("softsquare", softsquare, x);
  set_thread_count(1);
  EXPECT_EQ(one.to_vector<float>(), three.to_vector<float>());
}

}  // namespace
}  // namespace weft::map_test
