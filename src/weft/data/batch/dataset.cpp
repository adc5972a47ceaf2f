#include "weft/data/dataset.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/array/bad_argument.h"
#include "weft/base/rng.h"

namespace weft {
namespace {

constexpr std::int64_t kDatasetPixelsMax = std::int64_t{1} << 30U;
constexpr std::int64_t kClassesMax = 256;
constexpr std::int64_t kByteLabels = 256;  // classes that one byte tells apart
constexpr std::int64_t kLabelsMax = 65536;
constexpr int kPatternAmplitude = 96;  // of 255; the noise below is of the same size
constexpr int kNoiseAmplitude = 96;

enum class PatternStream : std::uint64_t { kPatterns = 1, kTrain = 2, kTest = 3 };

// One pattern a class and channel: blocks of 4x4 pixels, each bright or dark.
Bytes make_byte_patterns(const SyntheticOptions& options) {
  Rng rng(options.seed, static_cast<std::uint64_t>(PatternStream::kPatterns));
  const std::int64_t columns = (options.width + 3) / 4;
  const std::int64_t rows = (options.height + 3) / 4;
  Bytes patterns;
  patterns.reserve(static_cast<std::size_t>(options.classes * options.channels * options.height *
                                            options.width));
  for (std::int64_t plane = 0; plane < options.classes * options.channels; ++plane) {
    Bytes blocks(static_cast<std::size_t>(rows * columns));
    for (std::uint8_t& block : blocks) block = rng.chance(0.5) ? kPatternAmplitude : 0;
    for (std::int64_t y = 0; y < options.height; ++y) {
      for (std::int64_t x = 0; x < options.width; ++x) {
        patterns.push_back(blocks[static_cast<std::size_t>((y / 4) * columns + x / 4)]);
      }
    }
  }
  return patterns;
}

Status check_synthetic(const SyntheticOptions& options) {
  if (options.channels != 1 && options.channels != 3) {
    return invalid_argument(
        fmt::format("synthetic data: expected 1 or 3 channels, got {}", options.channels));
  }
  const std::int64_t smallest = std::min({options.size, options.height, options.width});
  const std::int64_t largest = std::max({options.size, options.height, options.width});
  if (smallest < 1 || largest > kDatasetPixelsMax ||
      options.size > kDatasetPixelsMax / options.height / options.width / options.channels) {
    return invalid_argument(fmt::format("synthetic data: expected 1 to {} values, got {}x{}x{}x{}",
                                        kDatasetPixelsMax, options.size, options.channels,
                                        options.height, options.width));
  }
  if (options.classes < 1 || options.classes > kClassesMax) {
    return invalid_argument(fmt::format("synthetic data: expected 1 to {} classes, got {}",
                                        kClassesMax, options.classes));
  }
  return {};
}

}  // namespace

std::string_view to_string(Split split) { return split == Split::kTrain ? "train" : "test"; }

void TokenSpan::copy(std::int64_t begin, std::span<std::int64_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  if (begin < 0 || begin > size() - count) {
    throw_bad_argument("tokens", fmt::format("positions below {}", size()),
                       fmt::format("{} from {} on", count, begin));
  }
  const std::uint8_t* from = bytes.span().data() + begin * token_bytes;
  for (std::int64_t& token : out) {
    std::uint32_t value = 0;
    for (std::int64_t byte = token_bytes; byte > 0; --byte) value = (value << 8U) | from[byte - 1];
    token = value;
    from += token_bytes;
  }
}

TokenSpan pack_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary) {
  TokenSpan packed;
  packed.token_bytes = vocabulary <= 256 ? 1 : vocabulary <= 65536 ? 2 : 4;
  Bytes bytes;
  bytes.reserve(tokens.size() * static_cast<std::size_t>(packed.token_bytes));
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary) {
      throw_bad_argument("pack_tokens", fmt::format("tokens from 0 to {}", vocabulary - 1),
                         std::to_string(token));
    }
    auto value = static_cast<std::uint32_t>(token);
    for (std::int64_t byte = 0; byte < packed.token_bytes; ++byte, value >>= 8U) {
      bytes.push_back(static_cast<std::uint8_t>(value & 0xFFU));
    }
  }
  packed.bytes = SharedBytes(std::move(bytes));
  return packed;
}

SharedBytes pack_labels(std::span<const std::int64_t> labels, std::int64_t classes) {
  if (classes < 1 || classes > kLabelsMax) {
    throw_bad_argument("pack_labels", fmt::format("1 to {} classes", kLabelsMax),
                       std::to_string(classes));
  }
  Bytes bytes;
  for (const std::int64_t label : labels) {
    if (label < 0 || label >= classes) {
      throw_bad_argument("pack_labels", fmt::format("labels from 0 to {}", classes - 1),
                         std::to_string(label));
    }
    bytes.push_back(static_cast<std::uint8_t>(label & 0xFF));
    if (classes > kByteLabels) bytes.push_back(static_cast<std::uint8_t>(label >> 8));
  }
  return SharedBytes(std::move(bytes));
}

ByteSpan Dataset::image(std::int64_t index) const {
  WEFT_DCHECK(index >= 0 && index < size);
  const auto length = static_cast<std::size_t>(image_bytes());
  return images.span().subspan(static_cast<std::size_t>(index) * length, length);
}

