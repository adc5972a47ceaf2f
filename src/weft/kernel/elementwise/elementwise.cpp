// Chooses the row of an operation and a type; launch_elementwise() walks the arrays.
#include "weft/kernel/elementwise/elementwise.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "weft/array/dtype/half_rows.h"
#include "weft/array/launch.h"
#include "weft/kernel/core/rows.h"
#include "weft/kernel/elementwise/integer_rows.h"

namespace weft {
namespace {

#define WEFT_NAME(Name) #Name,
constexpr const char* kUnaryNames[] = {WEFT_UNARY_OPS(WEFT_NAME)};
constexpr const char* kBinaryNames[] = {WEFT_BINARY_OPS(WEFT_NAME)};
#undef WEFT_NAME

const char* name_of(UnaryOp op) { return kUnaryNames[static_cast<std::size_t>(op)]; }
const char* name_of(BinaryOp op) { return kBinaryNames[static_cast<std::size_t>(op)]; }

bool gives_bool(UnaryOp op) { return op >= UnaryOp::kIsNan; }
bool gives_bool(BinaryOp op) { return op >= BinaryOp::kEq; }

// Which operand, if any, is the one value in scalars[kValue] of the loop.
enum class ScalarSide : std::uint8_t { kNone, kRight, kLeft };
constexpr std::size_t kValue = 3;
// Values that a row of 16-bit floats is widened by at a time.
constexpr std::int64_t kHalfBlock = 512;

void call_row(const ElementwiseLoop& loop, ScalarSide side, const RunOperand* operands,
              const void* value, void* out, std::int64_t count) {
  const auto row = reinterpret_cast<ElementwiseRow>(loop.row);
  if (side == ScalarSide::kNone) {
    row(operands, out, count, loop.scalars.data());
    return;
  }
  const RunOperand constant{value, 0};
  const bool left = side == ScalarSide::kLeft;
  const RunOperand pair[] = {left ? constant : operands[0], left ? operands[0] : constant};
  row(pair, out, count, loop.scalars.data());
}

// A number beside integers wraps around as their operations do: u8 values - 2 add 254.
template <class T>
T scalar_of(double value) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (std::abs(value) < 0x1p63) return static_cast<T>(static_cast<std::int64_t>(value));
  }
  return convert_value<T>(value);
}

template <class T, ScalarSide kSide>
void run_plain(const ElementwiseLoop& loop, const RunOperand* operands, void* out,
               std::int64_t count) {
  const T value = scalar_of<T>(loop.scalars[kValue]);
  call_row(loop, kSide, operands, &value, out, count);
}

template <class Half>
RunOperand widen_block(const RunOperand& operand, std::int64_t at, std::int64_t count,
                       float* buffer) {
  const Half* const from = static_cast<const Half*>(operand.data) + at * operand.step;
  if (operand.step == 0) {
    buffer[0] = *from;
    return {buffer, 0};
  }
  if (operand.step == 1) {
    to_f32_row(from, buffer, count);
  } else {
    for (std::int64_t i = 0; i < count; ++i) buffer[i] = from[i * operand.step];
  }
  return {buffer, 1};
}

template <class Half, int kOperands, ScalarSide kSide, bool kGivesBool>
void run_half(const ElementwiseLoop& loop, const RunOperand* operands, void* out,
              std::int64_t count) {
  float buffers[kOperands][kHalfBlock];
  float result[kHalfBlock];
  RunOperand wide[kOperands];
  const auto value = static_cast<float>(loop.scalars[kValue]);
  for (std::int64_t at = 0; at < count; at += kHalfBlock) {
    const std::int64_t block = std::min(kHalfBlock, count - at);
    for (int i = 0; i < kOperands; ++i) {
      wide[i] = widen_block<Half>(operands[i], at, block, buffers[i]);
    }
    if constexpr (kGivesBool) {
      call_row(loop, kSide, wide, &value, static_cast<bool*>(out) + at, block);
    } else {
      call_row(loop, kSide, wide, &value, result, block);
      from_f32_row(result, static_cast<Half*>(out) + at, block);
    }
  }
}

template <class T, int kOperands, ScalarSide kSide>
ElementwiseLoop::Run run_of(bool to_bool) {
  if constexpr (kIsHalf<T>) {
    return to_bool ? run_half<T, kOperands, kSide, true> : run_half<T, kOperands, kSide, false>;
  } else {
    return run_plain<T, kSide>;
  }
}

// The row that computes `op` for operands of this type; throws if there is none.
template <class Op>
ElementwiseRow elementwise_row_of(Op op, DType dtype) {
  const auto index = static_cast<std::size_t>(op);
  ElementwiseRow row = nullptr;
  if (is_floating(dtype)) {
    const std::size_t type = dtype == DType::kF64 ? 1 : 0;
    if constexpr (std::is_same_v<Op, UnaryOp>) {
      row = row_kernels().unary[index][type];
    } else {
      row = row_kernels().binary[index][type];
    }
  } else {
    row = integer_row(op, dtype);
  }
  if (row == nullptr) {
    throw std::invalid_argument(std::string("[") + name_of(op) +
                                "] expected a type that has this operation, got " +
                                std::string(to_string(dtype)));
  }
  return row;
}

