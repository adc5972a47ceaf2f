// topk: the largest share of the values, with their places.
//
//   topk := count:u32 count x gap count x value:f32
//   gap  := places that are skipped since the one before: 7 bits a byte, lowest first, the highest
//           bit set in all but the last
//
// IMPLEMENTATION: S. U. Stich, J.-B. Cordonnier, M. Jaggi, "Sparsified SGD with memory", NeurIPS
// 2018; k of the whole vector, not of each layer. Ties go to the lowest place, zeros stay behind.
// About 5.3 bytes for each value kept at 1 %. Time O(elements), memory 4 bytes for each.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "weft/codec/codec_def.h"
#include "weft/codec/codec_parts.h"

namespace weft {
namespace {

constexpr std::size_t kGapBytesMax = 5;
constexpr Option kTopkOptions[] = {kShareOption};

std::size_t topk_kept(const CodecInput& input, std::size_t elements) {
  return share_of(input.options[0], elements);
}

std::size_t topk_bytes_max(const CodecInput& input, std::size_t elements) {
  return 4 + topk_kept(input, elements) * (kGapBytesMax + sizeof(float));
}

void topk_encode(const CodecInput& input, std::span<const float> values, Bytes& out) {
  LargestPlaces largest;
  const auto places = largest.find(values, topk_kept(input, values.size()));
  const auto count = static_cast<std::uint32_t>(places.size());
  append_value(count, out);
  std::size_t next = 0;
  for (const std::size_t place : places) {
    std::size_t gap = place - next;
    for (; gap >= 0x80; gap >>= 7U) out.push_back(static_cast<std::uint8_t>(gap | 0x80U));
    out.push_back(static_cast<std::uint8_t>(gap));
    next = place + 1;
  }
  for (const std::size_t place : places) append_value(values[place], out);
}

Status topk_decode(const CodecInput& input, ByteSpan bytes, std::span<float> out) {
  const auto fault = [](std::string_view what) { return corrupt(fmt::format("topk: {}", what)); };
  std::uint32_t count = 0;
  if (bytes.size() < sizeof count) return fault("expected a count, got fewer than 4 bytes");
  std::memcpy(&count, bytes.data(), sizeof count);
  if (count > topk_kept(input, out.size()) || count * sizeof(float) > bytes.size() - sizeof count) {
    return fault(
        fmt::format("{} values in {} bytes of {} elements", count, bytes.size(), out.size()));
  }
  const ByteSpan values = bytes.last(count * sizeof(float));
  ByteSpan gaps = bytes.subspan(sizeof count, bytes.size() - sizeof count - values.size());
  std::ranges::fill(out, 0.0F);
  std::size_t place = 0;
  for (std::uint32_t i = 0; i < count; ++i, ++place) {
    std::size_t gap = 0;
    std::size_t used = 0;
    do {
      if (used == gaps.size() || used == kGapBytesMax) return fault("a place is cut off");
      gap |= static_cast<std::size_t>(gaps[used] & 0x7fU) << (7 * used);
    } while ((gaps[used++] & 0x80U) != 0);
    gaps = gaps.subspan(used);
    if (gap >= out.size() - place) return fault(fmt::format("a place beyond {}", out.size()));
    place += gap;
    std::memcpy(&out[place], values.data() + i * sizeof(float), sizeof(float));
  }
  return gaps.empty() ? Status() : fault(fmt::format("{} bytes too many", gaps.size()));
}

// The values left behind are the smallest: at most their share of the sum of squares.
double topk_loss(const CodecInput& input, std::span<const float> values) {
  if (values.empty()) return 0;
  const auto kept = static_cast<double>(topk_kept(input, values.size()));
  return sum_of_squares(values) * (1 - kept / static_cast<double>(values.size()));
}

}  // namespace

extern const CodecDef topk_codec = {
    .name = "topk",
    .summary = "The largest share of the values, with their positions (Stich et al. 2018).",
    .options = kTopkOptions,
    .feedback = true,
    .bytes_max = topk_bytes_max,
    .encode = topk_encode,
    .decode = topk_decode,
    .loss_max = topk_loss,
};

}  // namespace weft
