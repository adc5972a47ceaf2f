// Types, promotion (against PyTorch's table), conversion of values, and the 16-bit floats bit by
// bit.
#include "weft/array/dtype/dtype.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/array/array.h"
#include "weft/array/dtype/half_rows.h"

namespace weft::dtype_test {
namespace {

constexpr DType kAll[] = {DType::kF32, DType::kF64, DType::kI64, DType::kU8,  DType::kBF16,
                          DType::kF16, DType::kI8,  DType::kI32, DType::kBool};

// torch.promote_types of PyTorch 1.13, rows and columns in the order of the enumerators; i16, which
// it gives for u8 and i8, is i32 here.
TEST(DType, promotes_as_pytorch) {
  constexpr auto kF32 = DType::kF32;
  constexpr auto kF64 = DType::kF64;
  constexpr auto kI64 = DType::kI64;
  constexpr auto kU8 = DType::kU8;
  constexpr auto kBF16 = DType::kBF16;
  constexpr auto kF16 = DType::kF16;
  constexpr auto kI8 = DType::kI8;
  constexpr auto kI32 = DType::kI32;
  constexpr auto kBool = DType::kBool;
  constexpr DType kWant[kDTypes][kDTypes] = {
      {kF32, kF64, kF32, kF32, kF32, kF32, kF32, kF32, kF32},
      {kF64, kF64, kF64, kF64, kF64, kF64, kF64, kF64, kF64},
      {kF32, kF64, kI64, kI64, kBF16, kF16, kI64, kI64, kI64},
      {kF32, kF64, kI64, kU8, kBF16, kF16, kI32, kI32, kU8},
      {kF32, kF64, kBF16, kBF16, kBF16, kF32, kBF16, kBF16, kBF16},
      {kF32, kF64, kF16, kF16, kF32, kF16, kF16, kF16, kF16},
      {kF32, kF64, kI64, kI32, kBF16, kF16, kI8, kI32, kI8},
      {kF32, kF64, kI64, kI32, kBF16, kF16, kI32, kI32, kI32},
      {kF32, kF64, kI64, kU8, kBF16, kF16, kI8, kI32, kBool},
  };
  for (std::size_t a = 0; a < kDTypes; ++a) {
    for (std::size_t b = 0; b < kDTypes; ++b) {
      EXPECT_EQ(promote_types(kAll[a], kAll[b]), kWant[a][b])
          << to_string(kAll[a]) << " " << to_string(kAll[b]);
    }
  }
}

TEST(DType, sizes_names_and_kinds_agree_with_the_types) {
  for (const DType dtype : kAll) {
    with_dtype(dtype, [&](auto zero) {
      using T = decltype(zero);
      EXPECT_EQ(dtype_of<T>(), dtype);
      EXPECT_EQ(size_of(dtype), sizeof(T));
      EXPECT_EQ(is_floating(dtype), kIsFloating<T>);
      EXPECT_EQ(is_integer(dtype), std::is_integral_v<T> && !(std::is_same_v<T, bool>));
    });
  }
  EXPECT_EQ(to_string(DType::kBF16), "bf16");
  EXPECT_EQ(to_string(DType::kBool), "bool");
  EXPECT_THROW(with_floating_dtype(DType::kI32, [](auto) {}), std::invalid_argument);
}

TEST(Convert, from_floats_saturates_truncates_and_takes_nan_for_zero) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  EXPECT_EQ(convert_value<std::int8_t>(-1.9F), -1);
  EXPECT_EQ(convert_value<std::int8_t>(127.5), 127);
  EXPECT_EQ(convert_value<std::int8_t>(128.0), 127);
  EXPECT_EQ(convert_value<std::int8_t>(-1e9F), -128);
  EXPECT_EQ(convert_value<std::uint8_t>(-3.0), 0);
  EXPECT_EQ(convert_value<std::uint8_t>(255.99), 255);
  EXPECT_EQ(convert_value<std::uint8_t>(inf), 255);
  EXPECT_EQ(convert_value<std::int32_t>(2147483648.0F), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(convert_value<std::int64_t>(9.3e18), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(convert_value<std::int64_t>(-inf), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(convert_value<std::int64_t>(nan), 0);
  EXPECT_EQ(convert_value<std::uint8_t>(std::nanf("")), 0);
  EXPECT_TRUE(convert_value<bool>(nan));
  EXPECT_TRUE(convert_value<bool>(0.25F));
  EXPECT_FALSE(convert_value<bool>(-0.0));
  EXPECT_EQ(convert_value<std::uint8_t>(std::int64_t{257}), 1);
  EXPECT_EQ(convert_value<std::int32_t>(BFloat16(-2.75F)), -2);
  EXPECT_EQ(static_cast<float>(convert_value<Float16>(1e6)),
            std::numeric_limits<float>::infinity());
}

// The nearest value of a format with `fraction` bits and this smallest exponent, by arithmetic in
// f64 whose rounding (to nearest even) is exact here.
double nearest_in(double x, int fraction, int exponent_min) {
  int exponent = 0;
  std::frexp(x, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent - 1, exponent_min) - fraction);
  return std::nearbyint(x / unit) * unit;
}

TEST(Half, rounds_to_nearest_even_as_arithmetic_says) {
  // Floats of every exponent with the fractions where rounding decides.
  for (std::uint32_t high = 0; high < 0x7F80; ++high) {
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x7FFFU, 0x8000U, 0x8001U, 0x1000U, 0x0FFFU,
                                    0x1001U, 0x3000U, 0xF000U, 0xFFFFU}) {
      const float x = __builtin_bit_cast(float, (high << 16U) | low);
      const double bf16 = nearest_in(x, 7, -126);
      if (bf16 < 3.4e38) {
        ASSERT_EQ(static_cast<double>(static_cast<float>(BFloat16(x))), bf16) << high << " " << low;
        ASSERT_EQ(static_cast<double>(static_cast<float>(BFloat16(-x))), -bf16);
      }
      const double f16 = nearest_in(x, 10, -14);
      const double got = static_cast<double>(static_cast<float>(Float16(x)));
      ASSERT_EQ(got, f16 > 65504.0 ? std::numeric_limits<double>::infinity() : f16) << x;
    }
  }
}

TEST(Half, every_pattern_survives_a_round_trip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    BFloat16 b;
    b.bits = static_cast<std::uint16_t>(bits);
    Float16 f;
    f.bits = static_cast<std::uint16_t>(bits);
    const float wide_b = b;
    const float wide_f = f;
    const bool quiet_b = std::isnan(wide_b);
    ASSERT_EQ(BFloat16(wide_b).bits, quiet_b ? bits | 0x40U : bits);
    ASSERT_EQ(Float16(wide_f).bits, std::isnan(wide_f) ? bits | 0x200U : bits);
  }
  EXPECT_EQ(static_cast<float>(Float16(6.1035e-5F)), 6.1035156e-05F);
}

