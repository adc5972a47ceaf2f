// Arithmetic wraps around as two's complement does: it is done on unsigned words.
#include "weft/kernel/elementwise/integer_rows.h"

#include <type_traits>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace weft {
namespace {

// Through the unsigned type of at least 32 bits, so that nothing is promoted to a signed one.
template <class T>
constexpr auto word(T value) {
  using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return static_cast<Word>(value);
}

struct Neg {
  template <class T>
  static T of(T a) {
    return static_cast<T>(0U - word(a));
  }
};
struct Abs {
  template <class T>
  static T of(T a) {
    return a < 0 ? Neg::of(a) : a;
  }
};
struct Sign {
  template <class T>
  static T of(T a) {
    return static_cast<T>((a > 0) - (a < 0));
  }
};
struct Square {
  template <class T>
  static T of(T a) {
    return static_cast<T>(word(a) * word(a));
  }
};
// Rounding leaves integers alone.
struct Same {
  template <class T>
  static T of(T a) {
    return a;
  }
};
struct Clamp {
  template <class T>
  static T of(T a, T low, T high) {
    const T raised = a < low ? low : a;
    return raised > high ? high : raised;
  }
};
struct Never {
  template <class T>
  static bool of(T) {
    return false;
  }
};
struct Always {
  template <class T>
  static bool of(T) {
    return true;
  }
};
struct IsZero {
  template <class T>
  static bool of(T a) {
    return a == 0;
  }
};

struct Add {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(word(a) + word(b));
  }
};
struct Sub {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(word(a) - word(b));
  }
};
struct Mul {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(word(a) * word(b));
  }
};
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    return a > b ? a : b;
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    return a < b ? a : b;
  }
};
// By squares; a negative exponent gives 0 but for a base of 1 or -1.
struct Pow {
  template <class T>
  static T of(T a, T b) {
    if (b < 0) {
      if (a == 1) return T{1};
      if (std::is_signed_v<T> && a == static_cast<T>(-1)) return b % 2 == 0 ? T{1} : a;
      return T{0};
    }
    auto result = word(T{1});
    auto base = word(a);
    for (auto left = word(b); left > 0; left >>= 1U) {
      if ((left & 1U) != 0) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  }
};
struct Remainder {
  template <class T>
  static T of(T a, T b) {
    if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return T{0};
    const T rest = static_cast<T>(a % b);
    return rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
};
struct FloorDivide {
  template <class T>
  static T of(T a, T b) {
    if (b == 0) return T{0};
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Neg::of(a);
    const T quotient = static_cast<T>(a / b);
    const bool rounded_up = a % b != 0 && (a < 0) != (b < 0);
    return rounded_up ? static_cast<T>(quotient - 1) : quotient;
  }
};
struct Equal {
  template <class T>
  static T of(T a, T b) {
    return a == b ? T{1} : T{0};
  }
};

#define WEFT_COMPARISON(Name, expression) \
  struct Name {                           \
    template <class T>                    \
    static bool of(T a, T b) {            \
      return expression;                  \
    }                                     \
  };
WEFT_COMPARISON(Eq, a == b)
WEFT_COMPARISON(Ne, a != b)
WEFT_COMPARISON(Lt, a < b)
WEFT_COMPARISON(Le, a <= b)
WEFT_COMPARISON(Gt, a > b)
WEFT_COMPARISON(Ge, a >= b)
WEFT_COMPARISON(LogicalAnd, a != 0 && b != 0)
WEFT_COMPARISON(LogicalOr, a != 0 || b != 0)
WEFT_COMPARISON(LogicalXor, (a != 0) != (b != 0))
#undef WEFT_COMPARISON

template <class F, class T>
void unary_row(const RunOperand* operands, void* out, std::int64_t count, const double*) {
  using Result = decltype(F::of(T{}));
  const auto* const x = static_cast<const T*>(operands[0].data);
  auto* const y = static_cast<Result*>(out);
  const std::int64_t step = operands[0].step;
  for (std::int64_t i = 0; i < count; ++i) y[i] = F::of(x[i * step]);
}

template <class T>
void clamp_row(const RunOperand* operands, void* out, std::int64_t count, const double* scalars) {
  const auto* const x = static_cast<const T*>(operands[0].data);
  auto* const y = static_cast<T*>(out);
  const T low = convert_value<T>(scalars[0]);
  const T high = convert_value<T>(scalars[1]);
  const std::int64_t step = operands[0].step;
  for (std::int64_t i = 0; i < count; ++i) y[i] = Clamp::of(x[i * step], low, high);
}

template <class F, class T>
void binary_row(const RunOperand* operands, void* out, std::int64_t count, const double*) {
  using Result = decltype(F::of(T{}, T{}));
  const auto* const a = static_cast<const T*>(operands[0].data);
  const auto* const b = static_cast<const T*>(operands[1].data);
  auto* const y = static_cast<Result*>(out);
  const std::int64_t step_a = operands[0].step;
  const std::int64_t step_b = operands[1].step;
  if (step_a == 1 && step_b == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::of(a[i], b[i]);
  } else if (step_a == 1 && step_b == 0) {
    const T value = *b;
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::of(a[i], value);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::of(a[i * step_a], b[i * step_b]);
  }
}

// bool is stored as bytes 0 and 1.
template <class F>
ElementwiseRow unary_of(DType dtype, bool with_bool) {
  switch (dtype) {
    case DType::kI64:
      return unary_row<F, std::int64_t>;
    case DType::kI32:
      return unary_row<F, std::int32_t>;
    case DType::kI8:
      return unary_row<F, std::int8_t>;
    case DType::kU8:
      return unary_row<F, std::uint8_t>;
    default:
      return with_bool ? unary_row<F, std::uint8_t> : nullptr;
  }
}

template <class F>
ElementwiseRow binary_of(DType dtype, bool with_bool) {
  switch (dtype) {
    case DType::kI64:
      return binary_row<F, std::int64_t>;
    case DType::kI32:
      return binary_row<F, std::int32_t>;
    case DType::kI8:
      return binary_row<F, std::int8_t>;
    case DType::kU8:
      return binary_row<F, std::uint8_t>;
    default:
      return with_bool ? binary_row<F, std::uint8_t> : nullptr;
  }
}

ElementwiseRow clamp_of(DType dtype) {
  switch (dtype) {
    case DType::kI64:
      return clamp_row<std::int64_t>;
    case DType::kI32:
      return clamp_row<std::int32_t>;
    case DType::kI8:
      return clamp_row<std::int8_t>;
    case DType::kU8:
      return clamp_row<std::uint8_t>;
    default:
      return nullptr;
  }
}

ElementwiseRow comparison_row(BinaryOp op, DType dtype) {
  switch (op) {
    case BinaryOp::kEq:
      return binary_of<Eq>(dtype, true);
    case BinaryOp::kNe:
      return binary_of<Ne>(dtype, true);
    case BinaryOp::kLt:
      return binary_of<Lt>(dtype, true);
    case BinaryOp::kLe:
      return binary_of<Le>(dtype, true);
    case BinaryOp::kGt:
      return binary_of<Gt>(dtype, true);
    case BinaryOp::kGe:
      return binary_of<Ge>(dtype, true);
    case BinaryOp::kLogicalAnd:
      return binary_of<LogicalAnd>(dtype, true);
    case BinaryOp::kLogicalOr:
      return binary_of<LogicalOr>(dtype, true);
    case BinaryOp::kLogicalXor:
      return binary_of<LogicalXor>(dtype, true);
    default:
      return nullptr;
  }
}

}  // namespace

ElementwiseRow integer_row(UnaryOp op, DType dtype) {
  switch (op) {
    case UnaryOp::kNeg:
      return unary_of<Neg>(dtype, false);
    case UnaryOp::kAbs:
      return unary_of<Abs>(dtype, false);
    case UnaryOp::kSign:
      return unary_of<Sign>(dtype, false);
    case UnaryOp::kSquare:
      return unary_of<Square>(dtype, false);
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
    case UnaryOp::kTrunc:
      return unary_of<Same>(dtype, false);
    case UnaryOp::kClamp:
      return clamp_of(dtype);
    case UnaryOp::kIsNan:
    case UnaryOp::kIsInf:
      return unary_of<Never>(dtype, true);
    case UnaryOp::kIsFinite:
      return unary_of<Always>(dtype, true);
    case UnaryOp::kLogicalNot:
      return unary_of<IsZero>(dtype, true);
    default:
      return nullptr;
  }
}

ElementwiseRow integer_row(BinaryOp op, DType dtype) {
  switch (op) {
    case BinaryOp::kAdd:
      return binary_of<Add>(dtype, false);
    case BinaryOp::kSub:
      return binary_of<Sub>(dtype, false);
    case BinaryOp::kMul:
      return binary_of<Mul>(dtype, false);
    case BinaryOp::kPow:
      return binary_of<Pow>(dtype, false);
    case BinaryOp::kMaximum:
      return binary_of<Maximum>(dtype, true);
    case BinaryOp::kMinimum:
      return binary_of<Minimum>(dtype, true);
    case BinaryOp::kRemainder:
      return binary_of<Remainder>(dtype, false);
    case BinaryOp::kFloorDivide:
      return binary_of<FloorDivide>(dtype, false);
    case BinaryOp::kEqual:
      return binary_of<Equal>(dtype, true);
    default:
      return comparison_row(op, dtype);
  }
}

}  // namespace weft
