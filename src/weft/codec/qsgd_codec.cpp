// qsgd: each value as a whole number of levels, rounded up or down at random, so that the mean is
// right.
//
//   qsgd := norms digits
//   norms  := a f32 for each bucket of values: their Euclidean norm, NaN where one is not finite
//   digits := words of 32 bits; the digits of a word, the first value's highest, count from 0 for
//             -levels to 2 levels for +levels. A word has as many digits as fit into it, the last
//             one those that are left, in as few bytes as hold them
//
// A value v of a bucket with norm n becomes n l / levels, l being |v| levels / n rounded down, or
// up with the probability of the rest. Draws come from the seed, which is another for each member,
// so roundings do not add up.
//
// IMPLEMENTATION: D. Alistarh, D. Grubic, J. Li, R. Tomioka, M. Vojnovic, "QSGD:
// communication-efficient SGD via gradient quantization and encoding", NIPS 2017, section 3.1, in
// buckets as in 3.3; digits of one length instead of Elias codes. Time and memory O(elements).
#include <algorithm>
#include <array>
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

constexpr Option kQsgdOptions[] = {
    {.name = "levels",
     .fallback = 7,
     .min = 1,
     .max = 127,
     .whole = true,
     .help =
         "Steps between 0 and the norm of a bucket: 1.6 bits a value for 1, 4 for 7, 8 for 127."},
    {.name = "bucket",
     .fallback = 128,
     .min = 1,
     .max = 65536,
     .whole = true,
     .help = "Values that share a norm: with more of them, the norms cost less and the rounding "
             "more."},
};

// How digits of a base fill words.
struct Digits {
  explicit Digits(std::uint32_t digit_base) : base(digit_base) {
    for (std::uint64_t all = base; all <= 1ULL << 32U; all *= base) ++in_word;
  }
  // The numbers that `count` <= in_word digits can be.
  std::uint64_t numbers(std::size_t count) const {
    std::uint64_t all = 1;
    for (std::size_t i = 0; i < count; ++i) all *= base;
    return all;
  }
  std::size_t bytes_of(std::size_t count) const {
    const std::size_t rest = count % in_word;
    std::size_t last = 0;
    while (numbers(rest) > 1ULL << (8 * last)) ++last;
    return count / in_word * sizeof(std::uint32_t) + last;
  }

  std::uint32_t base;
  std::size_t in_word = 0;
};

struct QsgdLayout {
  QsgdLayout(const CodecInput& input, std::size_t elements)
      : levels(static_cast<std::uint32_t>(input.options[0])),
        bucket(static_cast<std::size_t>(input.options[1])),
        buckets((elements + bucket - 1) / bucket),
        digits(2 * levels + 1),
        bytes(buckets * sizeof(float) + digits.bytes_of(elements)) {}

  std::uint32_t levels;
  std::size_t bucket;
  std::size_t buckets;
  Digits digits;
  std::size_t bytes;
};

std::size_t qsgd_bytes_max(const CodecInput& input, std::size_t elements) {
  return QsgdLayout(input, elements).bytes;
}

// As it travels: at most the largest float, and NaN if a value is not finite.
float norm_of(std::span<const float> values) {
  const double squares = sum_of_squares(values);
  if (!std::isfinite(squares)) return std::numeric_limits<float>::quiet_NaN();
  constexpr auto kLargest = static_cast<double>(std::numeric_limits<float>::max());
  return static_cast<float>(std::min(std::sqrt(squares), kLargest));
}

// Random words in order.
class Words {
 public:
  explicit Words(std::uint64_t seed)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)} {}
  std::uint32_t next() {
    if (at_ == four_.size()) {
      four_ = philox4x32({counter_++, 0, 0, 0}, key_);
      at_ = 0;
    }
    return four_[at_++];
  }

 private:
  PhiloxKey key_;
  std::uint32_t counter_ = 0;
  PhiloxCounter four_{};
  std::size_t at_ = four_.size();
};

