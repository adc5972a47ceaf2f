// fedzip: the largest share of the values, each rounded to one of a few means, without a bit to
// spare.
//
//   fedzip := count:u32 [used:u8 used x mean:f32 used x length:u8 entries]
//   entries := count x (gap label), then zeros up to a whole byte; lowest bit of a byte first
//   gap   := places that are skipped since the one before, a Rice code: the gap / 2^r in as many
//            ones and a zero, then its last r bits
//   label := the number of a mean, in the canonical prefix code of the lengths, its highest bit
//   first
//
// r follows from the share and the number of elements, so every bit of a gap is one whose meaning
// the reader knows. Means ascend. The lengths are those of Huffman's code for how often each label
// occurs; one mean alone needs no bits. A count of 0 stands for zeros, and 2^32 - 1 for a value
// that is not finite: all decode to NaN.
//
// IMPLEMENTATION: A. Malekijoo, M. J. Fadaeieslam, H. Malekijou, M. Homayounfar, F.
// Alizadeh-Shabdiz, R. Rawassizadeh, "FEDZIP: a compression framework for communication-efficient
// federated learning", arXiv 2102.01593: top-z, k-means, a code of the labels and of the
// differences of positions. We differ: z is a share of the whole vector; only what is kept is
// clustered, and the zeros need no label; differences have a code with known ends (R. F. Rice, JPL
// 79-22, 1979); a cluster without values keeps its place instead of a mean of none. D. A. Huffman,
// "A method for the construction of minimum-redundancy codes", Proc. IRE 40(9), 1952. Time
// O(elements), memory as topk.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "weft/codec/codec_def.h"
#include "weft/codec/codec_parts.h"

namespace weft {
namespace {

constexpr std::size_t kFedzipClustersMax = 16;
constexpr int kFedzipSteps = 10;
constexpr std::uint32_t kFedzipNotFinite = 0xffffffff;

constexpr Option kFedzipOptions[] = {
    kShareOption,
    {.name = "clusters",
     .fallback = 4,
     .min = 1,
     .max = kFedzipClustersMax,
     .whole = true,
     .help = "Means that the values are rounded to."},
};

// What follows from the options and the number of elements.
struct FedzipLayout {
  FedzipLayout(const CodecInput& input, std::size_t size)
      : elements(size),
        kept(share_of(input.options[0], size)),
        clusters(std::min(static_cast<std::size_t>(input.options[1]), kept)) {
    // The best r is near the binary logarithm of ln(2) times the mean gap; 9/13 is about ln(2).
    if (kept > 0) {
      const std::size_t scaled = (elements - kept) * 9 / (kept * 13);
      rice_bits = scaled == 0 ? 0 : static_cast<unsigned>(std::bit_width(scaled)) - 1;
    }
  }
  std::size_t bytes_max() const {
    if (elements == 0) return sizeof(std::uint32_t);
    // The ones of all gaps, a zero and r bits for each, and labels no longer than plain numbers.
    // One value fewer adds a one at most.
    const auto label_bits = static_cast<std::size_t>(std::bit_width(clusters - 1));
    const std::size_t ones = (elements - kept) >> rice_bits;
    const std::size_t bits = ones + kept * (1 + rice_bits + label_bits);
    return sizeof(std::uint32_t) + 1 + clusters * (sizeof(float) + 1) + (bits + 7) / 8;
  }

  std::size_t elements;
  std::size_t kept;
  std::size_t clusters;
  unsigned rice_bits = 0;
};

std::size_t fedzip_bytes_max(const CodecInput& input, std::size_t elements) {
  return FedzipLayout(input, elements).bytes_max();
}

// How often each label that is used occurs.
using FedzipCounts = std::vector<std::uint64_t>;

// The lengths of Huffman's code; of trees of equal weight the one with the lowest label goes first.
std::vector<unsigned> huffman_lengths(FedzipCounts weights) {
  std::vector<unsigned> lengths(weights.size(), 0);
  // The tree that each label is in, named by its lowest label.
  std::vector<std::size_t> tree(weights.size());
  std::iota(tree.begin(), tree.end(), 0U);
  std::vector<std::size_t> roots = tree;
  while (roots.size() > 1) {
    std::ranges::stable_sort(roots, {}, [&](std::size_t root) { return weights[root]; });
    const std::size_t into = std::min(roots[0], roots[1]);
    const std::size_t from = std::max(roots[0], roots[1]);
    for (std::size_t label = 0; label < tree.size(); ++label) {
      if (tree[label] != into && tree[label] != from) continue;
      tree[label] = into;
      ++lengths[label];
    }
    weights[into] += weights[from];
    roots.erase(roots.begin());
    roots[0] = into;
    std::ranges::sort(roots);
  }
  return lengths;
}

// Codes of one length are consecutive numbers in the order of labels, and follow the shorter ones.
class PrefixCode {
 public:
  // REQUIRES: lengths of a whole tree, at most 15.
  explicit PrefixCode(std::span<const unsigned> lengths) : codes_(lengths.size()) {
    std::uint32_t next = 0;
    for (unsigned length = 0; length < counts_.size(); ++length) {
      next <<= 1U;
      first_[length] = next;
      begin_[length] = order_.size();
      for (std::size_t label = 0; label < lengths.size(); ++label) {
        if (lengths[label] != length) continue;
        codes_[label] = {next++, length};
        order_.push_back(label);
        ++counts_[length];
      }
    }
  }
  void put(std::size_t label, BitWriter& bits) const {
    const auto [code, length] = codes_[label];
    for (unsigned at = length; at > 0; --at) bits.put(code >> (at - 1) & 1U, 1);
  }
  std::optional<std::size_t> take(BitReader& bits) const {
    std::uint32_t code = 0;
    for (unsigned length = 0; length < counts_.size(); ++length) {
      if (code - first_[length] < counts_[length]) {
        return order_[begin_[length] + (code - first_[length])];
      }
      const auto bit = bits.take(1);
      if (!bit) break;
      code = code << 1U | *bit;
    }
    return std::nullopt;
  }

