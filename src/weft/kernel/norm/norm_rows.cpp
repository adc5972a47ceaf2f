#include <algorithm>
#include <optional>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/optional_operand.h"
#include "weft/kernel/norm/norm.h"
#include "weft/kernel/norm/norm_loops.h"

namespace weft {
namespace {

// Values worth a second thread.
constexpr std::int64_t kNormRowsGrain = 16 * 1024;
// Rows are cut into parts by their number alone; each has sums of its own.
constexpr std::int64_t kPartsMax = 16;
constexpr std::int64_t kPartRows = 32;

struct NormRowParts {
  explicit NormRowParts(std::int64_t row_count)
      : rows(row_count),
        size(std::max(kPartRows, (row_count + kPartsMax - 1) / kPartsMax)),
        count((row_count + size - 1) / size) {}
  std::int64_t rows;
  std::int64_t size;
  std::int64_t count;
};

// sums[0, n) of the parts, which lie one after another, in order.
void add_parts(const Array& parts, std::int64_t count, Array& sums) {
  with_dtype(sums.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      const T* const from = parts.data<T>();
      T* const to = sums.data<T>();
      const std::int64_t n = sums.size();
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t part = 0; part < count; ++part) sum += double{from[part * n + j]};
        to[j] = static_cast<T>(sum);
      }
    }
  });
}

}  // namespace

NormedRows norm_rows(const Array& given, const Array& given_weight, const Array& given_bias,
                     const RowNormOptions& options) {
  std::optional<Array> copies[3];
  const Array& x = contiguous_in(given, copies[0]);
  const Array& weight = contiguous_in(given_weight, copies[1]);
  const Array& bias = contiguous_in(given_bias, copies[2]);
  const std::int64_t count = x.size() / std::max<std::int64_t>(1, options.length);
  NormedRows result;
  result.y = Array::empty(x.shape(), x.dtype(), x.device());
  if (options.statistics) {
    if (options.centered) result.mean = Array::empty({count}, DType::kF64, x.device());
    result.inverse = Array::empty({count}, DType::kF64, x.device());
  }
  launch("norm_rows", {&x, &weight, &bias}, {&result.y, &result.mean, &result.inverse},
         [options, count](LaunchArrays in, LaunchArrays out) {
           NormRows work;
           work.x = in[0].raw_data();
           work.weight = data_or_null(in[1]);
           work.bias = data_or_null(in[2]);
           work.y = out[0].raw_data();
           if (out[1].defined()) work.mean = out[1].data<double>();
           if (out[2].defined()) work.inverse = out[2].data<double>();
           work.n = options.length;
           work.eps = options.eps;
           work.centered = options.centered;
           const NormLoops& loops = norm_loops(in[0].dtype());
           parallel_for(
               count, 1 + kNormRowsGrain / std::max<std::int64_t>(1, work.n),
               [&](std::int64_t begin, std::int64_t end) { loops.rows(work, begin, end); });
         });
  return result;
}

NormGradients norm_rows_gradient(const Array& given_dy, const Array& given_x,
                                 const Array& given_weight, const NormedRows& forward,
                                 const RowNormOptions& options, const NormWants& wants) {
  const Array dy = given_dy.strided().contiguous();
  const Array x = given_x.strided().contiguous();
  const Array weight = dense(given_weight);
  const std::int64_t n = options.length;
  NormGradients result;
  if (wants.x) result.x = Array::empty(x.shape(), x.dtype(), x.device());
  if (wants.weight) result.weight = Array::empty({n}, x.dtype(), x.device());
  if (wants.bias) result.bias = Array::empty({n}, x.dtype(), x.device());
  const NormRowParts parts(x.size() / std::max<std::int64_t>(1, n));
  launch("norm_rows_gradient", {&dy, &x, &weight, &forward.mean, &forward.inverse},
         {&result.x, &result.weight, &result.bias},
         [options, parts, n, wants](LaunchArrays in, LaunchArrays out) {
           const DType dtype = in[1].dtype();
           NormRowsGradient work;
           work.dy = in[0].raw_data();
           work.x = in[1].raw_data();
           work.weight = data_or_null(in[2]);
           if (options.centered) work.mean = in[3].data<double>();
           work.inverse = in[4].data<double>();
           if (wants.x) work.dx = out[0].raw_data();
           work.n = n;
           work.centered = options.centered;
           const auto sums_of = [&](bool wanted) {
             return wanted ? Array::zeros({parts.count, n}, dtype) : Array();
           };
           const Array weight_sums = sums_of(wants.weight);
           const Array bias_sums = sums_of(wants.bias);
           const NormLoops& loops = norm_loops(dtype);
           parallel_for(parts.count, 1, [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t part = begin; part < end; ++part) {
               NormRowsGradient own = work;
               const auto at = [&](const Array& sums) {
                 return static_cast<std::uint8_t*>(sums.raw_data()) +
                        part * n * static_cast<std::int64_t>(size_of(dtype));
               };
               if (wants.weight) own.weight_sums = at(weight_sums);
               if (wants.bias) own.bias_sums = at(bias_sums);
               loops.rows_gradient(own, part * parts.size,
                                   std::min(parts.rows, (part + 1) * parts.size));
             }
           });
           if (wants.weight) add_parts(weight_sums, parts.count, out[1]);
           if (wants.bias) add_parts(bias_sums, parts.count, out[2]);
         });
  return result;
}

}  // namespace weft
