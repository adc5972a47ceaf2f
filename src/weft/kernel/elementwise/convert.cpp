#include "weft/kernel/elementwise/convert.h"

#include <cstdint>

#include "weft/array/dtype/half_rows.h"
#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/onednn.h"

namespace weft {
namespace {

template <class From, class To>
void convert_row(const ElementwiseLoop&, const RunOperand* operands, void* out,
                 std::int64_t count) {
  const auto* const from = static_cast<const From*>(operands[0].data);
  const std::int64_t step = operands[0].step;
  auto* const to = static_cast<To*>(out);
  if constexpr (kIsHalf<From> && std::is_same_v<To, float>) {
    if (step == 1) {
      to_f32_row(from, to, count);
      return;
    }
  } else if constexpr (std::is_same_v<From, float> && kIsHalf<To>) {
    if (step == 1) {
      from_f32_row(from, to, count);
      return;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) to[i] = convert_value<To>(from[i * step]);
}

ElementwiseLoop::Run convert_row_of(DType from, DType to) {
  return with_dtype(from, [to](auto from_zero) {
    return with_dtype(to, [](auto to_zero) -> ElementwiseLoop::Run {
      return convert_row<decltype(from_zero), decltype(to_zero)>;
    });
  });
}

constexpr std::int64_t kConvertGrain = 32 * 1024;

bool is_blocked_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kBF16 || dtype == DType::kF16;
}

// Both in one order.
template <class From, class To>
void convert_dense(const Array& from, Array& to) {
  const auto* const source = static_cast<const From*>(from.raw_data());
  auto* const target = static_cast<To*>(to.raw_data());
  parallel_for(dense_elements(to), kConvertGrain, [&](std::int64_t begin, std::int64_t end) {
    const RunOperand operand{source + begin, 1};
    convert_row<From, To>({}, &operand, target + begin, end - begin);
  });
}

void convert_blocks(const Array& from, Array& to) {
  with_dtype(from.dtype(), [&](auto from_zero) {
    with_dtype(to.dtype(), [&](auto to_zero) {
      convert_dense<decltype(from_zero), decltype(to_zero)>(from, to);
    });
  });
}

}  // namespace

Array convert(const Array& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  if (!x.is_strided() && is_blocked_type(x.dtype()) && is_blocked_type(dtype)) {
    Array out = like(x, dtype);
    launch("cast", {&x}, {&out},
           [](LaunchArrays in, LaunchArrays to) { convert_blocks(in[0], to[0]); });
    return out;
  }
  const Array source = x.strided();
  Array out = Array::empty(x.shape(), dtype, x.device());
  ElementwiseLoop loop;
  loop.run = convert_row_of(x.dtype(), dtype);
  launch_elementwise("cast", {&source}, out, loop);
  return out;
}

}  // namespace weft