// The digits of a bucket of values.
void round_bucket(std::span<const float> values, float norm, std::uint32_t levels, Words& words,
                  std::uint32_t* digits) {
  if (!(norm > 0)) {
    std::fill_n(digits, values.size(), levels);
    return;
  }
  const double scale = static_cast<double>(levels) / static_cast<double>(norm);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double exact = std::abs(static_cast<double>(values[i])) * scale;
    const auto below = static_cast<std::uint32_t>(exact);
    const double drawn = static_cast<double>(words.next()) * 0x1p-32;
    const bool up = drawn < exact - static_cast<double>(below);
    const std::uint32_t level = std::min(below + (up ? 1U : 0U), levels);
    digits[i] = values[i] < 0 ? levels - level : levels + level;
  }
}

void qsgd_encode(const CodecInput& input, std::span<const float> values, Bytes& out) {
  const QsgdLayout layout(input, values.size());
  std::vector<std::uint32_t> digits(values.size());
  Words words(input.seed);
  for (std::size_t at = 0; at < values.size(); at += layout.bucket) {
    const auto part = values.subspan(at, std::min(layout.bucket, values.size() - at));
    const float norm = norm_of(part);
    append_value(norm, out);
    round_bucket(part, norm, layout.levels, words, digits.data() + at);
  }
  for (std::size_t at = 0; at < digits.size(); at += layout.digits.in_word) {
    const std::size_t count = std::min(layout.digits.in_word, digits.size() - at);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < count; ++i) word = word * layout.digits.base + digits[at + i];
    append_value(word, out, layout.digits.bytes_of(count));
  }
}

Status qsgd_decode(const CodecInput& input, ByteSpan bytes, std::span<float> out) {
  const QsgdLayout layout(input, out.size());
  if (bytes.size() != layout.bytes) {
    return corrupt(fmt::format("qsgd: expected {} bytes for {} values, got {}", layout.bytes,
                               out.size(), bytes.size()));
  }
  ByteSpan rest = bytes.subspan(layout.buckets * sizeof(float));
  for (std::size_t at = 0; at < out.size(); at += layout.digits.in_word) {
    const std::size_t count = std::min(layout.digits.in_word, out.size() - at);
    const std::size_t length = layout.digits.bytes_of(count);
    std::uint32_t word = 0;
    std::memcpy(&word, rest.data(), length);
    rest = rest.subspan(length);
    if (word >= layout.digits.numbers(count)) return corrupt("qsgd: a word is no number of digits");
    for (std::size_t i = count; i > 0; --i) {
      const std::uint32_t digit = word % layout.digits.base;
      word /= layout.digits.base;
      out[at + i - 1] = static_cast<float>(static_cast<std::int32_t>(digit) -
                                           static_cast<std::int32_t>(layout.levels));
    }
  }
  for (std::size_t i = 0; i < layout.buckets; ++i) {
    float norm = 0;
    std::memcpy(&norm, bytes.data() + i * sizeof norm, sizeof norm);
    if (norm < 0 || std::isinf(norm)) {
      return corrupt(fmt::format("qsgd: a bucket has the norm {}", norm));
    }
    const float step = norm / static_cast<float>(layout.levels);
    const std::size_t at = i * layout.bucket;
    for (float& value : out.subspan(at, std::min(layout.bucket, out.size() - at))) value *= step;
  }
  return {};
}

// No value is off by more than a level, but for the rounding of the norm and of the product.
double qsgd_loss(const CodecInput& input, std::span<const float> values) {
  const QsgdLayout layout(input, values.size());
  double loss = 0;
  for (std::size_t at = 0; at < values.size(); at += layout.bucket) {
    const auto part = values.subspan(at, std::min(layout.bucket, values.size() - at));
    const double step = static_cast<double>(norm_of(part)) / layout.levels;
    const double error = step * (1 + 1e-6 * layout.levels) + 1e-44;
    loss += static_cast<double>(part.size()) * error * error;
  }
  return loss;
}

}  // namespace

extern const CodecDef qsgd_codec = {
    .name = "qsgd",
    .summary =
        "Whole levels between 0 and the norm of a bucket, rounded at random so that the mean "
        "is right (Alistarh et al. 2017).",
    .options = kQsgdOptions,
    .bytes_max = qsgd_bytes_max,
    .encode = qsgd_encode,
    .decode = qsgd_decode,
    .loss_max = qsgd_loss,
};

}  // namespace weft
