// dct: the largest coefficients of the cosine transform of each chunk of values.
//
//   dct := chunks, then zeros up to a whole byte    the lowest bit of a byte stands for the first
//   chunk := scale:16 bits [kept x (place, size)]
//   place := as many bits as the last place of the chunk needs; places ascend
//   size  := 8 bits, a signed number from -127 to 127: the coefficient is size * scale;
//            with sign = 1 a bit, 1 for below zero: the coefficient is +- scale
//
// The scale is the upper half of an f32: the largest magnitude / 127, rounded up, or with sign = 1
// the mean magnitude of what is kept, rounded to nearest. Without the rest it is 0 for a chunk
// whose scale would be below 2^-100, and NaN for one with a value that is not finite; such chunks
// decode to zeros and to NaN. The last chunk is as long as what is left, and so is its transform.
//
// IMPLEMENTATION: B. Peng, J. Quesnelle, D. P. Kingma, "DeMo: decoupled momentum optimization",
// arXiv 2411.19870, section 3 (the extraction of fast components). We differ: chunks are runs of
// the whole vector, not tiles of each matrix; error feedback stands in place of the decoupled
// momentum; and coefficients have a scale, so that members' decoded vectors can be added. Time
// O(elements), see cosine_transform.h; memory a chunk.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "weft/codec/codec_def.h"
#include "weft/codec/codec_parts.h"
#include "weft/codec/loops/cosine_transform.h"

namespace weft {
namespace {

constexpr Option kDctOptions[] = {
    {.name = "chunk",
     .fallback = 64,
     .min = 1,
     .max = 4096,
     .whole = true,
     .help = "Values that are transformed together; powers of two are fast."},
    {.name = "keep",
     .fallback = 8,
     .min = 1,
     .max = 4096,
     .whole = true,
     .help = "Coefficients of each chunk that are sent."},
    {.name = "sign",
     .fallback = 0,
     .min = 0,
     .max = 1,
     .whole = true,
     .help = "1: a bit for each coefficient and their mean magnitude, in place of 8 bits."},
};

constexpr unsigned kDctScaleBits = 16;
constexpr std::uint32_t kDctNan = 0x7fc0;
// The upper halves of 2^-100 and of infinity.
constexpr std::uint32_t kDctLeastScale = 0x0d80;
constexpr std::uint32_t kDctInfinity = 0x7f80;
constexpr std::int32_t kDctSizeMax = 127;
constexpr auto kDctLargest = static_cast<double>(std::numeric_limits<float>::max());

// What follows from the options and the length of a chunk.
struct DctChunk {
  DctChunk(const CodecInput& input, std::size_t values)
      : length(values),
        kept(std::min(static_cast<std::size_t>(input.options[1]), values)),
        signs(input.options[2] == 1),
        place_bits(static_cast<unsigned>(std::bit_width(values - 1))) {}
  std::size_t bits_max() const { return kDctScaleBits + kept * (place_bits + (signs ? 1 : 8)); }

  std::size_t length;
  std::size_t kept;
  bool signs;
  unsigned place_bits;
};

// Calls each(DctChunk, CosineTransform, first place, number of chunks) for up to kCosineLanes
// chunks of one length, until it returns false.
template <class Each>
bool for_each_dct_block(const CodecInput& input, std::size_t elements, const Each& each) {
  const auto most = static_cast<std::size_t>(input.options[0]);
  for (std::size_t at = 0; at < elements;) {
    const DctChunk chunk(input, std::min(most, elements - at));
    CosineTransform transform(chunk.length);
    for (std::size_t left = (elements - at) / chunk.length; left > 0;) {
      const std::size_t count = std::min(left, kCosineLanes);
      if (!each(chunk, transform, at, count)) return false;
      at += count * chunk.length;
      left -= count;
    }
  }
  return true;
}

std::size_t dct_bytes_max(const CodecInput& input, std::size_t elements) {
  const auto most = static_cast<std::size_t>(input.options[0]);
  std::size_t bits = 0;
  if (elements >= most) bits += elements / most * DctChunk(input, most).bits_max();
  if (elements % most != 0) bits += DctChunk(input, elements % most).bits_max();
  return (bits + 7) / 8;
}

float dct_scale_of(std::uint32_t half) { return std::bit_cast<float>(half << 16U); }

// The scale as it travels. `kept` are the coefficients that are sent.
std::uint32_t dct_scale(const DctChunk& chunk, std::span<const double> kept) {
  double largest = 0;
  double sum = 0;
  for (const double value : kept) {
    largest = std::max(largest, std::abs(value));
    sum += std::abs(value);
  }
  if (!std::isfinite(sum)) return kDctNan;
  const double size = chunk.signs ? sum / static_cast<double>(kept.size()) : largest / kDctSizeMax;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(std::min(size, kDctLargest)));
  const std::uint32_t half = (bits + (chunk.signs ? 0x8000U : 0xffffU)) >> 16U;
  return half < kDctLeastScale ? 0 : std::min(half, kDctInfinity - 1);
}

class DctWriter {
 public:
  explicit DctWriter(Bytes& out) : bits_(out) {}

