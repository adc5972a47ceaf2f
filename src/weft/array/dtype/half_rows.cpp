#include "weft/array/dtype/half_rows.h"

#include "weft/array/dtype/half_rows_loops.h"

namespace weft {
namespace {

// Both types are their bits.
template <class Half>
const std::uint16_t* bits_of(const Half* values) {
  static_assert(sizeof(Half) == sizeof(std::uint16_t));
  return reinterpret_cast<const std::uint16_t*>(values);
}
template <class Half>
std::uint16_t* bits_of(Half* values) {
  static_assert(sizeof(Half) == sizeof(std::uint16_t));
  return reinterpret_cast<std::uint16_t*>(values);
}

}  // namespace

void to_f32_row(const BFloat16* from, float* to, std::int64_t count) {
  half_row_loops().widen_bf16(bits_of(from), to, count);
}
void from_f32_row(const float* from, BFloat16* to, std::int64_t count) {
  half_row_loops().narrow_bf16(from, bits_of(to), count);
}

void to_f32_row(const Float16* from, float* to, std::int64_t count) {
  for (std::int64_t i = half_row_loops().widen_f16(bits_of(from), to, count); i < count; ++i) {
    to[i] = from[i];
  }
}
void from_f32_row(const float* from, Float16* to, std::int64_t count) {
  for (std::int64_t i = half_row_loops().narrow_f16(from, bits_of(to), count); i < count; ++i) {
    to[i] = static_cast<Float16>(from[i]);
  }
}

}  // namespace weft
