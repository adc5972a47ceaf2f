// Transforms: named operations on an image between the dataset and the batch.
//
//   crop:P            a random crop of the image's own size after P pixels of black on each side
//   crop:P:HxW        the same, a crop of HxW
//   flip              left to right, with probability 1/2
//   center-crop:HxW   the middle; what is missing is black
//   resize:HxW        by area when it shrinks, bilinear when it grows
//   cutout:S          a square of S pixels anywhere becomes grey (DeVries and Taylor 2017)
//   erase:P           with probability P, a random rectangle of noise (Zhong et al. 2017)
//   jitter:B[:C[:S]]  brightness, contrast and saturation times 1 - X to 1 + X
//
// They are applied in the order given. Random ones depend on the Rng alone, which the loader seeds
// by (seed, epoch, index): workers, batches and peers change no bit. Threads: immutable once
// parsed; any number may apply them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/rng.h"
#include "weft/base/status.h"

namespace weft {

struct ImageSize {
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t bytes() const { return channels * height * width; }
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

struct Image {
  ImageSize size;
  Bytes pixels;  // [channels, height, width]
};

struct TransformDef;  // a line of the table in transform.cpp

class Transforms {
 public:
  Transforms() = default;  // none

  // Fails: kInvalidArgument on an unknown name (lists the known ones) or a bad argument.
  static Result<Transforms> parse(std::span<const std::string> texts);

  bool empty() const { return steps_.empty(); }
  // The same without the random ones, for evaluation.
  Transforms without_random() const;
  // The size that images of `input` size have afterwards; it depends on nothing else.
  ImageSize output_size(ImageSize input) const;
  void apply(Image& image, Rng& rng) const;

 private:
  struct Step {
    const TransformDef* def;
    std::vector<double> arguments;
  };
  std::vector<Step> steps_;
};

}  // namespace weft