  // Takes the coefficients of a chunk.
  void write(const DctChunk& chunk, std::span<const double> coefficients) {
    choose(chunk, coefficients);
    const std::uint32_t half = dct_scale(chunk, kept_);
    bits_.put(half, kDctScaleBits);
    if (half == 0 || half == kDctNan) return;
    const auto scale = static_cast<double>(dct_scale_of(half));
    for (std::size_t i = 0; i < chunk.kept; ++i) {
      bits_.put(static_cast<std::uint32_t>(places_[i]), chunk.place_bits);
      if (chunk.signs) {
        bits_.put(kept_[i] < 0 ? 1 : 0, 1);
      } else {
        const auto size = static_cast<std::int32_t>(std::floor(kept_[i] / scale + 0.5));
        bits_.put(static_cast<std::uint32_t>(size) & 0xffU, 8);
      }
    }
  }
  void finish() { bits_.finish(); }

 private:
  void choose(const DctChunk& chunk, std::span<const double> coefficients) {
    sizes_.resize(chunk.length);
    // A zero counts as the least magnitude, so that there are always enough places. Coefficients
    // are at most 64 times the largest value.
    std::ranges::transform(coefficients, sizes_.begin(), [](double value) {
      const auto size = static_cast<float>(std::abs(value) * 0x1p-6);
      return std::max(size, std::numeric_limits<float>::denorm_min());
    });
    places_ = largest_.find(sizes_, chunk.kept);
    kept_.clear();
    for (const std::size_t place : places_) kept_.push_back(coefficients[place]);
  }

  BitWriter bits_;
  LargestPlaces largest_;
  std::vector<float> sizes_;
  std::span<const std::size_t> places_;
  std::vector<double> kept_;
};

void dct_encode(const CodecInput& input, std::span<const float> values, Bytes& out) {
  DctWriter writer(out);
  std::vector<double> block;
  std::vector<double> coefficients;
  const auto encode_block = [&](const DctChunk& chunk, CosineTransform& transform, std::size_t at,
                                std::size_t count) {
    block.assign(kCosineLanes * chunk.length, 0.0);
    for (std::size_t lane = 0; lane < count; ++lane) {
      const float* const from = values.data() + at + lane * chunk.length;
      for (std::size_t n = 0; n < chunk.length; ++n) {
        block[n * kCosineLanes + lane] = static_cast<double>(from[n]);
      }
    }
    transform.forward(block);
    coefficients.resize(chunk.length);
    for (std::size_t lane = 0; lane < count; ++lane) {
      for (std::size_t k = 0; k < chunk.length; ++k) {
        coefficients[k] = block[k * kCosineLanes + lane];
      }
      writer.write(chunk, coefficients);
    }
    return true;
  };
  for_each_dct_block(input, values.size(), encode_block);
  writer.finish();
}

// Fills lane `lane` of a block with the coefficients of a chunk, and returns what its scale is as
// it travels; nothing for bits that no encoder gives.
std::optional<std::uint32_t> read_dct_chunk(const DctChunk& chunk, BitReader& bits,
                                            std::span<double> block, std::size_t lane) {
  const auto half = bits.take(kDctScaleBits);
  if (!half || *half == 0 || *half == kDctNan) return half;
  if (*half < kDctLeastScale || *half >= kDctInfinity) return std::nullopt;
  const auto scale = static_cast<double>(dct_scale_of(*half));
  std::size_t next = 0;
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < chunk.kept; ++i) {
    const auto place = bits.take(chunk.place_bits);
    const auto size = bits.take(chunk.signs ? 1 : 8);
    if (!place || !size || *place < next || *place >= chunk.length) return std::nullopt;
    next = *place + std::size_t{1};
    const std::int32_t number =
        chunk.signs ? (*size == 0 ? 1 : -1) : static_cast<std::int32_t>(*size ^ 0x80U) - 0x80;
    if (number < -kDctSizeMax) return std::nullopt;
    largest = std::max(largest, std::abs(number));
    block[*place * kCosineLanes + lane] = number * scale;
  }
  // Rounding the scale up by less than 1/128 of it makes 127 no less than 126.
  return chunk.signs || largest >= kDctSizeMax - 1 ? half : std::nullopt;
}

