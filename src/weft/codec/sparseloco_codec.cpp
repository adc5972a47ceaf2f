// sparseloco: the 64 largest of each 4,096 values, each in 12 bits for its place and 2 for its
// size.
//
//   sparseloco := groups of 16 chunks of 4,096 values
//   group := low:f32 high:f32 [chunks, then zeros up to a whole byte]
//   chunk := full:1 bit [count] count x (place:12 bits, negative:1 bit, high:1 bit)
//
// The lowest bit of a byte stands for the first. A value decodes to +- low or +- high, which are
// the mean magnitudes of the group's kept values below their mean and of the others. Places ascend.
// A full chunk has `keep` values and no count; a last chunk of fewer values keeps the same share of
// them, rounded up. Zeros are not sent, so a chunk may have fewer; the count has the bits that
// `keep` - 1 needs. Where low and high are 0 or NaN, nothing follows, and all values of the group
// decode to that; NaN stands for a value that is not finite.
//
// A full group of 65,536 values takes 8 + (16 * (1 + 64 * 14)) / 8 = 1,802 bytes, 145.5 times fewer
// than in f32; without levels and counts it would be 146.3 times.
//
// IMPLEMENTATION: A. Sarfi, B. Therien, J. Lidin, E. Belilovsky, "Communication efficient LLM
// pre-training with SparseLoCo", arXiv 2508.15706. We differ: two magnitudes with a sign in place
// of four levels, for groups of the vector in place of matrices; chunks are runs of the vector, not
// tiles of matrices. Time O(elements), memory a group.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "weft/codec/codec_def.h"
#include "weft/codec/codec_parts.h"

namespace weft {
namespace {

constexpr std::size_t kLocoChunk = 4096;
constexpr unsigned kLocoPlaceBits = 12;
constexpr unsigned kLocoLevelBits = 2;
constexpr std::size_t kLocoGroup = 16 * kLocoChunk;

constexpr Option kSparselocoOptions[] = {
    {.name = "keep",
     .fallback = 64,
     .min = 1,
     .max = kLocoChunk,
     .whole = true,
     .help = "How many of each 4096 values are sent, in 14 bits each."},
};

// What follows from the options and the length of a chunk.
struct LocoChunk {
  LocoChunk(const CodecInput& input, std::size_t length) {
    const auto keep = static_cast<std::size_t>(input.options[0]);
    kept = (keep * length + kLocoChunk - 1) / kLocoChunk;
    count_bits = static_cast<unsigned>(std::bit_width(keep - 1));
  }
  // A full one; each value fewer saves more than a count costs.
  std::size_t bits_max() const { return 1 + kept * (kLocoPlaceBits + kLocoLevelBits); }

