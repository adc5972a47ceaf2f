#include "weft/op/shape/pick_values.h"

namespace weft {

Array pick_values(const Array& x, const Shape& shape, const PickFrom& from) {
  Array y = Array::zeros(shape, DType::kF64);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    Dims at = Dims::filled(shape.size(), 0);
    std::int64_t rest = i;
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
      at[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    const std::optional<Dims> source = from(at);
    if (!source) continue;
    std::int64_t place = 0;
    for (int axis = 0; axis < x.ndim(); ++axis) {
      place = place * x.shape()[axis] + (*source)[axis];
    }
    y.data<double>()[i] = x.data<double>()[place];
  }
  return y;
}

OpSample pick_sample(const char* name, const Shape& input,
                     const std::function<Tensor(const Tensor&)>& op, const Shape& output,
                     const PickFrom& from) {
  return {name,
          {sample_values(input, 401)},
          [op](std::span<const Tensor> in) { return op(in[0]); },
          [=](std::span<const Array> in) { return pick_values(in[0], output, from); }};
}

}  // namespace weft
