#include "weft/kernel/gemm/matmul.h"

#include <algorithm>
#include <type_traits>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/rows.h"
#include "weft/kernel/gemm/gemm.h"
#include "weft/kernel/gemm/gemm_half.h"

namespace weft {
namespace {

// Products of vectors: the values that a thread takes at least, and the shortest line.
constexpr std::int64_t kLineGrain = 16'384;
constexpr std::int64_t kLineMin = 16;

// A matrix of a batch: the first element and the steps of its two axes.
template <class T>
struct MatrixView {
  T* data;
  std::int64_t row_step;
  std::int64_t column_step;
};

template <class T>
MatrixView<const T> operand(const Array& array, bool transpose) {
  const int rank = array.ndim();
  const std::int64_t row = array.strides()[rank - 2];
  const std::int64_t column = array.strides()[rank - 1];
  return {array.data<T>(), transpose ? column : row, transpose ? row : column};
}

// Elements from the first matrix of `array` to matrix `index` of a batch of shape out[0 .. -2).
std::int64_t batch_offset(const Array& array, const Shape& out, std::int64_t index) {
  std::int64_t offset = 0;
  for (int axis = out.size() - 3; axis >= 0; --axis) {
    const std::int64_t position = index % out[axis];
    index /= out[axis];
    if (array.shape()[axis] != 1) offset += position * array.strides()[axis];
  }
  return offset;
}

// out = line * scale + 0, or added to out: the products of one value with a line have the bits of
// gemm(), which adds them to 0 as well.
void scale_line(const float* line, float scale, float* out, std::int64_t count, bool accumulate) {
  const RowKernels& kernels = row_kernels();
  if (!accumulate) return kernels.affine[0](line, {scale, 0.0}, out, count);
  constexpr std::int64_t kPart = 256;
  float products[kPart];
  for (std::int64_t i = 0; i < count; i += kPart) {
    const std::int64_t part = std::min(kPart, count - i);
    kernels.affine[0](line + i, {scale, 0.0}, products, part);
    const RunOperand operands[] = {{products, 1}, {out + i, 1}};
    kernels.binary[0][0](operands, out + i, part, nullptr);
  }
}

// Products of two vectors, value by value, where one of them is a line of memory. False if it is
// none of these.
bool multiply_lines(const GemmSize& size, const MatrixView<const float>& a,
                    const MatrixView<const float>& b, float* out, bool accumulate) {
  if (size.k != 1) return false;
  if (size.n == 1 && a.row_step == 1) {
    parallel_for(size.m, kLineGrain, [&](std::int64_t begin, std::int64_t end) {
      scale_line(a.data + begin, *b.data, out + begin, end - begin, accumulate);
    });
    return true;
  }
  if (size.n < kLineMin || b.column_step != 1) return false;
  parallel_for(size.m, 1 + kLineGrain / size.n, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      scale_line(b.data, a.data[i * a.row_step], out + i * size.n, size.n, accumulate);
    }
  });
  return true;
}

void multiply_matrix(const GemmSize& size, const MatrixView<const float>& a,
                     const MatrixView<const float>& b, float* out, bool accumulate) {
  if (multiply_lines(size, a, b, out, accumulate)) return;
  if (size.n == 1) {
    // The column is the row of the transposed product, whose elements are summed in the same order;
    // the vector lies in memory as it is, and the matrix fills whole panels.
    return gemm({1, size.m, size.k}, {b.data, b.column_step, b.row_step},
                {a.data, a.column_step, a.row_step}, {out, size.m, accumulate});
  }
  gemm(size, {a.data, a.row_step, a.column_step}, {b.data, b.row_step, b.column_step},
       {out, size.n, accumulate});
}