template <int kOperands, ScalarSide kSide, class Op>
ElementwiseLoop loop_of(Op op, DType dtype, const OpScalars& scalars, double value = 0) {
  ElementwiseLoop loop;
  loop.row = reinterpret_cast<void (*)()>(elementwise_row_of(op, dtype));
  loop.run = with_dtype(
      dtype, [&](auto zero) { return run_of<decltype(zero), kOperands, kSide>(gives_bool(op)); });
  loop.scalars = {scalars[0], scalars[1], 0, value};
  return loop;
}

template <class Op>
DType result_type(Op op, DType dtype) {
  return gives_bool(op) ? DType::kBool : dtype;
}

// Elements are moved as words of their size.
template <std::size_t kBytes>
void where_row(const ElementwiseLoop&, const RunOperand* operands, void* out, std::int64_t count) {
  using Word = std::conditional_t<
      kBytes == 1, std::uint8_t,
      std::conditional_t<kBytes == 2, std::uint16_t,
                         std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;
  const auto* const condition = static_cast<const std::uint8_t*>(operands[0].data);
  const auto* const a = static_cast<const Word*>(operands[1].data);
  const auto* const b = static_cast<const Word*>(operands[2].data);
  auto* const y = static_cast<Word*>(out);
  // By masks: conditions that nobody can predict cost more as branches.
  const auto choose = [](std::uint8_t flag, Word x, Word z) {
    const auto mask = static_cast<Word>(Word{0} - static_cast<Word>(flag));
    return static_cast<Word>((x & mask) | (z & static_cast<Word>(~mask)));
  };
  if (operands[0].step == 1 && operands[1].step == 1 && operands[2].step == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = choose(condition[i], a[i], b[i]);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] =
        choose(condition[i * operands[0].step], a[i * operands[1].step], b[i * operands[2].step]);
  }
}

[[noreturn]] void throw_types(const char* name, DType a, DType b) {
  throw std::invalid_argument(std::string("[") + name + "] expected operands of one type, got " +
                              std::string(to_string(a)) + " and " + std::string(to_string(b)));
}

Shape common_shape(const Array& a, const Array& b) {
  return a.shape() == b.shape() ? a.shape() : broadcast_shapes(a.shape(), b.shape());
}

}  // namespace

Array unary(UnaryOp op, const Array& a, const OpScalars& scalars) {
  const ElementwiseLoop loop = loop_of<1, ScalarSide::kNone>(op, a.dtype(), scalars);
  std::optional<Array> copy;
  const Array& source = strided_in(a, copy);
  Array out = Array::empty(a.shape(), result_type(op, a.dtype()), a.device());
  launch_elementwise(name_of(op), {&source}, out, loop);
  return out;
}

Array binary(BinaryOp op, const Array& a, const Array& b, const OpScalars& scalars) {
  if (a.dtype() != b.dtype()) throw_types(name_of(op), a.dtype(), b.dtype());
  const ElementwiseLoop loop = loop_of<2, ScalarSide::kNone>(op, a.dtype(), scalars);
  Array out = Array::empty(common_shape(a, b), result_type(op, a.dtype()), a.device());
  std::optional<Array> left_copy;
  std::optional<Array> right_copy;
  const Array& left = strided_in(a, left_copy);
  const Array& right = strided_in(b, right_copy);
  launch_elementwise(name_of(op), {&left, &right}, out, loop);
  return out;
}

Array binary(BinaryOp op, const Array& a, double b, const OpScalars& scalars) {
  const ElementwiseLoop loop = loop_of<1, ScalarSide::kRight>(op, a.dtype(), scalars, b);
  const Array left = a.strided();
  Array out = Array::empty(a.shape(), result_type(op, a.dtype()), a.device());
  launch_elementwise(name_of(op), {&left}, out, loop);
  return out;
}

Array binary(BinaryOp op, double a, const Array& b, const OpScalars& scalars) {
  const ElementwiseLoop loop = loop_of<1, ScalarSide::kLeft>(op, b.dtype(), scalars, a);
  const Array right = b.strided();
  Array out = Array::empty(b.shape(), result_type(op, b.dtype()), b.device());
  launch_elementwise(name_of(op), {&right}, out, loop);
  return out;
}

void binary_into(BinaryOp op, const Array& a, const Array& b, Array& out) {
  if (a.dtype() != b.dtype()) throw_types(name_of(op), a.dtype(), b.dtype());
  const ElementwiseLoop loop = loop_of<2, ScalarSide::kNone>(op, a.dtype(), {});
  const Array left = a.strided();
  const Array right = b.strided();
  out.storage()->bump_version();
  launch_elementwise(name_of(op), {&left, &right}, out, loop);
}

Array where(const Array& condition, const Array& a, const Array& b) {
  if (condition.dtype() != DType::kBool) {
    throw std::invalid_argument("[where] expected a bool condition, got " +
                                std::string(to_string(condition.dtype())));
  }
  if (a.dtype() != b.dtype()) throw_types("where", a.dtype(), b.dtype());
  Array out =
      Array::empty(broadcast_shapes(condition.shape(), common_shape(a, b)), a.dtype(), a.device());
  ElementwiseLoop loop;
  loop.run = with_dtype(a.dtype(), [](auto zero) -> ElementwiseLoop::Run {
    return where_row<sizeof(decltype(zero))>;
  });
  const Array flags = condition.strided();
  const Array left = a.strided();
  const Array right = b.strided();
  launch_elementwise("where", {&flags, &left, &right}, out, loop);
  return out;
}

void accumulate(const Array& source, Array& target) {
  binary_into(BinaryOp::kAdd, target, source, target);
}

}  // namespace weft