 private:
  struct Code {
    std::uint32_t code = 0;
    unsigned length = 0;
  };
  std::vector<Code> codes_;
  // Labels by code, and for each length the first code, its place there and how many there are.
  std::vector<std::size_t> order_;
  std::array<std::uint32_t, kFedzipClustersMax> first_{};
  std::array<std::size_t, kFedzipClustersMax> begin_{};
  std::array<std::uint32_t, kFedzipClustersMax> counts_{};
};

struct FedzipClusters {
  // Ascending, none without values.
  std::vector<float> means;
  FedzipCounts counts;
  std::vector<std::uint8_t> labels;
};

// k-means in one dimension: means at first in the middles of even parts from the least to the
// largest value, then a fixed number of steps. A value between two means belongs to the nearer one,
// in the middle to the upper. So clusters do not overlap, and sums of doubles in order keep their
// means apart for up to 2^28 values.
FedzipClusters find_clusters(std::span<const float> values, std::size_t clusters) {
  const auto [least, largest] = std::ranges::minmax(values);
  std::vector<double> means(clusters);
  for (std::size_t i = 0; i < clusters; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(clusters);
    means[i] = static_cast<double>(least) * (1 - share) + static_cast<double>(largest) * share;
  }
  FedzipClusters found;
  found.labels.resize(values.size());
  for (int step = 0; step < kFedzipSteps; ++step) {
    std::vector<double> sums(clusters);
    found.counts.assign(clusters, 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto value = static_cast<double>(values[i]);
      std::uint8_t label = 0;
      for (std::size_t next = 1; next < clusters; ++next) {
        label = static_cast<std::uint8_t>(label + (value >= (means[next - 1] + means[next]) / 2));
      }
      found.labels[i] = label;
      sums[label] += value;
      ++found.counts[label];
    }
    for (std::size_t i = 0; i < clusters; ++i) {
      if (found.counts[i] > 0) means[i] = sums[i] / static_cast<double>(found.counts[i]);
    }
  }
  std::vector<std::uint8_t> renamed(clusters);
  for (std::size_t i = 0; i < clusters; ++i) {
    renamed[i] = static_cast<std::uint8_t>(found.means.size());
    if (found.counts[i] > 0) found.means.push_back(static_cast<float>(means[i]));
  }
  for (std::uint8_t& label : found.labels) label = renamed[label];
  std::erase(found.counts, 0U);
  return found;
}

void put_gap(std::size_t gap, unsigned rice_bits, BitWriter& bits) {
  for (std::size_t ones = gap >> rice_bits; ones > 0; --ones) bits.put(1, 1);
  bits.put(0, 1);
  bits.put(static_cast<std::uint32_t>(gap & ((std::size_t{1} << rice_bits) - 1)), rice_bits);
}

// Nothing where the bits end, or for a gap of `limit` or more.
std::optional<std::size_t> take_gap(unsigned rice_bits, std::size_t limit, BitReader& bits) {
  std::size_t high = 0;
  for (;; ++high) {
    const auto bit = bits.take(1);
    if (!bit || high << rice_bits >= limit) return std::nullopt;
    if (*bit == 0) break;
  }
  const auto low = bits.take(rice_bits);
  if (!low) return std::nullopt;
  const std::size_t gap = high << rice_bits | *low;
  return gap < limit ? std::optional(gap) : std::nullopt;
}

void fedzip_encode(const CodecInput& input, std::span<const float> values, Bytes& out) {
  const FedzipLayout layout(input, values.size());
  LargestPlaces largest;
  const auto places = largest.find(values, layout.kept);
  std::vector<float> kept;
  for (const std::size_t place : places) kept.push_back(values[place]);
  const bool finite = std::ranges::all_of(kept, [](float value) { return std::isfinite(value); });
  const auto count = static_cast<std::uint32_t>(places.size());
  append_value(finite ? count : kFedzipNotFinite, out);
  if (!finite || count == 0) return;
  const FedzipClusters clusters = find_clusters(kept, layout.clusters);
  const std::vector<unsigned> lengths = huffman_lengths(clusters.counts);
  out.push_back(static_cast<std::uint8_t>(clusters.means.size()));
  for (const float mean : clusters.means) append_value(mean, out);
  for (const unsigned length : lengths) out.push_back(static_cast<std::uint8_t>(length));
  const PrefixCode code(lengths);
  BitWriter bits(out);
  std::size_t next = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    put_gap(places[i] - next, layout.rice_bits, bits);
    code.put(clusters.labels[i], bits);
    next = places[i] + 1;
  }
  bits.finish();
}

// The means and the lengths of codes, which `bytes` then no longer begins with. False where they
// are no encoder's.
bool read_means(const FedzipLayout& layout, ByteSpan& bytes, std::vector<float>& means,
                std::vector<unsigned>& lengths) {
  if (bytes.empty()) return false;
  const std::size_t used = bytes.front();
  bytes = bytes.subspan(1);
  if (used == 0 || used > layout.clusters || bytes.size() < used * (sizeof(float) + 1))
    return false;
  means.resize(used);
  std::memcpy(means.data(), bytes.data(), used * sizeof(float));
  const ByteSpan sent = bytes.subspan(used * sizeof(float), used);
  lengths.assign(sent.begin(), sent.end());
  bytes = bytes.subspan(used * (sizeof(float) + 1));
  for (std::size_t i = 0; i < used; ++i) {
    if (!std::isfinite(means[i]) || (i > 0 && !(means[i - 1] < means[i]))) return false;
  }
  // A whole tree: Kraft's sum is 1.
  std::uint64_t leaves = 0;
  for (const unsigned length : lengths) {
    if (length >= kFedzipClustersMax) return false;
    leaves += std::uint64_t{1} << (kFedzipClustersMax - length);
  }
  return leaves == std::uint64_t{1} << kFedzipClustersMax;
}

// Fills `out` from the entries. False for bits that no encoder gives.
bool read_entries(const FedzipLayout& layout, std::uint32_t count, ByteSpan bytes,
                  std::span<float> out) {
  std::vector<float> means;
  std::vector<unsigned> lengths;
  if (!read_means(layout, bytes, means, lengths)) return false;
  const PrefixCode code(lengths);
  FedzipCounts counts(means.size());
  BitReader bits(bytes);
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto gap = take_gap(layout.rice_bits, out.size() - next, bits);
    const auto label = gap ? code.take(bits) : std::nullopt;
    if (!label) return false;
    out[next + *gap] = means[*label];
    ++counts[*label];
    next += *gap + 1;
  }
  if (!bits.finish_byte() || !bits.rest().empty()) return false;
  return std::ranges::find(counts, 0U) == counts.end() && huffman_lengths(counts) == lengths;
}