Status dct_decode(const CodecInput& input, ByteSpan bytes, std::span<float> out) {
  BitReader bits(bytes);
  std::vector<double> block;
  const auto decode_block = [&](const DctChunk& chunk, CosineTransform& transform, std::size_t at,
                                std::size_t count) {
    std::array<std::uint32_t, kCosineLanes> halves{};
    block.assign(kCosineLanes * chunk.length, 0.0);
    for (std::size_t lane = 0; lane < count; ++lane) {
      const auto half = read_dct_chunk(chunk, bits, block, lane);
      if (!half) return false;
      halves[lane] = *half;
    }
    transform.inverse(block);
    for (std::size_t lane = 0; lane < count; ++lane) {
      float* const to = out.data() + at + lane * chunk.length;
      const bool scaled = halves[lane] != 0 && halves[lane] != kDctNan;
      for (std::size_t n = 0; n < chunk.length; ++n) {
        const double value = block[n * kCosineLanes + lane];
        to[n] = scaled ? static_cast<float>(std::clamp(value, -kDctLargest, kDctLargest))
                       : dct_scale_of(halves[lane]);
      }
    }
    return true;
  };
  if (!for_each_dct_block(input, out.size(), decode_block)) {
    return corrupt("dct: a chunk is cut off or no encoder's");
  }
  if (!bits.finish_byte() || !bits.rest().empty()) {
    return corrupt(fmt::format("dct: {} bytes too many, or bits set", bits.rest().size()));
  }
  return {};
}

// The coefficients left behind are the smallest: at most their share of the sum of squares, which
// the transform keeps. Those of 8 bits are off by half a scale. With signs, the mean magnitude m of
// k coefficients takes k m^2 off the sum, which is at least the mean square of all.
double dct_loss(const CodecInput& input, std::span<const float> values) {
  double loss = 0;
  for (std::size_t at = 0; at < values.size();) {
    const std::size_t left = values.size() - at;
    const DctChunk chunk(input, std::min(static_cast<std::size_t>(input.options[0]), left));
    const double squares = sum_of_squares(values.subspan(at, chunk.length));
    const auto length = static_cast<double>(chunk.length);
    const auto kept = static_cast<double>(chunk.kept);
    const double half_a_scale = 0.5 / kDctSizeMax * (1 + 0x1p-7);
    const double share = chunk.signs ? 1 - (1 - 0x1p-16) / length
                                     : 1 - kept / length + kept * half_a_scale * half_a_scale;
    // Values are rounded to f32, and those of a chunk with next to nothing are zeros.
    const double root = std::sqrt(share * squares) + 1e-6 * std::sqrt(squares);
    loss += root * root + 1e-50 * length;
    at += chunk.length;
  }
  return loss;
}

}  // namespace

extern const CodecDef dct_codec = {
    .name = "dct",
    .summary =
        "The largest coefficients of the cosine transform of each chunk, with their positions "
        "(Peng et al. 2024).",
    .options = kDctOptions,
    .feedback = true,
    .bytes_max = dct_bytes_max,
    .encode = dct_encode,
    .decode = dct_decode,
    .loss_max = dct_loss,
};

}  // namespace weft
