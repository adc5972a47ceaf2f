#include "op/bitwise.h"

#include <limits>
#include <string>
#include <type_traits>

#include "array/dtype_object.h"
#include "core/errors.h"
#include "weft/array/shape/shape.h"
#include "weft/op/compare.h"
#include "weft/op/core/promote.h"

namespace weft::python {
namespace {

constexpr const char* kSigns[] = {"&", "|", "^", "<<", ">>"};

// Shifts by no less than the width, or by less than 0, move all bits out.
template <class T>
T shifted(BitOperation operation, T a, T b) {
  using Bits = std::make_unsigned_t<T>;
  constexpr int kWidth = std::numeric_limits<Bits>::digits;
  const bool beyond = b < 0 || static_cast<std::uint64_t>(b) >= std::uint64_t{kWidth};
  if (operation == BitOperation::kLeft) {
    return beyond ? T{0} : static_cast<T>(static_cast<Bits>(static_cast<Bits>(a) << b));
  }
  if (beyond) return a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> b);
}

template <class T>
T combined(BitOperation operation, T a, T b) {
  switch (operation) {
    case BitOperation::kAnd:
      return static_cast<T>(a & b);
    case BitOperation::kOr:
      return static_cast<T>(a | b);
    case BitOperation::kXor:
      return static_cast<T>(a ^ b);
    default:
      return shifted(operation, a, b);
  }
}

template <class Body>
void with_integer_type(DType dtype, const Body& body) {
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) body(zero);
  });
}

void require_whole(const std::string& sign, const Tensor& x) {
  if (is_integer(x.dtype()) || x.dtype() == DType::kBool) return;
  throw TypeProblem(sign + " expects tensors of whole numbers or bool, got weft." +
                    dtype_name(x.dtype()));
}

Tensor logic_of_truths(BitOperation operation, const Tensor& a, const Tensor& b) {
  if (operation == BitOperation::kAnd) return logical_and(a, b);
  if (operation == BitOperation::kOr) return logical_or(a, b);
  if (operation == BitOperation::kXor) return logical_xor(a, b);
  throw TypeProblem("<< and >> expect tensors of whole numbers, got weft.bool");
}

}  // namespace

Tensor bitwise(BitOperation operation, const Tensor& a, const Tensor& b) {
  const char* const sign = kSigns[static_cast<std::size_t>(operation)];
  require_whole(sign, a);
  require_whole(sign, b);
  check_broadcast(sign, a, b);
  const DType dtype = promoted_type(a, b);
  if (dtype == DType::kBool) return logic_of_truths(operation, a, b);
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  const Array left = a.array().strided().to(dtype).expand(shape).contiguous();
  const Array right = b.array().strided().to(dtype).expand(shape).contiguous();
  Array result = Array::empty(shape, dtype);
  with_integer_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const x = left.data<T>();
    const T* const y = right.data<T>();
    T* const out = result.data<T>();
    for (std::int64_t i = 0; i < result.size(); ++i) out[i] = combined(operation, x[i], y[i]);
  });
  return Tensor(result);
}

Tensor bitwise_not(const Tensor& x) {
  require_whole("~", x);
  if (x.dtype() == DType::kBool) return logical_not(x);
  Array result = x.array().strided().clone().contiguous();
  with_integer_type(x.dtype(), [&](auto zero) {
    for (auto& value : result.flat<decltype(zero)>()) value = static_cast<decltype(zero)>(~value);
  });
  return Tensor(result);
}

}  // namespace weft::python
