// sign, ef_sign: one bit for each value.
//
//   sign := what:u8 [scale:f32] flags signs zeros     the lowest bit of a byte stands for the first
//   flags := a bit for each block of 512 values, 1 where some of its values are zero
//   signs := a bit for each value, 1 for those below zero
//   zeros := for each block with a flag a bit for each of its values, 1 for those that are zero
//
// `what` is 0: all values are zero, and nothing follows; 1: as above; 2: some value is no finite
// number, all decode to NaN, and nothing follows. Only ef_sign has a scale. Zeros stay zeros: the
// gaps of a buffer and rows that no sample touched are not pushed about.
//
// IMPLEMENTATION: sign: J. Bernstein et al., "signSGD: compressed optimisation for non-convex
// problems", ICML 2018: values decode to +1 and -1, members vote. We differ for members that have
// nothing to say of a value: a zero abstains. ef_sign: S. P. Karimireddy et al., "Error feedback
// fixes SignSGD", ICML 2019: values decode to +- the mean magnitude, and are added.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "weft/codec/codec_def.h"
#include "weft/codec/codec_parts.h"

namespace weft {
namespace {

enum : std::uint8_t { kZeros = 0, kBits = 1, kNotFinite = 2 };

constexpr std::size_t kSignBlock = 512;

std::size_t bytes_of_bits(std::size_t bits) { return (bits + 7) / 8; }
std::size_t blocks_of(std::size_t elements) { return (elements + kSignBlock - 1) / kSignBlock; }
// The bytes of scale, flags and signs.
template <bool Scaled>
std::size_t sign_fixed_bytes(std::size_t elements) {
  const std::size_t flags = bytes_of_bits(blocks_of(elements));
  return 1 + (Scaled ? sizeof(float) : 0) + flags + bytes_of_bits(elements);
}
template <bool Scaled>
std::size_t sign_bytes_max(const CodecInput& /*input*/, std::size_t elements) {
  return elements == 0 ? 0 : sign_fixed_bytes<Scaled>(elements) + bytes_of_bits(elements);
}

bool bit_at(ByteSpan bits, std::size_t at) { return (bits[at / 8] >> (at % 8) & 1U) != 0; }
void set_bit(MutableByteSpan bits, std::size_t at) {
  bits[at / 8] = static_cast<std::uint8_t>(bits[at / 8] | 1U << (at % 8));
}

double sum_of_magnitudes(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += std::abs(static_cast<double>(value));
  return sum;
}

// What a payload of these values is.
std::uint8_t kind_of(std::span<const float> values) {
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  const std::uint32_t largest = codec_loops().largest_size(values.data(), values.size());
  return largest >= kInfinity ? kNotFinite : (largest > 0 ? kBits : kZeros);
}

template <bool Scaled>
void sign_encode(const CodecInput& /*input*/, std::span<const float> values, Bytes& out) {
  if (values.empty()) return;
  out.push_back(kind_of(values));
  if (out.back() != kBits) return;
  if constexpr (Scaled) {
    const double mean = sum_of_magnitudes(values) / static_cast<double>(values.size());
    append_value(static_cast<float>(mean), out);
  }
  const std::size_t begin = out.size();
  const std::size_t flag_bytes = bytes_of_bits(blocks_of(values.size()));
  out.resize(begin + flag_bytes + bytes_of_bits(values.size()));
  for (std::size_t block = 0; block < blocks_of(values.size()); ++block) {
    const std::size_t at = block * kSignBlock;
    const auto part = values.subspan(at, std::min(kSignBlock, values.size() - at));
    std::array<std::uint8_t, kSignBlock / 8> zeros{};
    std::uint8_t* const signs = out.data() + begin + flag_bytes + at / 8;
    if (!codec_loops().sign_bits(part.data(), signs, zeros.data(), part.size())) continue;
    set_bit(MutableByteSpan(out).subspan(begin), block);
    const std::size_t zero_bytes = bytes_of_bits(part.size());
    out.insert(out.end(), zeros.begin(), zeros.begin() + static_cast<std::ptrdiff_t>(zero_bytes));
  }
}

template <bool Scaled>
Status sign_decode(const CodecInput& /*input*/, ByteSpan bytes, std::span<float> out) {
  if (out.empty()) return bytes.empty() ? Status() : corrupt("sign: expected no bytes");
  const std::uint8_t what = bytes.empty() ? kNotFinite + 1 : bytes[0];
  const std::size_t least = what == kBits ? sign_fixed_bytes<Scaled>(out.size()) : 1;
  if (what > kNotFinite || bytes.size() < least || (what != kBits && bytes.size() > 1)) {
    return corrupt(fmt::format("sign: expected {} bytes or more of kind 0 to 2, got {} of kind {}",
                               least, bytes.size(), what));
  }
  float size = what == kBits ? 1.0F : (what == kZeros ? 0.0F : std::nanf(""));
  if (what != kBits) {
    std::ranges::fill(out, size);
    return {};
  }
  if constexpr (Scaled) {
    std::memcpy(&size, bytes.data() + 1, sizeof size);
    if (!std::isfinite(size) || size < 0) return corrupt("sign: expected a scale of 0 or more");
  }
  const std::size_t sign_bytes = bytes_of_bits(out.size());
  const std::size_t flag_bytes = bytes_of_bits(blocks_of(out.size()));
  const ByteSpan flags = bytes.subspan(least - sign_bytes - flag_bytes, flag_bytes);
  const ByteSpan signs = bytes.subspan(least - sign_bytes, sign_bytes);
  codec_loops().spread_signs(signs.data(), size, out.data(), out.size());
  ByteSpan zeros = bytes.subspan(least);
  for (std::size_t block = 0; block < blocks_of(out.size()); ++block) {
    if (!bit_at(flags, block)) continue;
    const std::size_t at = block * kSignBlock;
    const auto part = out.subspan(at, std::min(kSignBlock, out.size() - at));
    const std::size_t zero_bytes = bytes_of_bits(part.size());
    if (zeros.size() < zero_bytes) return corrupt("sign: the places of zeros are cut off");
    codec_loops().clear_zeros(zeros.data(), part.data(), part.size());
    zeros = zeros.subspan(zero_bytes);
  }
  return zeros.empty() ? Status() : corrupt(fmt::format("sign: {} bytes too many", zeros.size()));
}

// At each value but zeros the magnitude less the mean magnitude, which is rounded once, or less 1.
template <bool Scaled>
double sign_loss(const CodecInput& /*input*/, std::span<const float> values) {
  const double sum = sum_of_magnitudes(values);
  if (sum == 0) return 0;
  const double size = Scaled ? sum / static_cast<double>(values.size()) : 1.0;
  double loss = 0;
  for (const float value : values) {
    if (value == 0) continue;
    const double rounding = Scaled ? size * 1e-7 + 1e-45 : 0.0;
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
