#include "weft/kernel/linear.h"

#include <algorithm>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/cpu/flat_loops.h"
#include "weft/kernel/cpu/gemm.h"
#include "weft/kernel/cpu/onednn.h"
#include "weft/kernel/matmul.h"

namespace weft {
namespace {

constexpr std::int64_t kGrain = 32 * 1024;

// Every float of a dense array, blocked or not, gaps of the order included.
std::int64_t dense_floats(const Array& array) {
  if (array.is_strided()) return array.size();
  return static_cast<std::int64_t>(array.format()->size_bytes() / sizeof(float));
}

float* floats(const Array& array) { return static_cast<float*>(array.raw_data()); }

void linear_plain(const Array& x, const Array& weight, const Array& bias, bool relu, Array& y) {
  if (bias.defined()) {
    y.copy_from(bias);
  } else {
    y.fill(0.0);
  }
  matmul(x, weight, y, {.transpose_b = true, .accumulate = true});
  if (!relu) return;
  for (double& value : y.flat<double>()) value = std::max(value, 0.0);
}

bool is_half(const Array& array) { return size_of(array.dtype()) < sizeof(float); }

Array widened(const Array& array) { return array.defined() ? array.to(DType::kF32) : array; }

void linear(const Array& x, const Array& weight, const Array& bias, bool relu, Array& y) {
  if (is_half(x)) {
    Array wide = Array::empty(y.shape());
    linear(widened(x), widened(weight), widened(bias), relu, wide);
    y.copy_from(wide);
    return;
  }
  if (x.dtype() == DType::kF64) {
    linear_plain(x, weight, bias, relu, y);
    return;
  }
  const Array dense_bias = bias.defined() ? bias.contiguous() : bias;
  gemm({y.dim(0), y.dim(1), x.dim(1)}, {x.data<float>(), x.strides()[0], x.strides()[1]},
       {weight.data<float>(), weight.strides()[1], weight.strides()[0]},
       {y.data<float>(), y.dim(1), false, dense_bias.defined() ? dense_bias.data<float>() : nullptr,
        relu});
}

void sum_columns(const Array& x, Array& sums, bool accumulate) {
  if (is_half(x)) {
    Array wide = accumulate ? widened(sums) : Array::empty(sums.shape());
    sum_columns(widened(x), wide, accumulate);
    sums.copy_from(wide);
    return;
  }
  const Array rows = x.contiguous();
  const std::int64_t count = rows.dim(0);
  const std::int64_t width = rows.dim(1);
  if (!accumulate) sums.fill(0.0);
  if (rows.dtype() == DType::kF64) {
    const double* const from = rows.data<double>();
    double* const to = sums.data<double>();
    for (std::int64_t i = 0; i < count * width; ++i) to[i % width] += from[i];
    return;
  }
  const FlatLoops& loops = flat_loops();
  const FlatLoops::Rows source{rows.data<float>(), width, count};
  float* const to = sums.data<float>();
  parallel_for(
      width, 64 + kGrain / std::max<std::int64_t>(count, 1),
      [&](std::int64_t begin, std::int64_t end) { loops.column_sums(source, to, begin, end); });
}

// x and y in one order.
void relu_values(const Array& x, Array& y) {
  if (is_half(x)) {
    Array wide = Array::empty(y.shape());
    relu_values(widened(x), wide);
    y.copy_from(wide);
    return;
  }
  if (x.dtype() == DType::kF64) {
    const double* const from = x.data<double>();
    double* const to = y.data<double>();
    for (std::int64_t i = 0; i < x.size(); ++i) to[i] = std::max(from[i], 0.0);
    return;
  }
  const FlatLoops& loops = flat_loops();
  parallel_for(dense_floats(x), kGrain, [&](std::int64_t begin, std::int64_t end) {
    loops.relu(floats(x), floats(y), begin, end);
  });
}

// All in one order.
void relu_gradient(const Array& dy, const Array& y, Array& dx) {
  if (is_half(y)) {
    Array wide = Array::empty(dx.shape());
    relu_gradient(widened(dy), widened(y), wide);
    dx.copy_from(wide);
    return;
  }
  if (y.dtype() == DType::kF64) {
    const double* const gradient = dy.data<double>();
    const double* const value = y.data<double>();
    double* const to = dx.data<double>();
    for (std::int64_t i = 0; i < dx.size(); ++i) to[i] = value[i] > 0 ? gradient[i] : 0.0;
    return;
  }
  const FlatLoops& loops = flat_loops();
  parallel_for(dense_floats(y), kGrain, [&](std::int64_t begin, std::int64_t end) {
    loops.relu_gradient(floats(dy), floats(y), floats(dx), begin, end);
  });
}

}  // namespace

Array linear_forward(const Array& x, const Array& weight, const Array& bias, bool relu) {
  const Array in = x.strided();
  Array y = Array::empty({in.dim(0), weight.dim(0)}, in.dtype());
  launch("linear", {&in, &weight, &bias}, {&y}, [relu](LaunchArrays arrays, LaunchArrays out) {
    linear(arrays[0], arrays[1], arrays[2], relu, out[0]);
  });
  return y;
}

void column_sums(const Array& x, Array& sums, bool accumulate) {
  launch("column_sums", {&x}, {&sums}, [accumulate](LaunchArrays in, LaunchArrays out) {
    sum_columns(in[0], out[0], accumulate);
  });
}

Array relu_forward(const Array& x) {
  const Array in = x.is_strided() ? x.contiguous() : x;
  Array y = like(in);
  launch("relu", {&in}, {&y},
         [](LaunchArrays arrays, LaunchArrays out) { relu_values(arrays[0], out[0]); });
  return y;
}

Array relu_backward(const Array& dy, const Array& y) {
  const Array value = y.is_strided() ? y.contiguous() : y;
  const Array gradient = y.dtype() != DType::kF32 ? dy.contiguous() : in_order_of(dy, value);
  Array dx = like(value);
  launch("relu_backward", {&gradient, &value}, {&dx},
         [](LaunchArrays in, LaunchArrays out) { relu_gradient(in[0], in[1], out[0]); });
  return dx;
}

}  // namespace weft
