#include "weft/kernel/conv/residual.h"

#include <algorithm>
#include <type_traits>

#include "weft/array/dtype/half_rows.h"
#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/kernel/gemm/linear.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace weft {
namespace {

constexpr std::int64_t kResidualGrain = 32 * 1024;
// Values of 16 bits that are widened at a time.
constexpr std::int64_t kResidualBlock = 512;

template <bool kRelu>
void add_range(const float* __restrict a, const float* __restrict b, float* __restrict y,
               std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float sum = a[i] + b[i];
    y[i] = kRelu && sum < 0.0F ? 0.0F : sum;
  }
}

template <bool kRelu>
void add_range(const Array& a, const Array& b, Array& y, std::int64_t begin, std::int64_t end) {
  const auto add = [&](auto zero) {
    using T = decltype(zero);
    const auto* const x0 = static_cast<const T*>(a.raw_data());
    const auto* const x1 = static_cast<const T*>(b.raw_data());
    auto* const to = static_cast<T*>(y.raw_data());
    if constexpr (std::is_same_v<T, float>) {
      add_range<kRelu>(x0, x1, to, begin, end);
    } else if constexpr (kIsHalf<T>) {
      float wide0[kResidualBlock];
      float wide1[kResidualBlock];
      for (std::int64_t at = begin; at < end; at += kResidualBlock) {
        const std::int64_t count = std::min(kResidualBlock, end - at);
        to_f32_row(x0 + at, wide0, count);
        to_f32_row(x1 + at, wide1, count);
        float sums[kResidualBlock];
        add_range<kRelu>(wide0, wide1, sums, 0, count);
        from_f32_row(sums, to + at, count);
      }
    }
  };
  with_dtype(y.dtype(), add);
}

}  // namespace

Array add_in_order(const Array& a, const Array& b, bool relu) {
  if (a.is_strided() && b.is_strided()) {
    const Array sum = binary(BinaryOp::kAdd, a, b);
    return relu ? relu_forward(sum) : sum;
  }
  const Array& model = a.is_strided() ? b : a;
  const Array left = in_order_of(a, model);
  const Array right = in_order_of(b, model);
  Array y = like(model);
  launch("add_in_order", {&left, &right}, {&y}, [relu](LaunchArrays in, LaunchArrays out) {
    parallel_for(dense_elements(out[0]), kResidualGrain, [&](std::int64_t begin, std::int64_t end) {
      if (relu) {
        add_range<true>(in[0], in[1], out[0], begin, end);
      } else {
        add_range<false>(in[0], in[1], out[0], begin, end);
      }
    });
  });
  return y;
}

}  // namespace weft
