#include "weft/op/core/promote.h"

#include <cmath>

#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"

namespace weft {
namespace {

void check_defined(const char* op, const Tensor& x) {
  if (!x.defined()) throw_operand(op, "a tensor", "an undefined one");
}

}  // namespace

void check_broadcast(const char* op, const Tensor& a, const Tensor& b) {
  check_defined(op, a);
  check_defined(op, b);
  const int common = std::min(a.ndim(), b.ndim());
  for (int i = 1; i <= common; ++i) {
    const std::int64_t x = a.shape()[a.ndim() - i];
    const std::int64_t y = b.shape()[b.ndim() - i];
    if (x == y || x == 1 || y == 1) continue;
    throw_operand(op, "broadcastable shapes",
                  to_string(a.shape()) + " and " + to_string(b.shape()));
  }
}

DType promoted_type(const Tensor& a, const Tensor& b) {
  if ((a.ndim() == 0) == (b.ndim() == 0)) return promote_types(a.dtype(), b.dtype());
  const DType array = a.ndim() == 0 ? b.dtype() : a.dtype();
  const DType value = a.ndim() == 0 ? a.dtype() : b.dtype();
  return kind_of(value) > kind_of(array) ? promote_types(array, value) : array;
}

Operands promote(const char* op, const Tensor& a, const Tensor& b) {
  check_broadcast(op, a, b);
  const DType common = promoted_type(a, b);
  return {cast(a, common), cast(b, common)};
}

Operands promote_floating(const char* op, const Tensor& a, const Tensor& b) {
  check_broadcast(op, a, b);
  const DType common = promoted_type(a, b);
  const DType wanted = is_floating(common) ? common : DType::kF32;
  return {cast(a, wanted), cast(b, wanted)};
}

Tensor floating_operand(const char* op, const Tensor& x) {
  check_defined(op, x);
  return is_floating(x.dtype()) ? x : cast(x, DType::kF32);
}

Tensor operand_beside(const char* op, const Tensor& x, double value) {
  check_defined(op, x);
  if (is_floating(x.dtype())) return x;
  if (std::floor(value) != value || std::isinf(value)) return cast(x, DType::kF32);
  return x.dtype() == DType::kBool ? cast(x, DType::kI64) : x;
}

}  // namespace weft
