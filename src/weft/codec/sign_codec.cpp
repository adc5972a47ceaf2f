// sign, ef_sign: one bit for each value.
//
//   sign := what:u8 [scale:f32] bits      the lowest bit of the first byte is the first value's
//   what is 0: all values are zero, and nothing follows; 1: bits, a 1 for values below zero, the
//   bits behind the last are 0; 2: some value is no finite number, all decode to NaN. Only ef_sign
//   has a scale, and only where `what` is 1.
//
// IMPLEMENTATION: sign: J. Bernstein et al., "signSGD: compressed optimisation for non-convex
// problems", ICML 2018: values decode to +1 and -1, members vote. We differ for members that have
// nothing to say: a vector of zeros abstains. ef_sign: S. P. Karimireddy et al., "Error feedback
// fixes SignSGD", ICML 2019: values decode to +- the mean magnitude, and are added.
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "weft/codec/codec_def.h"

namespace weft {
namespace {

enum : std::uint8_t { kZeros = 0, kBits = 1, kNotFinite = 2 };

template <bool scaled>
std::size_t sign_bytes_max(const CodecInput& /*input*/, std::size_t elements) {
  return elements == 0 ? 0 : 1 + (scaled ? sizeof(float) : 0) + (elements + 7) / 8;
}

double sum_of_magnitudes(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += std::abs(static_cast<double>(value));
  return sum;
}

template <bool scaled>
void sign_encode(const CodecInput& /*input*/, std::span<const float> values, Bytes& out) {
  if (values.empty()) return;
  const double sum = sum_of_magnitudes(values);
  out.push_back(!std::isfinite(sum) ? kNotFinite : (sum > 0 ? kBits : kZeros));
  if (out.back() != kBits) return;
  if constexpr (scaled) {
    const auto scale = static_cast<float>(sum / static_cast<double>(values.size()));
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&scale);
    out.insert(out.end(), bytes, bytes + sizeof scale);
  }
  const std::size_t begin = out.size();
  out.resize(begin + (values.size() + 7) / 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const unsigned bit = values[i] < 0 ? 1U : 0U;
    out[begin + i / 8] = static_cast<std::uint8_t>(out[begin + i / 8] | bit << (i % 8));
  }
}

template <bool scaled>
Status sign_decode(const CodecInput& input, ByteSpan bytes, std::span<float> out) {
  const std::uint8_t what = bytes.empty() ? std::uint8_t{kZeros} : bytes[0];
  const std::size_t expected =
      out.empty() || what == kBits ? sign_bytes_max<scaled>(input, out.size()) : std::size_t{1};
  if (what > kNotFinite || bytes.size() != expected) {
    return corrupt(fmt::format("sign: expected {} bytes of kind 0 to 2, got {} of kind {}",
                               expected, bytes.size(), what));
  }
  float size = what == kBits ? 1.0F : (what == kZeros ? 0.0F : std::nanf(""));
  if (what != kBits) {
    std::ranges::fill(out, size);
    return {};
  }
  if constexpr (scaled) {
    std::memcpy(&size, bytes.data() + 1, sizeof size);
    if (!std::isfinite(size) || size < 0) return corrupt("sign: expected a scale of 0 or more");
  }
  const ByteSpan bits = bytes.last((out.size() + 7) / 8);
  if (out.size() % 8 != 0 && (bits.back() >> (out.size() % 8)) != 0) {
    return corrupt("sign: expected zeros behind the last bit");
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = (bits[i / 8] >> (i % 8) & 1U) != 0 ? -size : size;
  }
  return {};
}

// ||v||^2 - ||v||_1^2 / n for the mean magnitude, which is rounded once; sum (|v| - 1)^2 for 1.
template <bool scaled>
double sign_loss(const CodecInput& /*input*/, std::span<const float> values) {
  const double sum = sum_of_magnitudes(values);
  if (sum == 0) return 0;
  const double size = scaled ? sum / static_cast<double>(values.size()) : 1.0;
  double loss = 0;
  for (const float value : values) {
    const double rounding = scaled ? size * 1e-7 + 1e-45 : 0.0;
    const double error = std::abs(std::abs(static_cast<double>(value)) - size) + rounding;
    loss += error * error;
  }
  return loss;
}

}  // namespace

extern const CodecDef sign_codec = {
    .name = "sign",
    .summary = "One bit for each value; the majority decides (Bernstein et al. 2018).",
    .sum = CodecSum::kMajority,
    .bytes_max = sign_bytes_max<false>,
    .encode = sign_encode<false>,
    .decode = sign_decode<false>,
    .loss_max = sign_loss<false>,
};

extern const CodecDef ef_sign_codec = {
    .name = "ef_sign",
    .summary = "One bit for each value and the mean magnitude (Karimireddy et al. 2019).",
    .feedback = true,
    .bytes_max = sign_bytes_max<true>,
    .encode = sign_encode<true>,
    .decode = sign_decode<true>,
    .loss_max = sign_loss<true>,
};

}  // namespace weft
