// Transforms that change values: cutout, erasing, jitter.
//
// IMPLEMENTATION: cutout after DeVries, Taylor, "Improved regularization of convolutional neural
// networks with cutout", 2017: the square's centre is anywhere, so that its part outside is lost.
// Erasing after Zhong et al., "Random erasing data augmentation", 2017, RE-R: area 2 % to 33 % of
// the image, aspect 0.3 to 3.3, noise inside.
#include <algorithm>
#include <cmath>

#include "weft/data/image/transform_def.h"

namespace weft {
namespace {

constexpr std::uint8_t kGreyByte = 128;
constexpr int kEraseTries = 10;

struct Box {
  std::int64_t top;
  std::int64_t left;
  std::int64_t bottom;
  std::int64_t right;
};

// Writes value() to each pixel of the box, channel by channel.
template <class Value>
void fill_box(Image& image, const Box& box, Value value) {
  for (std::int64_t c = 0; c < image.size.channels; ++c) {
    for (std::int64_t y = box.top; y < box.bottom; ++y) {
      std::uint8_t* row = image.pixels.data() + (c * image.size.height + y) * image.size.width;
      for (std::int64_t x = box.left; x < box.right; ++x) row[x] = value();
    }
  }
}

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

// The grey value of pixel `at` by the weights of ITU-R BT.601; of one channel, itself.
double luminance(const Image& image, std::size_t at) {
  const auto plane = static_cast<std::size_t>(image.size.height * image.size.width);
  if (image.size.channels == 1) return image.pixels[at];
  return 0.299 * image.pixels[at] + 0.587 * image.pixels[plane + at] +
         0.114 * image.pixels[2 * plane + at];
}

double mean_luminance(const Image& image) {
  const auto plane = static_cast<std::size_t>(image.size.height * image.size.width);
  double sum = 0;
  for (std::size_t at = 0; at < plane; ++at) sum += luminance(image, at);
  return plane == 0 ? 0 : sum / static_cast<double>(plane);
}

double factor_of(std::span<const double> arguments, std::size_t place, Rng& rng) {
  const double spread = place < arguments.size() ? arguments[place] : 0;
  return 1 + spread * (2 * rng.uniform() - 1);
}

}  // namespace

void cutout(Image& image, std::span<const double> arguments, Rng& rng) {
  const auto side = static_cast<std::int64_t>(arguments[0]);
  const auto height = image.size.height;
  const auto width = image.size.width;
  const auto y = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(height)));
  const auto x = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(width)));
  const std::int64_t top = y - side / 2;
  const std::int64_t left = x - side / 2;
  fill_box(image,
           {std::max<std::int64_t>(0, top), std::max<std::int64_t>(0, left),
            std::min(height, top + side), std::min(width, left + side)},
           [] { return kGreyByte; });
}

void random_erase(Image& image, std::span<const double> arguments, Rng& rng) {
  if (!rng.chance(arguments[0])) return;
  const auto height = static_cast<double>(image.size.height);
  const auto width = static_cast<double>(image.size.width);
  for (int tries = 0; tries < kEraseTries; ++tries) {
    const double area = height * width * (0.02 + 0.31 * rng.uniform());
    const double aspect = std::exp(std::log(0.3) + std::log(3.3 / 0.3) * rng.uniform());
    const auto rows = static_cast<std::int64_t>(std::lround(std::sqrt(area * aspect)));
    const auto columns = static_cast<std::int64_t>(std::lround(std::sqrt(area / aspect)));
    if (rows < 1 || columns < 1 || rows > image.size.height || columns > image.size.width) continue;
    const auto top = static_cast<std::int64_t>(
        rng.below(static_cast<std::uint64_t>(image.size.height - rows + 1)));
    const auto left = static_cast<std::int64_t>(
        rng.below(static_cast<std::uint64_t>(image.size.width - columns + 1)));
    fill_box(image, {top, left, top + rows, left + columns},
             [&] { return static_cast<std::uint8_t>(rng.next_u32() >> 24U); });
    return;
  }
}

void jitter(Image& image, std::span<const double> arguments, Rng& rng) {
  const double brightness = factor_of(arguments, 0, rng);
  const double contrast = factor_of(arguments, 1, rng);
  const double saturation = factor_of(arguments, 2, rng);
  const double mean = mean_luminance(image) * brightness;
  const auto plane = static_cast<std::size_t>(image.size.height * image.size.width);
  for (std::size_t at = 0; at < plane; ++at) {
    const double grey = luminance(image, at);
    for (std::int64_t c = 0; c < image.size.channels; ++c) {
      std::uint8_t& pixel = image.pixels[static_cast<std::size_t>(c) * plane + at];
      double value = grey + saturation * (pixel - grey);
      value = mean + contrast * (brightness * value - mean);
      pixel = to_byte(value);
    }
  }
}

}  // namespace weft
