// f32, bf16, f16, int8: a fixed number of bits for each value, as wire_precision.h writes them.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "weft/codec/codec_def.h"

namespace weft {
namespace {

template <WirePrecision Precision>
std::size_t precision_bytes(const CodecInput& /*input*/, std::size_t elements) {
  return encoded_bytes(Precision, elements);
}

template <WirePrecision Precision>
void encode_precision(const CodecInput& /*input*/, std::span<const float> values, Bytes& out) {
  const std::size_t begin = out.size();
  out.resize(begin + encoded_bytes(Precision, values.size()));
  encode(Precision, values, MutableByteSpan(out).subspan(begin));
}

template <WirePrecision Precision>
Status decode_precision(const CodecInput& /*input*/, ByteSpan bytes, std::span<float> out) {
  const std::size_t expected = encoded_bytes(Precision, out.size());
  if (bytes.size() != expected) {
    return corrupt(fmt::format("{}: expected {} bytes for {} values, got {}", to_string(Precision),
                               expected, out.size(), bytes.size()));
  }
  decode(Precision, bytes, out);
  return {};
}

// Half a unit of the last of `Bits` bits of the mantissa, at least half a unit of the smallest
// exponent; beyond the largest value, what is cut off.
template <int Bits, int ExponentMin, int ExponentMax>
double rounding_loss(const CodecInput& /*input*/, std::span<const float> values) {
  const double largest = std::ldexp(2 - std::ldexp(1.0, 1 - Bits), ExponentMax);
  double loss = 0;
  for (const float value : values) {
    const double size = std::abs(static_cast<double>(value));
    const double step = std::max(std::ldexp(size, -Bits), std::ldexp(0.5, ExponentMin + 1 - Bits));
    loss += std::pow(std::max(step, size - largest), 2);
  }
  return loss;
}

double no_loss(const CodecInput& /*input*/, std::span<const float> /*values*/) { return 0; }

// Half a unit of largest / 127 in each block, and a hundredth for the roundings of scale and
// product; blocks of values below 1e-36 become zeros.
double int8_loss(const CodecInput& /*input*/, std::span<const float> values) {
  double loss = 0;
  for (std::size_t at = 0; at < values.size(); at += kInt8Block) {
    const auto block = values.subspan(at, std::min(kInt8Block, values.size() - at));
    double largest = 0;
    for (const float value : block) {
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    const double step = largest < 1.001e-36 ? largest : 0.5 * 1.01 * largest / 127;
    loss += static_cast<double>(block.size()) * step * step;
  }
  return loss;
}

}  // namespace

extern const CodecDef f32_codec = {
    .name = "f32",
    .summary = "The unchanged values.",
    .hop = WirePrecision::kF32,
    .bytes_max = precision_bytes<WirePrecision::kF32>,
    .encode = encode_precision<WirePrecision::kF32>,
    .decode = decode_precision<WirePrecision::kF32>,
    .loss_max = no_loss,
};

extern const CodecDef bf16_codec = {
    .name = "bf16",
    .summary = "The upper half of each value, rounded to nearest.",
    .hop = WirePrecision::kBf16,
    .feedback = true,
    .bytes_max = precision_bytes<WirePrecision::kBf16>,
    .encode = encode_precision<WirePrecision::kBf16>,
    .decode = decode_precision<WirePrecision::kBf16>,
    .loss_max = rounding_loss<8, -126, 127>,
};

extern const CodecDef f16_codec = {
    .name = "f16",
    .summary = "IEEE binary16, rounded to nearest; at most 65504.",
    .hop = WirePrecision::kF16,
    .feedback = true,
    .bytes_max = precision_bytes<WirePrecision::kF16>,
    .encode = encode_precision<WirePrecision::kF16>,
    .decode = decode_precision<WirePrecision::kF16>,
    .loss_max = rounding_loss<11, -14, 15>,
};

extern const CodecDef int8_codec = {
    .name = "int8",
    .summary = "Blocks of 128 values with one scale, a signed byte for each value.",
    .hop = WirePrecision::kInt8,
    .feedback = true,
    .bytes_max = precision_bytes<WirePrecision::kInt8>,
    .encode = encode_precision<WirePrecision::kInt8>,
    .decode = decode_precision<WirePrecision::kInt8>,
    .loss_max = int8_loss,
};

}  // namespace weft
