// Dataset: labelled images in memory, one byte a pixel.
//
// Where it stands: catalog.h opens one from files, make_synthetic_dataset() computes one;
// BatchLoader turns its samples into batches.
// Threads: immutable once made; any number may read it.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/bytes.h"

namespace weft {

enum class Split : std::uint8_t { kTrain, kTest };
std::string_view to_string(Split split);

struct Dataset {
  std::string name;
  Split split = Split::kTrain;
  std::int64_t size = 0;  // images
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t classes = 0;
  SharedBytes images;  // [size, height, width], 0 to 255
  SharedBytes labels;  // [size], each < classes
  // Of all training pixels, divided by 255.
  double mean = 0.0;
  double deviation = 1.0;

  // REQUIRES: index in [0, size).
  ByteSpan image(std::int64_t index) const;
  std::int64_t label(std::int64_t index) const;
};

struct SyntheticOptions {
  std::uint64_t seed = 1;
  std::int64_t size = 2048;
  std::int64_t height = 28;
  std::int64_t width = 28;
  std::int64_t classes = 10;
};

// Images of `classes` fixed patterns with noise, which a small model separates. The same seed
// gives the same patterns in both splits but different noise, so a test split measures learning.
// Needs no file. Fails: kInvalidArgument on sizes below 1, more than 256 classes, or more than
// 1 GiB of pixels.
Result<Dataset> make_synthetic_dataset(const SyntheticOptions& options, Split split);

}  // namespace weft