TEST(Half, rows_give_the_bits_of_single_values) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 80'003; ++i) {
    values.push_back(__builtin_bit_cast(float, i * 53'687U + 11U));
  }
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<BFloat16> b(values.size());
  std::vector<Float16> f(values.size());
  from_f32_row(values.data(), b.data(), count);
  from_f32_row(values.data(), f.data(), count);
  std::vector<float> wide_b(values.size());
  std::vector<float> wide_f(values.size());
  to_f32_row(b.data(), wide_b.data(), count);
  to_f32_row(f.data(), wide_f.data(), count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(b[i].bits, BFloat16(values[i]).bits) << i;
    ASSERT_EQ(f[i].bits, Float16(values[i]).bits) << i;
    ASSERT_EQ(__builtin_bit_cast(std::uint32_t, wide_b[i]),
              __builtin_bit_cast(std::uint32_t, static_cast<float>(b[i])));
    ASSERT_EQ(__builtin_bit_cast(std::uint32_t, wide_f[i]),
              __builtin_bit_cast(std::uint32_t, static_cast<float>(f[i])));
  }
}

// NOLINTNEXTLINE(readability-function-size): the macros of assertions count as nesting.
TEST(Convert, arrays_of_any_two_types_convert_as_single_values_do) {
  const std::vector<double> values = {0.0, 1.0, -1.0, 2.5, -7.75, 100.0, 300.0, -300.0, 3e9, 1e20};
  for (const DType from : kAll) {
    Array source = Array::empty({10}, from);
    source.copy_from(Array::from(values, {10}));
    for (const DType to : kAll) {
      const Array dense = source.to(to);
      const Array strided = source.slice(0, {}, {}, -3).to(to).contiguous();
      ASSERT_EQ(dense.dtype(), to);
      with_dtype(from, [&](auto from_zero) {
        with_dtype(to, [&](auto to_zero) {
          using From = decltype(from_zero);
          using To = decltype(to_zero);
          for (std::int64_t i = 0; i < 10; ++i) {
            const To want = convert_value<To>(source.data<From>()[i]);
            ASSERT_EQ(dense.data<To>()[i], want) << to_string(from) << " " << to_string(to);
            if (i % 3 == 0) {
              ASSERT_EQ(strided.data<To>()[(9 - i) / 3], want);
            }
          }
        });
      });
    }
  }
}

TEST(Convert, fill_item_and_bool_arrays) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(Array::full({2}, 1.0, dtype).select(0, 1).item(), 1.0) << to_string(dtype);
    EXPECT_EQ(Array::zeros({2, 2}, dtype).select(0, 1).select(0, 0).item(), 0.0);
  }
  EXPECT_EQ(Array::full({1}, 300.0, DType::kU8).item(), 255.0);
  EXPECT_EQ(Array::full({1}, 0.1, DType::kBool).item_int(), 1);
  EXPECT_EQ(Array::from(std::vector<std::int64_t>{(std::int64_t{1} << 60) + 1}, {1}).item_int(),
            (std::int64_t{1} << 60) + 1);
  const Array flags = Array::from(std::vector<bool>{true, false, true}, {3});
  EXPECT_EQ(flags.dtype(), DType::kBool);
  EXPECT_EQ(flags.to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_THROW(Array::from(std::vector<bool>{true}, {2}), std::invalid_argument);
}

TEST(Storage, counts_writes_in_place) {
  Array x = Array::zeros({4});
  const std::uint64_t before = x.storage()->version();
  (void)x.slice(0, 0, 2).clone();
  EXPECT_EQ(x.storage()->version(), before);
  x.slice(0, 0, 2).fill(1.0);
  EXPECT_EQ(x.storage()->version(), before + 1);
  x.copy_from(Array::zeros({1}));
  EXPECT_EQ(x.storage()->version(), before + 2);
}

}  // namespace
}  // namespace weft::dtype_test
