#include "weft/array/launch.h"

#include "weft/array/elementwise_walk.h"
#include "weft/base/parallel.h"

namespace weft::internal {
namespace {

// Outputs a thread takes at least.
constexpr std::int64_t kGrain = 16'384;
constexpr auto kOperandsMax = static_cast<std::size_t>(ElementwiseLoop::kOperandsMax);

using Operands = std::array<RunOperand, kOperandsMax>;

const std::uint8_t* bytes_at(const Array& array, std::int64_t element) {
  return static_cast<const std::uint8_t*>(array.raw_data()) +
         element * static_cast<std::int64_t>(size_of(array.dtype()));
}

// Whether every operand is one dense run of the output's shape, or a single value.
bool is_flat(LaunchArrays in, const Array& out) {
  for (int i = 0; i < in.size(); ++i) {
    const bool dense = in[i].is_contiguous() && in[i].size() == out.size();
    if (!dense && in[i].size() != 1) return false;
  }
  return true;
}

void run_flat(const ElementwiseLoop& loop, LaunchArrays in, Array& out) {
  const auto item = static_cast<std::int64_t>(size_of(out.dtype()));
  auto* const target = static_cast<std::uint8_t*>(out.raw_data());
  parallel_for(out.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    Operands operands;
    for (int i = 0; i < in.size(); ++i) {
      const std::int64_t step = in[i].size() == 1 ? 0 : 1;
      operands[static_cast<std::size_t>(i)] = {bytes_at(in[i], begin * step), step};
    }
    loop.run(loop, operands.data(), target + begin * item, end - begin);
  });
}

void run_strided(const ElementwiseLoop& loop, LaunchArrays in, Array& out) {
  std::array<Strides, kOperandsMax> strides;
  for (int i = 0; i < in.size(); ++i) {
    strides[static_cast<std::size_t>(i)] = broadcast_strides(in[i], out.shape());
  }
  const ElementwiseWalk<ElementwiseLoop::kOperandsMax> walk(out.shape(), strides, in.size());
  const auto item = static_cast<std::int64_t>(size_of(out.dtype()));
  auto* const target = static_cast<std::uint8_t*>(out.raw_data());
  parallel_for(out.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    walk.each(begin, end, out.size(), [&](std::int64_t at, const auto& offset, std::int64_t count) {
      Operands operands;
      for (int i = 0; i < in.size(); ++i) {
        const auto operand = static_cast<std::size_t>(i);
        operands[operand] = {bytes_at(in[i], offset[operand]), walk.step(i)};
      }
      loop.run(loop, operands.data(), target + at * item, count);
    });
  });
}

}  // namespace

Strides broadcast_strides(const Array& operand, const Shape& shape) {
  Strides strides = Dims::filled(shape.size(), 0);
  const int lead = shape.size() - operand.ndim();
  for (int axis = lead; axis < shape.size(); ++axis) {
    if (operand.shape()[axis - lead] != 1) strides[axis] = operand.strides()[axis - lead];
  }
  return strides;
}

void run_elementwise(const ElementwiseLoop& loop, LaunchArrays in, Array& out) {
  WEFT_DCHECK(out.is_contiguous() && in.size() <= ElementwiseLoop::kOperandsMax);
  if (out.size() == 0) return;
  if (is_flat(in, out)) {
    run_flat(loop, in, out);
  } else {
    run_strided(loop, in, out);
  }
}

void record_elementwise(Recorder& recorder, const char* name, std::span<const Array* const> inputs,
                        Array& out, const ElementwiseLoop& loop) {
  const auto body = [loop](LaunchArrays in, LaunchArrays outputs) {
    run_elementwise(loop, in, outputs[0]);
  };
  Array* const outputs[] = {&out};
  recorder.record({.name = name, .inputs = inputs, .outputs = outputs, .elementwise = &loop},
                  std::make_unique<LaunchBodyOf<decltype(body)>>(body));
  const RecorderScope pause(nullptr);
  run_elementwise(loop, {inputs.data(), inputs.size()}, out);
}

}  // namespace weft::internal
