// map_floating(): a user-defined elementwise operation, given as a function of numbers.
//
//   Array y = map_floating("axpy", [scale](auto a, auto b) { return scale * a + b; }, x, z);
//
// Where it stands: beside launch(), for operations outside this repository; those inside use
// kernel/elementwise.h. Broadcasts, takes any strides, uses all compute threads, and is fused with
// its neighbours in a captured graph.
// Every element of the result is written: f32 and f64 are computed in their own type, bf16 and f16
// in f32 and rounded once. Other types are refused, never skipped.
// Threads: `function` is copied, and may run on several threads at once.
// Fails: std::invalid_argument "[name] expected ..., got ..." on undefined operands, operands of a
// type that is not floating or of several types, and shapes that do not broadcast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "weft/array/array.h"
#include "weft/array/launch.h"

namespace weft {
namespace internal {

// Throws unless all are defined and of one floating type; the shape that they broadcast to.
Shape check_map(const char* name, std::initializer_list<const Array*> operands);

// The ElementwiseLoop::run of `Function` over `kOperands` operands of T; the bytes of the function
// are in the loop's scalars.
template <class T, class Function, int kOperands>
void run_map(const ElementwiseLoop& loop, const RunOperand* operands, void* out,
             std::int64_t count) {
  using Number = std::conditional_t<kIsHalf<T>, float, T>;
  alignas(Function) std::array<std::byte, sizeof(Function)> bytes;
  if constexpr (!std::is_empty_v<Function>) {
    std::memcpy(bytes.data(), loop.scalars.data(), sizeof(Function));
  }
  const Function& function = *std::launder(reinterpret_cast<const Function*>(bytes.data()));
  T* const to = static_cast<T*>(out);
  const auto number = [operands](std::size_t index, std::int64_t i) {
    const RunOperand& operand = operands[index];
    return static_cast<Number>(static_cast<const T*>(operand.data)[i * operand.step]);
  };
  const auto run = [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = static_cast<T>(static_cast<Number>(function(number(kAt, i)...)));
    }
  };
  run(std::make_index_sequence<static_cast<std::size_t>(kOperands)>());
}

}  // namespace internal

// out[...] = function(operands[...]...). The function is called with as many float or double values
// as there are operands, so it is a generic lambda; its result is converted to that type. It may
// capture numbers, 32 bytes in total, and no pointer or reference: a captured graph runs it again.
// `name` must be a literal.
template <class Function, class... Arrays>
Array map_floating(const char* name, const Function& function, const Arrays&... operands) {
  static_assert(sizeof...(Arrays) >= 1 && sizeof...(Arrays) <= ElementwiseLoop::kOperandsMax,
                "one to four arrays");
  static_assert((std::is_same_v<Arrays, Array> && ...), "operands are Arrays: tensor.array()");
  static_assert(std::is_trivially_copyable_v<Function> &&
                    sizeof(Function) <= sizeof(ElementwiseLoop::scalars),
                "the function may capture numbers by value, 32 bytes in all");
  const Shape shape = internal::check_map(name, {&operands...});
  const Array& first = std::get<0>(std::tie(operands...));
  Array out = Array::empty(shape, first.dtype(), first.device());
  ElementwiseLoop loop;
  if constexpr (!std::is_empty_v<Function>) {
    std::memcpy(loop.scalars.data(), static_cast<const void*>(&function), sizeof(Function));
  }
  loop.run = with_floating_dtype(out.dtype(), [](auto zero) -> ElementwiseLoop::Run {
    return internal::run_map<decltype(zero), Function, static_cast<int>(sizeof...(Arrays))>;
  });
  const std::array<Array, sizeof...(Arrays)> strided = {operands.strided()...};
  [&]<std::size_t... kAt>(std::index_sequence<kAt...>) {
    launch_elementwise(name, {&strided[kAt]...}, out, loop);
  }
  (std::make_index_sequence<sizeof...(Arrays)>());
  return out;
}

}  // namespace weft
