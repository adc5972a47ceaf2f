#include "weft/kernel/attention/rotary.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "weft/kernel/core/test_random_array.h"

namespace weft::rotary_test {
namespace {

// By the formula of rotary.h, in f64.
double turned(const Array& x, const RotaryRun& run, std::int64_t token, std::int64_t i) {
  const std::int64_t width = x.dim(3);
  const std::int64_t half = width / 2;
  const float* const row = x.data<float>() + token * width;
  const double angle =
      static_cast<double>(run.first_place + token) *
      std::pow(run.base, -2.0 * static_cast<double>(i % half) / static_cast<double>(width));
  const double sin = run.inverse ? -std::sin(angle) : std::sin(angle);
  const double other = row[i < half ? i + half : i - half];
  return row[i] * std::cos(angle) + (i < half ? -other : other) * sin;
}

void expect_turned(const RotaryRun& run, std::int64_t tokens, std::int64_t width) {
  const Array x = random_array({1, tokens, 1, width}, 1);
  const std::vector<float> got = rotary_turn(x, run).to_vector<float>();
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t i = 0; i < width; ++i) {
      ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(token * width + i)]),
                  turned(x, run, token, i), 1e-6)
          << "place " << run.first_place + token << ", value " << i << ", base " << run.base;
    }
  }
}

// Turns are kept between calls: none may get those of another base, size or place.
TEST(Rotary, FollowsTheFormulaInAnyOrderOfCalls) {
  for (const double base : {10000.0, 500.0}) {
    for (const std::int64_t width : {2, 8, 64}) {
      for (const std::int64_t first : {0, 3, 1, 700, 16380, 16400, 1000000, 0}) {
        expect_turned({.base = base, .first_place = first}, 7, width);
        expect_turned({.base = base, .first_place = first, .inverse = true}, 7, width);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Rotary, ItemsAtPlacesOfTheirOwnHaveTheBitsOfEachAlone) {
  const std::vector<std::int64_t> places = {5, 0, 900, 900, 20'000'000};
  const auto items = static_cast<std::int64_t>(places.size());
  const Array x = random_array({items, 3, 2, 8}, 1);
  const Array all = rotary_turn(x, {.row_places = places});
  for (std::int64_t i = 0; i < items; ++i) {
    const Array own =
        rotary_turn(x.slice(0, i, i + 1), {.first_place = places[static_cast<std::size_t>(i)]});
    EXPECT_EQ(all.slice(0, i, i + 1).to_vector<float>(), own.to_vector<float>()) << i;
  }
}

}  // namespace
}  // namespace weft::rotary_test
