#include "weft/data/dataset.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/base/rng.h"

namespace weft {
namespace {

constexpr std::int64_t kPixelsMax = std::int64_t{1} << 30U;
constexpr std::int64_t kClassesMax = 256;
constexpr int kPatternAmplitude = 96;  // of 255; the noise below is of the same size
constexpr int kNoiseAmplitude = 96;

enum class Stream : std::uint64_t { kPatterns = 1, kTrain = 2, kTest = 3 };

// One pattern a class: blocks of 4x4 pixels, each bright or dark.
Bytes make_patterns(const SyntheticOptions& options) {
  Rng rng(options.seed, static_cast<std::uint64_t>(Stream::kPatterns));
  const std::int64_t columns = (options.width + 3) / 4;
  const std::int64_t rows = (options.height + 3) / 4;
  Bytes patterns;
  patterns.reserve(static_cast<std::size_t>(options.classes * options.height * options.width));
  for (std::int64_t label = 0; label < options.classes; ++label) {
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

Status check(const SyntheticOptions& options) {
  const std::int64_t smallest = std::min({options.size, options.height, options.width});
  const std::int64_t largest = std::max({options.size, options.height, options.width});
  if (smallest < 1 || largest > kPixelsMax ||
      options.size > kPixelsMax / options.height / options.width) {
    return invalid_argument(fmt::format("synthetic data: expected 1 to {} pixels, got {}x{}x{}",
                                        kPixelsMax, options.size, options.height, options.width));
  }
  if (options.classes < 1 || options.classes > kClassesMax) {
    return invalid_argument(fmt::format("synthetic data: expected 1 to {} classes, got {}",
                                        kClassesMax, options.classes));
  }
  return {};
}

}  // namespace

std::string_view to_string(Split split) { return split == Split::kTrain ? "train" : "test"; }

ByteSpan Dataset::image(std::int64_t index) const {
  WEFT_DCHECK(index >= 0 && index < size);
  const auto pixels = static_cast<std::size_t>(height * width);
  return images.span().subspan(static_cast<std::size_t>(index) * pixels, pixels);
}

std::int64_t Dataset::label(std::int64_t index) const {
  WEFT_DCHECK(index >= 0 && index < size);
  return labels.span()[static_cast<std::size_t>(index)];
}

Result<Dataset> make_synthetic_dataset(const SyntheticOptions& options, Split split) {
  WEFT_TRY(check(options));
  const auto pixels = static_cast<std::size_t>(options.height * options.width);
  const Bytes patterns = make_patterns(options);
  const Stream stream = split == Split::kTrain ? Stream::kTrain : Stream::kTest;
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
  dataset.height = options.height;
  dataset.width = options.width;
  dataset.classes = options.classes;
  dataset.images = SharedBytes(std::move(images));
  dataset.labels = SharedBytes(std::move(labels));
  dataset.mean = (0.5 * kPatternAmplitude + 0.5 * kNoiseAmplitude) / 255.0;
  dataset.deviation = 0.217;  // of a fair coin times 96 plus a uniform value below 96
  return dataset;
}

}  // namespace weft
