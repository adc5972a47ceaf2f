#include "weft/kernel/gemm/linear.h"

#include <algorithm>
#include <optional>

#include "weft/array/dtype/half_rows.h"
#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/flat_loops.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/gemm/gemm.h"
#include "weft/kernel/gemm/gemm_half.h"
#include "weft/kernel/gemm/int8.h"
#include "weft/kernel/gemm/matmul.h"

namespace weft {

namespace {

constexpr std::int64_t kLinearGrain = 32 * 1024;
// Values of 16 bits that are widened at a time.
constexpr std::int64_t kLinearBlock = 256;
// The same for sums of columns, and rows of them: 32 KiB, in pieces that are read in one stream.
constexpr std::int64_t kSumColumns = 1024;
constexpr std::int64_t kSumRows = 8;

float* floats(const Array& array) { return static_cast<float*>(array.raw_data()); }

// The values of `array` as one matrix; one of other than two axes is contiguous.
struct MatrixOf {
  explicit MatrixOf(const Array& array)
      : columns(array.dim(-1)),
        row_step(array.ndim() == 2 ? array.strides()[0] : columns),
        column_step(array.ndim() == 2 ? array.strides()[1] : 1) {
    for (int axis = 0; axis + 1 < array.ndim(); ++axis) rows *= array.shape()[axis];
  }
  std::int64_t rows = 1;
  std::int64_t columns;
  std::int64_t row_step;
  std::int64_t column_step;
};

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

bool is_half_array(const Array& array) { return size_of(array.dtype()) < sizeof(float); }

// Calls body(zero of the type) for bf16 and f16.
template <class Body>
void with_half(DType dtype, Body&& body) {
  with_dtype(dtype, [&](auto zero) {
    if constexpr (kIsHalf<decltype(zero)>) body(zero);
  });
}

void linear_half(const Array& x, const Array& weight, const Array& bias, bool relu, Array& y) {
  std::optional<Array> copy;
  const Array& dense_bias = contiguous_in(bias, copy);
  with_half(y.dtype(), [&](auto zero) {
    using Half = decltype(zero);
    gemm_half({y.dim(0), y.dim(1), x.dim(1)},
              HalfOperand<Half>{x.data<Half>(), x.strides()[0], x.strides()[1]},
              HalfOperand<Half>{weight.data<Half>(), weight.strides()[1], weight.strides()[0]},
              HalfOutput<Half>{y.data<Half>(), y.dim(1), false,
                               dense_bias.defined() ? dense_bias.data<Half>() : nullptr, relu});
  });
}

void linear_f32(const Array& x, const Array& weight, const Array& bias, bool relu, Array& y) {
  std::optional<Array> bias_copy;
  const MatrixOf in(x);
  const GemmOperand rows{x.data<float>(), in.row_step, in.column_step};
  const float* const shift =
      bias.defined() ? contiguous_in(bias, bias_copy).data<float>() : nullptr;
  const GemmOutput out{y.data<float>(), weight.dim(0), false, shift, relu};
  if (const auto quantised = int8_weight(weight)) {
    std::optional<Array> copy;
    const Array& dense = in.column_step == 1 ? x : contiguous_in(x, copy);
    const std::int64_t step = in.column_step == 1 ? in.row_step : in.columns;
    gemm_int8(in.rows, dense.data<float>(), step, *quantised, out);
    return;
  }
  if (const auto packed = packed_weight(weight)) {
    gemm(in.rows, rows, *packed, out);
    return;
  }
  gemm({in.rows, weight.dim(0), in.columns}, rows,
       {weight.data<float>(), weight.strides()[1], weight.strides()[0]}, out);
}

void linear(const Array& x, const Array& weight, const Array& bias, bool relu, Array& y) {
  if (x.dtype() == DType::kF32) return linear_f32(x, weight, bias, relu, y);
  if (x.ndim() != 2) {
    const std::int64_t rows = MatrixOf(x).rows;
    Array matrix = y.reshape({rows, weight.dim(0)});
    return linear(x.reshape({rows, weight.dim(1)}), weight, bias, relu, matrix);
  }
  if (is_half_array(x)) return linear_half(x, weight, bias, relu, y);
  linear_plain(x, weight, bias, relu, y);
}

// Columns [begin, end), a block at a time.
template <class Half>
void sum_half_columns(const Array& rows, Array& sums, bool accumulate, std::int64_t begin,
                      std::int64_t end) {
  const std::int64_t width = rows.dim(1);
  float block[kSumRows * kSumColumns];
  float total[kSumColumns];
  for (std::int64_t j = begin; j < end; j += kSumColumns) {
    const std::int64_t count = std::min(kSumColumns, end - j);
    std::fill_n(total, count, 0.0F);
    if (accumulate) to_f32_row(sums.data<Half>() + j, total, count);
    for (std::int64_t i = 0; i < rows.dim(0); i += kSumRows) {
      const std::int64_t height = std::min(kSumRows, rows.dim(0) - i);
      for (std::int64_t r = 0; r < height; ++r) {
        to_f32_row(rows.data<Half>() + (i + r) * width + j, block + r * kSumColumns, count);
      }
      flat_loops().column_sums({block, kSumColumns, height}, total, 0, count);
    }
    from_f32_row(total, sums.data<Half>() + j, count);
  }
}

void sum_columns(const Array& x, Array& sums, bool accumulate) {
  if (is_half_array(x)) {
    const Array dense = x.contiguous();
    with_half(x.dtype(), [&](auto zero) {
      parallel_for(dense.dim(1), 64 + kLinearGrain / std::max<std::int64_t>(dense.dim(0), 1),
                   [&](std::int64_t begin, std::int64_t end) {
                     sum_half_columns<decltype(zero)>(dense, sums, accumulate, begin, end);
                   });
    });
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
      width, 64 + kLinearGrain / std::max<std::int64_t>(count, 1),
      [&](std::int64_t begin, std::int64_t end) { loops.column_sums(source, to, begin, end); });
}

// y = of(x, other), all of one type and order; `of` writes over its first argument.
template <class Half, class Of>
void map_half(const Array& x, const Array& other, Array& y, const Of& of) {
  parallel_for(dense_elements(y), kLinearGrain, [&](std::int64_t begin, std::int64_t end) {
    float wide[kLinearBlock];
    float beside[kLinearBlock];
    for (std::int64_t at = begin; at < end; at += kLinearBlock) {
      const std::int64_t count = std::min(kLinearBlock, end - at);
      to_f32_row(static_cast<const Half*>(x.raw_data()) + at, wide, count);
      to_f32_row(static_cast<const Half*>(other.raw_data()) + at, beside, count);
      of(wide, beside, count);
      from_f32_row(wide, static_cast<Half*>(y.raw_data()) + at, count);
    }
  });
}

// x and y in one order.
void relu_values(const Array& x, Array& y) {
  if (is_half_array(x)) {
    with_half(x.dtype(), [&](auto zero) {
      map_half<decltype(zero)>(x, x, y, [](float* values, const float*, std::int64_t count) {
        flat_loops().relu(values, values, 0, count);
      });
    });
    return;
  }
  if (x.dtype() == DType::kF64) {
    const double* const from = x.data<double>();
    double* const to = y.data<double>();
    for (std::int64_t i = 0; i < x.size(); ++i) to[i] = std::max(from[i], 0.0);
    return;
  }
  const FlatLoops& loops = flat_loops();
  parallel_for(dense_elements(x), kLinearGrain, [&](std::int64_t begin, std::int64_t end) {
    loops.relu(floats(x), floats(y), begin, end);
  });
}

// All in one order.
void relu_gradient(const Array& dy, const Array& y, Array& dx) {
  if (is_half_array(y)) {
    with_half(y.dtype(), [&](auto zero) {
      map_half<decltype(zero)>(dy, y, dx, [](float* g, const float* value, std::int64_t count) {
        flat_loops().relu_gradient(g, value, g, 0, count);
      });
    });
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
  parallel_for(dense_elements(y), kLinearGrain, [&](std::int64_t begin, std::int64_t end) {
    loops.relu_gradient(floats(dy), floats(y), floats(dx), begin, end);
  });
}

}  // namespace

Array linear_forward(const Array& x, const Array& weight, const Array& bias, bool relu) {
  std::optional<Array> copy;
  std::optional<Array> weight_copy;
  const Array& in = strided_in(x, copy);
  const Array& by = strided_in(weight, weight_copy);
  WEFT_DCHECK(in.ndim() == 2 || in.is_contiguous());
  Shape shape = in.shape();
  shape[shape.size() - 1] = by.dim(0);
  Array y = Array::empty(shape, in.dtype(), in.device());
  launch("linear", {&in, &by, &bias}, {&y}, [relu](LaunchArrays arrays, LaunchArrays out) {
    launch_flops(2.0 * static_cast<double>(out[0].size()) * static_cast<double>(arrays[0].dim(-1)));
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
  const Array gradient = y.dtype() == DType::kF64 ? dy.contiguous() : in_order_of(dy, value);
  Array dx = like(value);
  launch("relu_backward", {&gradient, &value}, {&dx},
         [](LaunchArrays in, LaunchArrays out) { relu_gradient(in[0], in[1], out[0]); });
  return dx;
}

}  // namespace weft
