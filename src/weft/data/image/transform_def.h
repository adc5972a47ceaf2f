// What one transform is, and the loops behind the names of transform.h.
//
// Each function changes the image in place; arguments are those of its name, checked by parse().
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "weft/data/transform.h"

namespace weft {

// How the text of an argument is read.
enum class ArgumentKind : std::uint8_t {
  kPixels,       // a whole number from 0 to 4096
  kSize,         // HxW, each 1 to 4096; two numbers
  kProbability,  // 0 to 1
};

struct TransformDef {
  std::string_view name;
  std::string_view usage;
  std::array<ArgumentKind, 3> arguments;
  std::size_t arguments_min;
  std::size_t arguments_max;
  bool random;
  ImageSize (*output_size)(ImageSize input, std::span<const double> arguments);
  void (*apply)(Image& image, std::span<const double> arguments, Rng& rng);
};

void random_crop(Image& image, std::span<const double> arguments, Rng& rng);
void flip(Image& image, std::span<const double> arguments, Rng& rng);
void center_crop(Image& image, std::span<const double> arguments, Rng& rng);
void resize(Image& image, std::span<const double> arguments, Rng& rng);
void cutout(Image& image, std::span<const double> arguments, Rng& rng);
void random_erase(Image& image, std::span<const double> arguments, Rng& rng);
void jitter(Image& image, std::span<const double> arguments, Rng& rng);

// The resized image: each output pixel is the mean of the input area that it covers where the
// image shrinks, and linear between the four pixels around its centre where it grows; the two
// axes are independent. REQUIRES: sizes of at least 1.
Image resized(const Image& image, std::int64_t height, std::int64_t width);

}  // namespace weft
