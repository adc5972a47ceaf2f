#include "weft/kernel/linear.h"

#include <algorithm>

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

Array linear_plain(const Array& x, const Array& weight, const Array& bias, bool relu) {
  Array y = Array::empty({x.dim(0), weight.dim(0)}, DType::kF64);
  if (bias.defined()) {
    y.copy_from(bias);
  } else {
    y.fill(0.0);
  }
  matmul(x, weight, y, {.transpose_b = true, .accumulate = true});
  if (relu) {
    for (double& value : y.flat<double>()) value = std::max(value, 0.0);
  }
  return y;
}

}  // namespace

Array linear_forward(const Array& x, const Array& weight, const Array& bias, bool relu) {
  const Array in = x.strided();
  if (in.dtype() == DType::kF64) return linear_plain(in, weight, bias, relu);
  Array y = Array::empty({in.dim(0), weight.dim(0)});
  const Array dense_bias = bias.defined() ? bias.contiguous() : bias;
  gemm({y.dim(0), y.dim(1), in.dim(1)}, {in.data<float>(), in.strides()[0], in.strides()[1]},
       {weight.data<float>(), weight.strides()[1], weight.strides()[0]},
       {y.data<float>(), y.dim(1), false, dense_bias.defined() ? dense_bias.data<float>() : nullptr,
        relu});
  return y;
}

void column_sums(const Array& x, Array& sums, bool accumulate) {
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

Array relu_forward(const Array& x) {
  if (x.dtype() == DType::kF64) {
    Array y = x.clone();
    for (double& value : y.flat<double>()) value = std::max(value, 0.0);
    return y;
  }
  const Array in = x.is_strided() ? x.contiguous() : x;
  Array y = like(in);
  const FlatLoops& loops = flat_loops();
  parallel_for(dense_floats(in), kGrain, [&](std::int64_t begin, std::int64_t end) {
    loops.relu(floats(in), floats(y), begin, end);
  });
  return y;
}

Array relu_backward(const Array& dy, const Array& y) {
  if (y.dtype() == DType::kF64) {
    Array dx = dy.clone();
    const Array values = y.contiguous();
    const double* const value = values.data<double>();
    double* const to = dx.data<double>();
    for (std::int64_t i = 0; i < dx.size(); ++i) to[i] = value[i] > 0 ? to[i] : 0.0;
    return dx;
  }
  const Array value = y.is_strided() ? y.contiguous() : y;
  const Array gradient = in_order_of(dy, value);
  Array dx = like(value);
  const FlatLoops& loops = flat_loops();
  parallel_for(dense_floats(value), kGrain, [&](std::int64_t begin, std::int64_t end) {
    loops.relu_gradient(floats(gradient), floats(value), floats(dx), begin, end);
  });
  return dx;
}

}  // namespace weft
