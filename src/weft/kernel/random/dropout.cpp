#include "weft/kernel/random/dropout.h"

#include <algorithm>
#include <cmath>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/kernel/core/rows.h"

namespace weft {
namespace {

constexpr std::int64_t kDropoutGrain = 8'192;

std::uint32_t dropout_threshold(double probability) {
  const double words = std::floor(probability * 4294967296.0 + 0.5);
  return static_cast<std::uint32_t>(std::min(words, 4294967295.0));
}

void drop_rows(const Array& in, const Array& stream, double probability, Array& out) {
  if (in.size() == 0) return;
  const DropoutStream masks = read_dropout_stream(stream, probability);
  const std::int64_t rows = in.ndim() == 0 ? 1 : in.dim(0);
  const std::int64_t columns = in.size() / rows;
  const std::int64_t row_bytes = columns * static_cast<std::int64_t>(size_of(in.dtype()));
  const auto* const from = static_cast<const std::uint8_t*>(in.raw_data());
  auto* const to = static_cast<std::uint8_t*>(out.raw_data());
  const DropoutRowKernel kernel = row_kernels().dropout[float_index("dropout", in.dtype())];
  const DropoutRow base{masks.first_row, masks.key, dropout_threshold(probability),
                        1.0 / (1.0 - probability)};
  parallel_for(in.size(), kDropoutGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t i = at / columns;
      const std::int64_t first = at - i * columns;
      const std::int64_t last = std::min(columns, first + end - at);
      DropoutRow row = base;
      row.row += static_cast<std::uint64_t>(i);
      kernel(row, from + i * row_bytes, to + i * row_bytes, first, last);
      at += last - first;
    }
  });
}

}  // namespace

DropoutStream read_dropout_stream(const Array& stream, double probability) {
  const std::int64_t* const words = stream.data<std::int64_t>();
  return {{static_cast<std::uint32_t>(words[0]), static_cast<std::uint32_t>(words[1])},
          static_cast<std::uint64_t>(words[2]),
          probability};
}

Array dropout_stream(const Array& words, std::uint32_t layer) {
  Array stream = Array::empty({3}, DType::kI64, words.device());
  launch("dropout_stream", {&words}, {&stream}, [layer](LaunchArrays in, LaunchArrays out) {
    const std::int64_t* const from = in[0].data<std::int64_t>();
    const auto low = [&](int i) { return static_cast<std::uint32_t>(from[i]); };
    const auto high = [&](int i) {
      return static_cast<std::uint32_t>(static_cast<std::uint64_t>(from[i]) >> 32);
    };
    // 0x64726f70 keeps other users of the seed apart.
    const PhiloxCounter key = philox4x32({low(1), high(1), layer, 0x64726f70}, {low(0), high(0)});
    std::int64_t* const to = out[0].data<std::int64_t>();
    to[0] = key[0];
    to[1] = key[1];
    to[2] = from[2];
  });
  return stream;
}

Array dropout_rows(const Array& x, const Array& stream, double probability) {
  const Array in = x.contiguous();
  Array out = Array::empty(in.shape(), in.dtype(), in.device());
  launch("dropout", {&in, &stream}, {&out}, [probability](LaunchArrays arrays, LaunchArrays to) {
    drop_rows(arrays[0], arrays[1], probability, to[0]);
  });
  return out;
}

}  // namespace weft