  std::size_t kept = 0;
  unsigned count_bits = 0;
};

// The mean magnitudes of a group; both are 0 where it has only zeros, and NaN where a value is not
// finite.
struct LocoLevels {
  float low = 0;
  float high = 0;
  bool has_values() const { return high > 0; }
};

// Calls each(group) or each(chunk) with parts of `values`.
template <class Values, class Each>
void for_each_part(Values values, std::size_t length, const Each& each) {
  for (std::size_t at = 0; at < values.size(); at += length) {
    each(values.subspan(at, std::min(length, values.size() - at)));
  }
}

std::size_t sparseloco_bytes_max(const CodecInput& input, std::size_t elements) {
  const auto group_bytes = [&](std::size_t length) {
    std::size_t bits = length / kLocoChunk * LocoChunk(input, kLocoChunk).bits_max();
    if (length % kLocoChunk != 0) bits += LocoChunk(input, length % kLocoChunk).bits_max();
    return 2 * sizeof(float) + (bits + 7) / 8;
  };
  const std::size_t rest = elements % kLocoGroup;
  return elements / kLocoGroup * group_bytes(kLocoGroup) + (rest == 0 ? 0 : group_bytes(rest));
}

double mean_of(double sum, std::size_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

class LocoWriter {
 public:
  LocoWriter(const CodecInput& input, Bytes& out) : input_(input), out_(out) {}

  void write_group(std::span<const float> group) {
    choose(group);
    const LocoLevels levels = find_levels();
    append_value(levels.low, out_);
    append_value(levels.high, out_);
    if (!levels.has_values()) return;
    BitWriter bits(out_);
    std::size_t next = 0;
    std::size_t chunk = 0;
    for_each_part(group, kLocoChunk, [&](std::span<const float> part) {
      const LocoChunk layout(input_, part.size());
      const std::size_t end = ends_[chunk++];
      bits.put(end - next == layout.kept ? 1 : 0, 1);
      if (end - next < layout.kept) {
        bits.put(static_cast<std::uint32_t>(end - next), layout.count_bits);
      }
      for (; next < end; ++next) {
        const float value = kept_[next];
        bits.put(static_cast<std::uint32_t>(places_[next]), kLocoPlaceBits);
        bits.put((value < 0 ? 1U : 0U) | (is_high(value) ? 2U : 0U), kLocoLevelBits);
      }
    });
    bits.finish();
  }

 private:
  bool is_high(float value) const { return std::abs(static_cast<double>(value)) >= mean_; }

  // Collects the places and values that the group's chunks keep.
  void choose(std::span<const float> group) {
    places_.clear();
    kept_.clear();
    ends_.clear();
    for_each_part(group, kLocoChunk, [&](std::span<const float> chunk) {
      const LocoChunk layout(input_, chunk.size());
      for (const std::size_t place : largest_.find(chunk, layout.kept)) {
        places_.push_back(place);
        kept_.push_back(chunk[place]);
      }
      ends_.push_back(places_.size());
    });
  }

  LocoLevels find_levels() {
    double sum = 0;
    for (const float value : kept_) sum += std::abs(static_cast<double>(value));
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    if (!std::isfinite(sum)) return {kNan, kNan};
    mean_ = mean_of(sum, kept_.size());
    std::array<double, 2> sums{};
    std::array<std::size_t, 2> counts{};
    for (const float value : kept_) {
      const std::size_t level = is_high(value) ? 1 : 0;
      sums[level] += std::abs(static_cast<double>(value));
      ++counts[level];
    }
    return {static_cast<float>(mean_of(sums[0], counts[0])),
            static_cast<float>(mean_of(sums[1], counts[1]))};
  }

  const CodecInput& input_;
  Bytes& out_;
  LargestPlaces largest_;
  // What the chunks of a group keep, one after the other, and where each ends.
  std::vector<std::size_t> places_;
  std::vector<float> kept_;
  std::vector<std::size_t> ends_;
  double mean_ = 0;
};

void sparseloco_encode(const CodecInput& input, std::span<const float> values, Bytes& out) {
  LocoWriter writer(input, out);
  for_each_part(values, kLocoGroup,
                [&](std::span<const float> group) { writer.write_group(group); });
}

// False for bits that no encoder gives.
bool read_loco_chunk(const LocoChunk& layout, const LocoLevels& levels, BitReader& bits,
                     std::span<float> out) {
  const auto full = bits.take(1);
  if (!full) return false;
  const auto count =
      *full == 1 ? static_cast<std::uint32_t>(layout.kept) : bits.take(layout.count_bits);
  if (!count || (*full == 0 && *count >= layout.kept)) return false;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto place = bits.take(kLocoPlaceBits);
    const auto level = bits.take(kLocoLevelBits);
    if (!place || !level || *place < next || *place >= out.size()) return false;
    next = *place + std::size_t{1};
    const float size = (*level & 2U) != 0 ? levels.high : levels.low;
    if (size == 0) return false;
    out[*place] = (*level & 1U) != 0 ? -size : size;
  }
  return true;
}

// The one NaN that encoders send.
bool is_loco_nan(float level) {
  return std::bit_cast<std::uint32_t>(level) ==
         std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
}

// Reads a group and moves `bytes` behind it. False for bytes that no encoder gives.
bool read_loco_group(const CodecInput& input, ByteSpan& bytes, std::span<float> out) {
  LocoLevels levels;
  if (bytes.size() < sizeof levels) return false;
  std::memcpy(&levels, bytes.data(), sizeof levels);
  bytes = bytes.subspan(sizeof levels);
  std::ranges::fill(out, levels.high);
  if (std::isnan(levels.high)) return is_loco_nan(levels.low) && is_loco_nan(levels.high);
  if (std::signbit(levels.low) || std::signbit(levels.high)) return false;
  if (!(levels.low <= levels.high) || std::isinf(levels.high)) return false;
  if (!levels.has_values()) return true;
  std::ranges::fill(out, 0.0F);
  BitReader bits(bytes);
  bool good = true;
  for_each_part(out, kLocoChunk, [&](std::span<float> chunk) {
    good = good && read_loco_chunk(LocoChunk(input, chunk.size()), levels, bits, chunk);
  });
  bytes = bits.rest();
  return good && bits.finish_byte();
}

Status sparseloco_decode(const CodecInput& input, ByteSpan bytes, std::span<float> out) {
  bool good = true;
  for_each_part(out, kLocoGroup, [&](std::span<float> group) {
    good = good && read_loco_group(input, bytes, group);
  });
  if (!good) return corrupt("sparseloco: a group is cut off or no encoder's");
  if (!bytes.empty()) return corrupt(fmt::format("sparseloco: {} bytes too many", bytes.size()));
  return {};
}

// What a group keeps has at least the share of the sum of squares that its count has, and two means
// take no less off that than one would: the square of the sum of the n magnitudes over n, which is
// at least the sum of the squares over n. The levels are rounded to f32.
double sparseloco_loss(const CodecInput& input, std::span<const float> values) {
  double loss = 0;
  for_each_part(values, kLocoGroup, [&](std::span<const float> group) {
    double kept_squares = 0;
    std::size_t kept = 0;
    for_each_part(group, kLocoChunk, [&](std::span<const float> chunk) {
      const std::size_t count = LocoChunk(input, chunk.size()).kept;
      kept += count;
      kept_squares +=
          sum_of_squares(chunk) * static_cast<double>(count) / static_cast<double>(chunk.size());
    });
    loss += sum_of_squares(group) * (1 + 1e-12) - kept_squares / static_cast<double>(kept) +
            1e-88 * static_cast<double>(kept);
  });
  return loss;
}

}  // namespace

extern const CodecDef sparseloco_codec = {
    .name = "sparseloco",
    .summary =
        "The largest 64 of each 4096 values with their positions, in one of two sizes (Sarfi et "
        "al. 2025).",
    .options = kSparselocoOptions,
    .feedback = true,
    .bytes_max = sparseloco_bytes_max,
    .encode = sparseloco_encode,
    .decode = sparseloco_decode,
    .loss_max = sparseloco_loss,
};

}  // namespace weft
