// randomk: a share of the values whose places are drawn, so that no place is sent.
//
//   randomk := seed:u64 count x value:f32        count follows from the number of elements
//
// Everybody draws the same places from the seed, which is another for each member and round. A
// vector with a NaN sends NaN only, lest it be left out.
//
// IMPLEMENTATION: S. U. Stich, J.-B. Cordonnier, M. Jaggi, "Sparsified SGD with memory", NeurIPS
// 2018 (rand_k, with what is left out kept and sent later, so values are not scaled up); places by
// R. W. Floyd's method, J. Bentley, "Programming pearls: a sample of brilliance", CACM 30(9), 1987.
// 4 bytes for each value kept. Time O(elements), memory a bit for each.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "weft/base/rng.h"
#include "weft/codec/codec_def.h"
#include "weft/codec/codec_parts.h"

namespace weft {
namespace {

constexpr Option kRandomkOptions[] = {kShareOption};

std::size_t randomk_kept(const CodecInput& input, std::size_t elements) {
  return share_of(input.options[0], elements);
}

std::size_t randomk_bytes_max(const CodecInput& input, std::size_t elements) {
  return elements == 0 ? 0 : sizeof(std::uint64_t) + randomk_kept(input, elements) * sizeof(float);
}

// Calls take(place) for `count` different places below `elements`, in their order.
template <class Take>
void for_each_drawn(std::uint64_t seed, std::size_t count, std::size_t elements, const Take& take) {
  std::vector<bool> drawn(elements);
  Rng rng(seed);
  for (std::size_t last = elements - count; last < elements; ++last) {
    const std::size_t place = rng.below(last + 1);
    drawn[drawn[place] ? last : place] = true;
  }
  for (std::size_t place = 0; place < elements; ++place) {
    if (drawn[place]) take(place);
  }
}

void randomk_encode(const CodecInput& input, std::span<const float> values, Bytes& out) {
  if (values.empty()) return;
  append_value(input.seed, out);
  const bool poisoned = std::ranges::any_of(values, [](float value) { return std::isnan(value); });
  for_each_drawn(
      input.seed, randomk_kept(input, values.size()), values.size(), [&](std::size_t place) {
        append_value(poisoned ? std::numeric_limits<float>::quiet_NaN() : values[place], out);
      });
}

Status randomk_decode(const CodecInput& input, ByteSpan bytes, std::span<float> out) {
  const std::size_t expected = randomk_bytes_max(input, out.size());
  if (bytes.size() != expected) {
    return corrupt(fmt::format("randomk: expected {} bytes for {} values, got {}", expected,
                               out.size(), bytes.size()));
  }
  if (out.empty()) return {};
  std::uint64_t seed = 0;
  std::memcpy(&seed, bytes.data(), sizeof seed);
  const std::uint8_t* from = bytes.data() + sizeof seed;
  std::ranges::fill(out, 0.0F);
  for_each_drawn(seed, randomk_kept(input, out.size()), out.size(), [&](std::size_t place) {
    std::memcpy(&out[place], from, sizeof(float));
    from += sizeof(float);
  });
  return {};
}

// All of it, where none of the drawn values is large.
double randomk_loss(const CodecInput& input, std::span<const float> values) {
  if (randomk_kept(input, values.size()) == values.size()) return 0;
  return sum_of_squares(values);
}

}  // namespace

extern const CodecDef randomk_codec = {
    .name = "randomk",
    .summary = "A drawn share of the values, without their positions (Stich et al. 2018).",
    .options = kRandomkOptions,
    .feedback = true,
    .bytes_max = randomk_bytes_max,
    .encode = randomk_encode,
    .decode = randomk_decode,
    .loss_max = randomk_loss,
};

}  // namespace weft
