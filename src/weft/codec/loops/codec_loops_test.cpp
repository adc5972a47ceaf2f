// The loops of signs against one value after the other, for each instruction set.
#include "weft/codec/loops/codec_loops.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/bytes.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"

namespace weft::codec_loops_test {
namespace {

// Zeros of both signs, the smallest and the largest among others.
std::vector<float> signed_values(std::size_t size) {
  using Limits = std::numeric_limits<float>;
  const float odd[] = {0.0F,          -0.0F,           Limits::denorm_min(), -Limits::denorm_min(),
                       Limits::max(), Limits::lowest()};
  Rng rng(size);
  std::vector<float> values(size);
  for (float& value : values) {
    const std::uint64_t which = rng.below(12);
    value = which < 6 ? odd[which] : static_cast<float>(rng.uniform() * 2 - 1);
  }
  return values;
}

bool bit_of(const Bytes& bits, std::size_t at) { return (bits[at / 8] >> (at % 8) & 1U) != 0; }

TEST(CodecLoops, SignsAndZerosBecomeBitsAndComeBack) {
  for (const auto& [isa, loops] : loops_that_run(codec_loops_tables)) {
    for (std::size_t size = 1; size <= 130; ++size) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(isa) << ", " << size << " values");
      const std::vector<float> values = signed_values(size);
      // A byte behind them, which is to stay.
      Bytes signs((size + 7) / 8 + 1, 0xaa);
      Bytes zeros((size + 7) / 8 + 1, 0xaa);
      bool any = false;
      const bool told = loops->sign_bits(values.data(), signs.data(), zeros.data(), size);
      EXPECT_EQ(signs.back(), 0xaa);
      EXPECT_EQ(zeros.back(), 0xaa);
      for (std::size_t i = 0; i < 8 * (signs.size() - 1); ++i) {
        EXPECT_EQ(bit_of(signs, i), i < size && values[i] < 0) << i;
        EXPECT_EQ(bit_of(zeros, i), i < size && values[i] == 0) << i;
        any = any || (i < size && values[i] == 0);
      }
      EXPECT_EQ(told, any);
      std::vector<float> out(size + 1, 77.0F);
      loops->spread_signs(signs.data(), 0.5F, out.data(), size);
      for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(out[i], values[i] < 0 ? -0.5F : 0.5F) << i;
      loops->clear_zeros(zeros.data(), out.data(), size);
      for (std::size_t i = 0; i < size; ++i) {
        EXPECT_EQ(out[i], values[i] == 0 ? 0 : (values[i] < 0 ? -0.5F : 0.5F)) << i;
        EXPECT_FALSE(out[i] == 0 && std::signbit(out[i])) << i;
      }
      EXPECT_EQ(out.back(), 77.0F);
    }
  }
}

TEST(CodecLoops, TheLargestSizeCountsInfinitiesAndNaN) {
  for (const auto& [isa, loops] : loops_that_run(codec_loops_tables)) {
    for (const float value : {-2.0F, INFINITY, -INFINITY, std::nanf("")}) {
      for (std::size_t place = 0; place < 40; ++place) {
        std::vector<float> values(40, -1.0F);
        values[place] = value;
        EXPECT_EQ(loops->largest_size(values.data(), values.size()),
                  std::bit_cast<std::uint32_t>(std::abs(value)))
            << static_cast<int>(isa) << ", " << value << " at " << place;
      }
    }
    EXPECT_EQ(loops->largest_size(nullptr, 0), 0U);
  }
}

}  // namespace
}  // namespace weft::codec_loops_test
