#include "weft/kernel/dropout.h"

#include <algorithm>
#include <cmath>

#include "weft/base/parallel.h"
#include "weft/kernel/rows.h"

namespace weft {
namespace {

constexpr std::int64_t kGrainValues = 8'192;

std::uint32_t threshold_of(double probability) {
  const double words = std::floor(probability * 4294967296.0 + 0.5);
  return static_cast<std::uint32_t>(std::min(words, 4294967295.0));
}

}  // namespace

Array dropout_rows(const Array& x, const DropoutStream& stream) {
  const std::size_t type = float_index("dropout", x.dtype());
  const Array in = x.contiguous();
  Array out = Array::empty(in.shape(), in.dtype());
  if (in.size() == 0) return out;
  const std::int64_t rows = in.ndim() == 0 ? 1 : in.dim(0);
  const std::int64_t columns = in.size() / rows;
  const std::int64_t row_bytes = columns * static_cast<std::int64_t>(size_of(in.dtype()));
  const auto* const from = static_cast<const std::uint8_t*>(in.raw_data());
  auto* const to = static_cast<std::uint8_t*>(out.raw_data());
  const DropoutRowKernel kernel = row_kernels().dropout[type];
  const DropoutRow base{0, stream.key, threshold_of(stream.probability),
                        1.0 / (1.0 - stream.probability)};
  parallel_for(in.size(), kGrainValues, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t i = at / columns;
      const std::int64_t first = at - i * columns;
      const std::int64_t last = std::min(columns, first + end - at);
      DropoutRow row = base;
      row.row = stream.first_row + static_cast<std::uint64_t>(i);
      kernel(row, from + i * row_bytes, to + i * row_bytes, first, last);
      at += last - first;
    }
  });
  return out;
}

}  // namespace weft
