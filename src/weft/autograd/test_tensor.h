// Small tensors from lists, their values, and the text of a refusal. For tests.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/autograd/tensor.h"
#include "weft/base/testing/test_refusal.h"

namespace weft {

// f64, contiguous.
inline Tensor tensor(const std::vector<double>& values, const Shape& shape,
                     bool requires_grad = false) {
  return Tensor(Array::from(values, shape), requires_grad);
}
inline Tensor leaf(const std::vector<double>& values, bool requires_grad = true) {
  return tensor(values, {static_cast<std::int64_t>(values.size())}, requires_grad);
}
// i64.
inline Array numbers(const std::vector<std::int64_t>& values) {
  return Array::from(values, {static_cast<std::int64_t>(values.size())});
}

// Values of any type.
inline std::vector<double> values_of(const Array& x) {
  return x.strided().to(DType::kF64).to_vector<double>();
}
inline std::vector<double> values_of(const Tensor& x) { return values_of(x.array()); }
inline std::vector<double> gradient(const Tensor& x) { return values_of(x.grad()); }

}  // namespace weft