Status fedzip_decode(const CodecInput& input, ByteSpan bytes, std::span<float> out) {
  const FedzipLayout layout(input, out.size());
  std::uint32_t count = 0;
  if (bytes.size() < sizeof count)
    return corrupt("fedzip: expected a count, got fewer than 4 bytes");
  std::memcpy(&count, bytes.data(), sizeof count);
  bytes = bytes.subspan(sizeof count);
  const bool alone = count == 0 || (count == kFedzipNotFinite && !out.empty());
  if (alone ? !bytes.empty() : count > layout.kept) {
    return corrupt(
        fmt::format("fedzip: {} values of {}, {} bytes", count, out.size(), bytes.size()));
  }
  std::ranges::fill(out, alone && count != 0 ? std::numeric_limits<float>::quiet_NaN() : 0.0F);
  if (!alone && !read_entries(layout, count, bytes, out)) {
    return corrupt("fedzip: entries are cut off or no encoder's");
  }
  return {};
}

// A mean in place of values takes the square of their sum over their number off the sum of their
// squares, which may be nothing.
double fedzip_loss(const CodecInput& /*input*/, std::span<const float> values) {
  return sum_of_squares(values) * (1 + 1e-12) + 1e-88 * static_cast<double>(values.size());
}

}  // namespace

extern const CodecDef fedzip_codec = {
    .name = "fedzip",
    .summary =
        "The largest share of the values, rounded to a few means, with their positions, in codes "
        "of few bits (Malekijoo et al. 2021).",
    .options = kFedzipOptions,
    .feedback = true,
    .bytes_max = fedzip_bytes_max,
    .encode = fedzip_encode,
    .decode = fedzip_decode,
    .loss_max = fedzip_loss,
};

}  // namespace weft
