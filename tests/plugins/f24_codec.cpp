// f24: of each value the sign, the exponent and the first 15 bits of the fraction.
//
//   f24 := 3 bytes for each value, the bits of the f32 without the last eight, lowest byte first
//
// An example of a codec in one file; docs/HACKING.md explains its parts.
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "weft/codec/codec_def.h"

namespace weft {
namespace {

std::size_t f24_bytes_max(const CodecInput& /*input*/, std::size_t elements) {
  return 3 * elements;
}

void f24_encode(const CodecInput& /*input*/, std::span<const float> values, Bytes& out) {
  for (const float value : values) {
    // A NaN with its bits at the end alone would become an infinity.
    const float kept = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&kept);
    out.insert(out.end(), bytes + 1, bytes + 4);
  }
}

Status f24_decode(const CodecInput& /*input*/, ByteSpan bytes, std::span<float> out) {
  if (bytes.size() != 3 * out.size()) {
    return corrupt(fmt::format("f24: expected {} bytes, got {}", 3 * out.size(), bytes.size()));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = 0;
    std::memcpy(reinterpret_cast<std::uint8_t*>(&out[i]) + 1, &bytes[3 * i], 3);
  }
  return {};
}

// Less than 2^-15 of a value, or of the smallest normal one.
double f24_loss(const CodecInput& /*input*/, std::span<const float> values) {
  double loss = 0;
  for (const float value : values) {
    const double size = std::abs(static_cast<double>(value)) + std::numeric_limits<float>::min();
    loss += std::ldexp(size * size, -30);
  }
  return loss;
}

}  // namespace
extern const CodecDef f24_codec = {.name = "f24",
                                   .summary = "The upper three bytes of each value.",
                                   .feedback = true,
                                   .bytes_max = f24_bytes_max,
                                   .encode = f24_encode,
                                   .decode = f24_decode,
                                   .loss_max = f24_loss};
}  // namespace weft
