// dropout: y = x mask / (1 - p); the mask is made again for the gradient, so nothing is saved.
#include "weft/base/rng.h"
#include "weft/kernel/dropout.h"
#include "weft/op/dropout.h"
#include "weft/op/linear_map.h"
#include "weft/op/operands.h"
#include "weft/op/sample.h"

namespace weft {
namespace {

DropoutStream stream_of(const DropoutKey& key, double p) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  // One key for each (seed, step, layer); 0x64726f70 keeps other users of the seed apart.
  const PhiloxCounter words = philox4x32({low(key.step), high(key.step), key.layer, 0x64726f70},
                                         {low(key.seed), high(key.seed)});
  return {{words[0], words[1]}, key.first_row, p};
}

}  // namespace

Tensor dropout(const Tensor& x, double p, const DropoutKey& key, bool training) {
  check_floating("dropout", x);
  if (!(p >= 0.0 && p < 1.0)) throw_operand("dropout", "p in [0, 1)", std::to_string(p));
  if (!training || p == 0.0) return x;
  const DropoutStream stream = stream_of(key, p);
  return record(
      "dropout", dropout_rows(x.array(), stream), {&x},
      [stream](const Array& dy, const InputGradients& dx) { dx.add(0, dropout_rows(dy, stream)); },
      [stream](const Tensor& dy, const TensorGradients& dx) {
        const auto mask = [stream](const Array& g) { return dropout_rows(g, stream); };
        dx.add(0, linear_map("dropout_gradient", dy, mask, mask));
      });
}

// Word by word from the generator of base/rng.h.
static Array reference(const Array& x, double p, const DropoutKey& key) {
  const PhiloxCounter words = philox4x32(
      {static_cast<std::uint32_t>(key.step), static_cast<std::uint32_t>(key.step >> 32), key.layer,
       0x64726f70},
      {static_cast<std::uint32_t>(key.seed), static_cast<std::uint32_t>(key.seed >> 32)});
  Array y = Array::empty(x.shape(), DType::kF64);
  const std::int64_t columns = x.size() == 0 || x.ndim() == 0 ? 1 : x.size() / x.dim(0);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::uint64_t row = key.first_row + static_cast<std::uint64_t>(i / columns);
    const auto column = static_cast<std::uint64_t>(i % columns);
    const PhiloxCounter block =
        philox4x32({static_cast<std::uint32_t>(column / 64 * 16 + column % 16), 0,
                    static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32)},
                   {words[0], words[1]});
    const bool keep = static_cast<double>(block[column % 64 / 16]) >= p * 4294967296.0;
    y.data<double>()[i] = keep ? x.data<double>()[i] / (1.0 - p) : 0.0;
  }
  return y;
}

static std::vector<OpSample> samples() {
  const auto sample = [](const char* name, const Shape& shape, double p, const DropoutKey& key) {
    return OpSample{name,
                    {sample_values(shape, 51)},
                    [=](std::span<const Tensor> in) { return dropout(in[0], p, key, true); },
                    [=](std::span<const Array> in) { return reference(in[0], p, key); }};
  };
  return {sample("half", {3, 70}, 0.5, {1, 2, 3, 0}),
          sample("a quarter, images", {2, 3, 5, 5}, 0.25, {1, 2, 4, 1'000}),
          sample("rows beyond 2^32", {2, 9}, 0.5, {~0ULL, ~0ULL, ~0U, 1ULL << 33}),
          sample("one element", {1}, 0.5, {5, 6, 7, 8}),
          sample("scalar", {}, 0.1, {5, 6, 7, 8}),
          sample("no rows", {0, 4}, 0.5, {})};
}
extern const OpDef dropout_op = {"dropout", samples};

}  // namespace weft