std::int64_t Dataset::label(std::int64_t index) const {
  WEFT_DCHECK(index >= 0 && index < size);
  const auto at = static_cast<std::size_t>(index);
  const ByteSpan bytes = labels.span();
  if (classes <= kByteLabels) return bytes[at];
  return bytes[2 * at] | (std::int64_t{bytes[2 * at + 1]} << 8);
}

void Dataset::keep_first(std::int64_t count) {
  if (count < 1 || count > size) {
    throw_bad_argument("keep_first", fmt::format("1 to {} samples", size), std::to_string(count));
  }
  const auto keep = static_cast<std::size_t>(count);
  size = count;
  if (kind == DatasetKind::kTokens) {
    tokens.bytes =
        tokens.bytes.slice(0, static_cast<std::size_t>((count * context + 1) * tokens.token_bytes));
    return;
  }
  if (!labels.empty()) labels = labels.slice(0, keep * (classes > kByteLabels ? 2 : 1));
  if (!images.empty()) images = images.slice(0, keep * static_cast<std::size_t>(image_bytes()));
  if (rows.defined()) rows = rows.slice(0, 0, count);
  if (targets.defined()) targets = targets.slice(0, 0, count);
}

Status Dataset::set_context(std::int64_t length) {
  if (kind != DatasetKind::kTokens || length < 1 || length >= tokens.size()) {
    return invalid_argument(fmt::format(
        "{}: expected a context of 1 to {} tokens, got {}", name,
        kind == DatasetKind::kTokens ? std::max<std::int64_t>(0, tokens.size() - 1) : 0, length));
  }
  context = length;
  size = (tokens.size() - 1) / length;
  return {};
}

Status keep_row_split(Dataset& dataset, Split split) {
  if (dataset.kind != DatasetKind::kRows) {
    return invalid_argument(
        fmt::format("{}: expected rows to split, got {}", dataset.name, to_string(dataset.kind)));
  }
  const std::int64_t cut = dataset.size - dataset.size / 10;
  const std::int64_t begin = split == Split::kTrain ? 0 : cut;
  const std::int64_t end = split == Split::kTrain ? cut : dataset.size;
  if (begin >= end) {
    return invalid_argument(fmt::format("{}: expected 10 rows or more for a {} split, got {}",
                                        dataset.name, to_string(split), dataset.size));
  }
  const std::size_t width = dataset.classes > kByteLabels ? 2 : 1;
  if (!dataset.labels.empty()) {
    dataset.labels = dataset.labels.slice(static_cast<std::size_t>(begin) * width,
                                          static_cast<std::size_t>(end - begin) * width);
  }
  dataset.rows = dataset.rows.slice(0, begin, end);
  if (dataset.targets.defined()) dataset.targets = dataset.targets.slice(0, begin, end);
  dataset.size = end - begin;
  dataset.split = split;
  return {};
}

Result<Dataset> make_token_dataset(std::string name, TokenSpan tokens, std::int64_t vocabulary,
                                   std::int64_t context) {
  if (vocabulary < 1) {
    return invalid_argument(
        fmt::format("{}: expected a vocabulary of at least 1, got {}", name, vocabulary));
  }
  Dataset dataset;
  dataset.name = std::move(name);
  dataset.kind = DatasetKind::kTokens;
  dataset.tokens = std::move(tokens);
  dataset.vocabulary = vocabulary;
  WEFT_TRY(dataset.set_context(context));
  return dataset;
}

Result<Dataset> make_synthetic_dataset(const SyntheticOptions& options, Split split) {
  WEFT_TRY(check_synthetic(options));
  const auto pixels = static_cast<std::size_t>(options.channels * options.height * options.width);
  const Bytes patterns = make_byte_patterns(options);
  const PatternStream stream =
      split == Split::kTrain ? PatternStream::kTrain : PatternStream::kTest;
  Rng rng(options.seed, static_cast<std::uint64_t>(stream));
  Bytes images(static_cast<std::size_t>(options.size) * pixels);
  Bytes labels(static_cast<std::size_t>(options.size));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = static_cast<std::uint8_t>(rng.below(static_cast<std::uint64_t>(options.classes)));
    const std::uint8_t* pattern = patterns.data() + labels[i] * pixels;
    std::uint8_t* image = images.data() + i * pixels;
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      const auto noise = static_cast<int>(rng.next_u32() % kNoiseAmplitude);
      image[pixel] = static_cast<std::uint8_t>(pattern[pixel] + noise);
    }
  }
  Dataset dataset;
  dataset.name = "synthetic";
  dataset.split = split;
  dataset.size = options.size;
  dataset.channels = options.channels;
  dataset.height = options.height;
  dataset.width = options.width;
  dataset.classes = options.classes;
  dataset.images = SharedBytes(std::move(images));
  dataset.labels = SharedBytes(std::move(labels));
  dataset.mean = {(0.5 * kPatternAmplitude + 0.5 * kNoiseAmplitude) / 255.0};
  dataset.deviation = {0.217};  // of a fair coin times 96 plus a uniform value below 96
  return dataset;
}

}  // namespace weft
