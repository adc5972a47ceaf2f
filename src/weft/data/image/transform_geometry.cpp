// Transforms that move pixels: crops, flips, resizing.
#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/data/image/transform_def.h"

namespace weft {
namespace {

// The part of `image` that begins at (top, left), which may lie outside; what is missing is 0.
Image cropped(const Image& image, std::int64_t top, std::int64_t left, ImageSize size) {
  Image result;
  result.size = {image.size.channels, size.height, size.width};
  result.pixels.resize(static_cast<std::size_t>(result.size.bytes()));
  const std::int64_t begin = std::clamp<std::int64_t>(-left, 0, size.width);
  const std::int64_t end = std::clamp<std::int64_t>(image.size.width - left, begin, size.width);
  for (std::int64_t c = 0; c < image.size.channels; ++c) {
    for (std::int64_t y = 0; y < size.height; ++y) {
      const std::int64_t from_y = top + y;
      if (from_y < 0 || from_y >= image.size.height) continue;
      const std::uint8_t* from =
          image.pixels.data() + (c * image.size.height + from_y) * image.size.width;
      std::uint8_t* to = result.pixels.data() + (c * size.height + y) * size.width;
      for (std::int64_t x = begin; x < end; ++x) to[x] = from[left + x];
    }
  }
  return result;
}

// What one output position of an axis is made of: a few input positions and their weights.
struct Tap {
  std::int64_t first = 0;
  std::vector<float> weights;  // they sum to 1
};

std::vector<Tap> make_taps(std::int64_t input, std::int64_t output) {
  std::vector<Tap> taps(static_cast<std::size_t>(output));
  const double scale = static_cast<double>(input) / static_cast<double>(output);
  for (std::size_t i = 0; i < taps.size(); ++i) {
    Tap& tap = taps[i];
    if (scale <= 1) {
      const double center = (static_cast<double>(i) + 0.5) * scale - 0.5;
      const double low = std::clamp(std::floor(center), 0.0, static_cast<double>(input - 1));
      const auto fraction = static_cast<float>(std::clamp(center - low, 0.0, 1.0));
      tap.first = static_cast<std::int64_t>(low);
      tap.weights = {1 - fraction};
      if (tap.first + 1 < input) tap.weights.push_back(fraction);
      if (tap.weights.size() == 1) tap.weights[0] = 1;
      continue;
    }
    const double begin = static_cast<double>(i) * scale;
    const double end = std::min(begin + scale, static_cast<double>(input));
    tap.first = static_cast<std::int64_t>(begin);
    const auto last = std::min(static_cast<std::int64_t>(std::ceil(end)), input);
    for (std::int64_t at = tap.first; at < last; ++at) {
      const double covered =
          std::min(end, static_cast<double>(at + 1)) - std::max(begin, static_cast<double>(at));
      tap.weights.push_back(static_cast<float>(covered / (end - begin)));
    }
  }
  return taps;
}

std::uint8_t float_to_byte(float value) {
  return static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5F), 0.0F, 255.0F));
}

// One channel: rows first, then columns.
void resize_plane(const std::uint8_t* from, ImageSize size, std::span<const Tap> rows,
                  std::span<const Tap> columns, std::uint8_t* to) {
  std::vector<float> line(static_cast<std::size_t>(size.width));
  for (const Tap& row : rows) {
    std::fill(line.begin(), line.end(), 0.0F);
    for (std::size_t i = 0; i < row.weights.size(); ++i) {
      const std::uint8_t* source = from + (row.first + static_cast<std::int64_t>(i)) * size.width;
      for (std::size_t x = 0; x < line.size(); ++x) {
        line[x] += row.weights[i] * static_cast<float>(source[x]);
      }
    }
    for (const Tap& column : columns) {
      float sum = 0;
      for (std::size_t i = 0; i < column.weights.size(); ++i) {
        sum += column.weights[i] * line[static_cast<std::size_t>(column.first) + i];
      }
      *to++ = float_to_byte(sum);
    }
  }
}

ImageSize wanted_size(const Image& image, std::span<const double> arguments) {
  return {image.size.channels, static_cast<std::int64_t>(arguments[0]),
          static_cast<std::int64_t>(arguments[1])};
}

}  // namespace

void random_crop(Image& image, std::span<const double> arguments, Rng& rng) {
  const auto padding = static_cast<std::int64_t>(arguments[0]);
  const ImageSize size =
      arguments.size() == 1 ? image.size : wanted_size(image, arguments.subspan(1));
  // A crop larger than the padded image lies around its middle.
  const auto offset = [&](std::int64_t input, std::int64_t output) {
    const std::int64_t room = input + 2 * padding - output;
    if (room < 0) return (input - output) / 2;
    return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(room) + 1)) - padding;
  };
  const std::int64_t top = offset(image.size.height, size.height);
  const std::int64_t left = offset(image.size.width, size.width);
  image = cropped(image, top, left, size);
}

void flip(Image& image, std::span<const double> /*arguments*/, Rng& rng) {
  if (!rng.chance(0.5)) return;
  for (auto row = image.pixels.begin(); row != image.pixels.end(); row += image.size.width) {
    std::reverse(row, row + image.size.width);
  }
}

void center_crop(Image& image, std::span<const double> arguments, Rng& /*rng*/) {
  const ImageSize size = wanted_size(image, arguments);
  const auto offset = [](std::int64_t room) { return room >= 0 ? room / 2 : -((1 - room) / 2); };
  image = cropped(image, offset(image.size.height - size.height),
                  offset(image.size.width - size.width), size);
}

void resize(Image& image, std::span<const double> arguments, Rng& /*rng*/) {
  const ImageSize size = wanted_size(image, arguments);
  if (size == image.size) return;
  image = resized(image, size.height, size.width);
}

Image resized(const Image& image, std::int64_t height, std::int64_t width) {
  const std::vector<Tap> rows = make_taps(image.size.height, height);
  const std::vector<Tap> columns = make_taps(image.size.width, width);
  Image result;
  result.size = {image.size.channels, height, width};
  result.pixels.resize(static_cast<std::size_t>(result.size.bytes()));
  for (std::int64_t c = 0; c < image.size.channels; ++c) {
    resize_plane(image.pixels.data() + c * image.size.height * image.size.width, image.size, rows,
                 columns, result.pixels.data() + c * height * width);
  }
  return result;
}

}  // namespace weft
