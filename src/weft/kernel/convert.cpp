#include "weft/kernel/convert.h"

#include <cstdint>

#include "weft/array/half_rows.h"
#include "weft/array/launch.h"

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

ElementwiseLoop::Run row_of(DType from, DType to) {
  return with_dtype(from, [to](auto from_zero) {
    return with_dtype(to, [](auto to_zero) -> ElementwiseLoop::Run {
      return convert_row<decltype(from_zero), decltype(to_zero)>;
    });
  });
}

}  // namespace

Array convert(const Array& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const Array source = x.strided();
  Array out = Array::empty(x.shape(), dtype);
  ElementwiseLoop loop;
  loop.run = row_of(x.dtype(), dtype);
  launch_elementwise("cast", {&source}, out, loop);
  return out;
}

}  // namespace weft
