// What looks at values and gives positions or counts: nonzero, bincount, searchsorted, unique.
#include <algorithm>

#include "weft/array/launch.h"
#include "weft/kernel/index/arrange.h"
#include "weft/kernel/index/gather.h"
#include "weft/kernel/index/sort.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"

namespace weft {

Array nonzero(const IndexOperand& values) {
  const Array& x = values.array();
  const Array found = nonzero_elements("nonzero", x).to(Device::cpu());
  Array y = Array::empty({found.size(), x.ndim()}, DType::kI64);
  std::int64_t* const out = y.data<std::int64_t>();
  for (std::int64_t i = 0; i < found.size(); ++i) {
    std::int64_t rest = found.data<std::int64_t>()[i];
    for (int axis = x.ndim() - 1; axis >= 0; --axis) {
      out[i * x.ndim() + axis] = rest % x.shape()[axis];
      rest /= x.shape()[axis];
    }
  }
  return y.to(x.device());
}

Array bincount(const IndexOperand& x, std::int64_t length_min, const Array& weights) {
  launch_host_read("bincount");
  const Array values = x.indexes("bincount", "values").to(Device::cpu());
  if (values.ndim() != 1) throw_operand("bincount", "one axis", to_string(values.shape()));
  if (weights.defined() && !(weights.shape() == values.shape())) {
    throw_operand("bincount", "weights of shape " + to_string(values.shape()),
                  to_string(weights.shape()));
  }
  std::int64_t length = std::max<std::int64_t>(0, length_min);
  for (const std::int64_t value : values.flat<std::int64_t>()) {
    if (value < 0) throw_operand("bincount", "values of 0 or more", std::to_string(value));
    length = std::max(length, value + 1);
  }
  const DType dtype = weights.defined() ? DType::kF64 : DType::kI64;
  const Array source = weights.defined() ? weights.to(dtype).to(Device::cpu())
                                         : Array::full(values.shape(), 1, dtype);
  Array counts = Array::zeros({length}, dtype);
  add_rows_into("bincount", counts, values, source);
  return counts.to(x.array().device());
}

Array searchsorted(const Array& sorted, const Array& values, bool right) {
  bool fits = sorted.ndim() == 1;
  if (!fits && sorted.ndim() == values.ndim() && values.ndim() > 0) {
    Shape expected = sorted.shape();
    expected[expected.size() - 1] = values.shape().back();
    fits = expected == values.shape();
  }
  if (!fits) {
    throw_operand(
        "searchsorted",
        "sorted values of one axis or with the leading axes of " + to_string(values.shape()),
        to_string(sorted.shape()));
  }
  const DType dtype = promote_types(sorted.dtype(), values.dtype());
  return searchsorted_rows(sorted.to(dtype).contiguous(), values.to(dtype).contiguous(), right);
}

Unique unique(const Array& x) {
  launch_host_read("unique");
  const Array flat = x.contiguous().to(Device::cpu()).reshape({x.size()});
  const Array order = argsort_rows(flat, false);
  const Array sorted = select_rows("unique", flat, 0, order);
  std::vector<std::int64_t> firsts;
  std::vector<std::int64_t> counts;
  Array inverse = Array::empty(x.shape(), DType::kI64);
  with_dtype(x.dtype(), [&](auto zero) {
    const auto* const values = sorted.data<decltype(zero)>();
    for (std::int64_t i = 0; i < sorted.size(); ++i) {
      // NaN differs from NaN, as in PyTorch.
      if (i == 0 || values[i] != values[i - 1]) {
        firsts.push_back(i);
        counts.push_back(0);
      }
      ++counts.back();
      inverse.data<std::int64_t>()[order.data<std::int64_t>()[i]] =
          static_cast<std::int64_t>(firsts.size()) - 1;
    }
  });
  const auto count = static_cast<std::int64_t>(firsts.size());
  return {select_rows("unique", sorted, 0, Array::from(firsts, {count})).to(x.device()),
          inverse.to(x.device()), Array::from(counts, {count}).to(x.device())};
}

}  // namespace weft
