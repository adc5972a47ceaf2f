// dropout: y = x mask / (1 - p); the mask is made again for the gradient, so nothing is saved.
#include "weft/array/launch.h"
#include "weft/base/rng.h"
#include "weft/kernel/random/dropout.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/dropout.h"

namespace weft {
namespace {

// dropout with a stream that is drawn already.
Tensor masked(const Tensor& x, const Array& stream, double p) {
  return record(
      "dropout", dropout_rows(x.array(), stream, p), {&x},
      [stream, p](const Array& dy, const InputGradients& dx) {
        dx.add(0, dropout_rows(dy, stream, p));
      },
      [stream, p](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, masked(dy, stream, p));
      });
}

}  // namespace

Tensor dropout(const Tensor& x, double p, const DropoutKey& key, bool training) {
  if (training && p != 0.0) launch_host_read("dropout with a key of numbers");
  const auto word = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  const std::vector<std::int64_t> words = {word(key.seed), word(key.step), word(key.first_row)};
  return dropout(x, p, Array::from(words, {3}), key.layer, training);
}

Tensor dropout(const Tensor& x, double p, const Array& words, std::uint32_t layer, bool training) {
  check_floating("dropout", x);
  if (!(p >= 0.0 && p < 1.0)) throw_operand("dropout", "p in [0, 1)", std::to_string(p));
  if (words.shape() != Shape{3} || words.dtype() != DType::kI64 || !words.is_contiguous()) {
    throw_operand("dropout", "words of shape [3] and type i64", to_string(words.shape()));
  }
  if (!training || p == 0.0) return x;
  if (is_half(x))
    return cast(masked(widened(x), dropout_stream(words, layer).to(x.device()), p), x.dtype());
  return masked(x, dropout_stream(words, layer).to(x.device()), p);
}

// Word by word from the generator of base/rng.h.
static Array dropout_reference(const Array& x, double p, const DropoutKey& key) {
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

static std::vector<OpSample> dropout_samples() {
  const auto sample = [](const char* name, const Shape& shape, double p, const DropoutKey& key) {
    const auto word = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    const std::vector<std::int64_t> words = {word(key.seed), word(key.step), word(key.first_row)};
    return OpSample{name,
                    {sample_values(shape, 51), Array::from(words, {3})},
                    [=](std::span<const Tensor> in) {
                      return dropout(in[0], p, in[1].array().contiguous(), key.layer, true);
                    },
                    [=](std::span<const Array> in) { return dropout_reference(in[0], p, key); }};
  };
  return {sample("half", {3, 70}, 0.5, {1, 2, 3, 0}),
          sample("a quarter, images", {2, 3, 5, 5}, 0.25, {1, 2, 4, 1'000}),
          sample("rows beyond 2^32", {2, 9}, 0.5, {~0ULL, ~0ULL, ~0U, 1ULL << 33}),
          sample("one element", {1}, 0.5, {5, 6, 7, 8}),
          sample("scalar", {}, 0.1, {5, 6, 7, 8}),
          sample("no rows", {0, 4}, 0.5, {})};
}
extern const OpDef dropout_op = {"dropout", dropout_samples};

}  // namespace weft
