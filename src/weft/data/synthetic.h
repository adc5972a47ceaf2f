// Generated data with a known best possible result: an oracle for whole training runs.
//
// Threads: pure functions; the same options give the same data on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/dataset.h"

namespace weft {

struct GaussianImageOptions {
  std::uint64_t seed = 1;
  std::int64_t size = 50000;
  std::int64_t channels = 3;
  std::int64_t height = 32;
  std::int64_t width = 32;
  std::int64_t classes = 10;  // 2 to 64
  double separation = 4.0;    // d below, 0 to 16
  double label_noise = 0.0;   // so many labels are drawn anew from all classes, 0 to 1
};

// The image of class k is grey plus its pattern plus Gaussian noise of sigma = 40 on each value.
// The patterns are cosines (of the DCT, one frequency for each class), orthogonal, each of length d
// * sigma, so the best classifier chooses the class with the largest inner product and is right
// with the probability bayes_accuracy(). Rounding to bytes and clipping at 0 and 255 change it by
// less than 0.002. Fails: kInvalidArgument on options out of range or more than 1 GiB.
Result<Dataset> make_gaussian_images(const GaussianImageOptions& options, Split split);

// (1 - label_noise) * P + label_noise / classes, with
// P = integral of phi(z) * Phi(z + d)^(classes - 1) dz: the largest of `classes` independent
// normal values is the one whose mean is d (orthogonal signalling, Proakis, "Digital
// communications", 4.4-2).
double bayes_accuracy(std::int64_t classes, double separation, double label_noise);

struct MarkovOptions {
  std::uint64_t seed = 1;
  std::int64_t size = 1 << 20;   // tokens
  std::int64_t vocabulary = 16;  // 2 to 256
  std::int64_t order = 2;        // 1 to 4; vocabulary^order <= 65536
  double sharpness = 3.0;        // 0: all tokens equally likely; the larger, the more regular
  std::int64_t context = 64;
};

struct MarkovText {
  Dataset dataset;
  // H = -sum over states s of pi(s) * sum over tokens t of p(t | s) * log2 p(t | s): no model
  // has a smaller expected loss, in bits a token, once it has seen `order` tokens.
  double entropy_bits = 0;
};

// Makes tokens of a chain in which each depends on the `order` before it; p(t | s) is proportional
// to exp(sharpness * u) with u uniform in [0, 1). Both splits come from one chain, drawn
// separately. Fails: kInvalidArgument on options out of range.
Result<MarkovText> make_markov_text(const MarkovOptions& options, Split split);

}  // namespace weft
