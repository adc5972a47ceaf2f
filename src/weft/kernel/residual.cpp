#include "weft/kernel/residual.h"

#include <algorithm>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/cpu/onednn.h"
#include "weft/kernel/elementwise.h"
#include "weft/kernel/linear.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace weft {
namespace {

constexpr std::int64_t kGrain = 32 * 1024;

template <bool kRelu>
void add_range(const float* __restrict a, const float* __restrict b, float* __restrict y,
               std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    const float sum = a[i] + b[i];
    y[i] = kRelu && sum < 0.0F ? 0.0F : sum;
  }
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
  const auto floats = static_cast<std::int64_t>(model.format()->size_bytes() / sizeof(float));
  launch("add_in_order", {&left, &right}, {&y}, [relu, floats](LaunchArrays in, LaunchArrays out) {
    const auto* const x0 = static_cast<const float*>(in[0].raw_data());
    const auto* const x1 = static_cast<const float*>(in[1].raw_data());
    auto* const to = static_cast<float*>(out[0].raw_data());
    parallel_for(floats, kGrain, [&](std::int64_t begin, std::int64_t end) {
      if (relu) {
        add_range<true>(x0, x1, to, begin, end);
      } else {
        add_range<false>(x0, x1, to, begin, end);
      }
    });
  });
  return y;
}

}  // namespace weft