template <class Half>
void multiply_half(const GemmSize& size, const MatrixView<const Half>& a,
                   const MatrixView<const Half>& b, Half* out, bool accumulate) {
  gemm_half(size, HalfOperand<Half>{a.data, a.row_step, a.column_step},
            HalfOperand<Half>{b.data, b.row_step, b.column_step},
            HalfOutput<Half>{out, size.n, accumulate});
}

void multiply_matrix(const GemmSize& size, const MatrixView<const BFloat16>& a,
                     const MatrixView<const BFloat16>& b, BFloat16* out, bool accumulate) {
  multiply_half(size, a, b, out, accumulate);
}

void multiply_matrix(const GemmSize& size, const MatrixView<const Float16>& a,
                     const MatrixView<const Float16>& b, Float16* out, bool accumulate) {
  multiply_half(size, a, b, out, accumulate);
}

// What integers are summed in: they wrap around, so negative ones are extended first.
template <class T>
auto as_summand(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    return value;
  }
}

// f64 and integers, which wrap around.
template <class T>
void multiply_matrix(const GemmSize& size, const MatrixView<const T>& a,
                     const MatrixView<const T>& b, T* out, bool accumulate) {
  const std::int64_t grain = 1 + 16384 / std::max<std::int64_t>(1, size.n * size.k);
  parallel_for(size.m, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      T* const row = out + i * size.n;
      if (!accumulate) std::fill_n(row, size.n, T{});
      for (std::int64_t k = 0; k < size.k; ++k) {
        const auto x = as_summand(a.data[i * a.row_step + k * a.column_step]);
        const T* const from = b.data + k * b.row_step;
        for (std::int64_t j = 0; j < size.n; ++j) {
          row[j] = static_cast<T>(as_summand(row[j]) + x * as_summand(from[j * b.column_step]));
        }
      }
    }
  });
}

// Multiplications of one matrix from which on the threads share it, not the batch.
constexpr std::int64_t kSharedMatrix = 1 << 22;

template <class T>
void run_matmul(const Array& a, const Array& b, Array& out, const MatmulOptions& options) {
  const Shape& shape = out.shape();
  const int rank = shape.size();
  const GemmSize size{shape[rank - 2], shape[rank - 1], a.dim(options.transpose_a ? -2 : -1)};
  WEFT_CHECK(out.is_contiguous() && a.ndim() == rank && b.ndim() == rank);
  WEFT_CHECK(a.dim(options.transpose_a ? -1 : -2) == size.m);
  WEFT_CHECK(b.dim(options.transpose_b ? -1 : -2) == size.k);
  WEFT_CHECK(b.dim(options.transpose_b ? -2 : -1) == size.n);
  if (out.size() == 0) return;
  launch_flops(2.0 * static_cast<double>(out.size()) * static_cast<double>(size.k));
  const std::int64_t count = out.size() / (size.m * size.n);
  const auto first_a = operand<T>(a, options.transpose_a);
  const auto first_b = operand<T>(b, options.transpose_b);
  T* const product = out.data<T>();
  // An element is summed in the same order whichever way the work is split.
  const std::int64_t work = size.m * size.n * std::max<std::int64_t>(1, size.k);
  const std::int64_t grain = work >= kSharedMatrix ? count : 1 + kSharedMatrix / 32 / work;
  parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t index = begin; index < end; ++index) {
      auto left = first_a;
      auto right = first_b;
      left.data += batch_offset(a, shape, index);
      right.data += batch_offset(b, shape, index);
      multiply_matrix(size, left, right, product + index * size.m * size.n, options.accumulate);
    }
  });
}

}  // namespace

void matmul(const Array& a, const Array& b, Array& out, const MatmulOptions& options) {
  const Array left = a.strided();
  const Array right = b.strided();
  launch("matmul", {&left, &right}, {&out}, [options](LaunchArrays in, LaunchArrays product) {
    with_dtype(product[0].dtype(),
               [&](auto zero) { run_matmul<decltype(zero)>(in[0], in[1], product[0], options); });
  });
}

}  // namespace weft
