// CosineTransform: the orthonormal DCT-II of vectors of one length, and its inverse, of
// kCosineLanes vectors at once.
//
//   X[k] = s(k) sum over n of x[n] cos(pi (2n + 1) k / 2N)      s(0) = sqrt(1/N), else sqrt(2/N)
//
// The sum of squares stays what it is. Both directions have the same bits on every machine: they
// are sums, differences and products of doubles in a fixed order, and so are the cosines, which no
// library computes.
//
// IMPLEMENTATION: B. G. Lee, "A new algorithm to compute the discrete cosine transform", IEEE
// Trans. ASSP 32(6), 1984: a transform of an even length is two of half the length. What is odd is
// a product with the matrix. In double, for the secants of long transforms are large: the error is
// below 1e-11 of the norm for 4,096 values. Time O(N log N) for powers of two, O(N m) where m is
// the largest odd factor.
//
// Where it stands: dct_codec.cpp. Threads: one owner. Fails: never.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/codec/loops/codec_loops.h"

namespace weft {

// The cosine of pi times a fraction, off by at most some 1e-16 of itself.
double cosine_of_pi(std::size_t numerator, std::size_t denominator);

class CosineTransform {
 public:
  // REQUIRES: length > 0.
  explicit CosineTransform(std::size_t length);

  std::size_t length() const { return work_.size() / kCosineLanes; }
  // Both in place; value n of vector v is at n * kCosineLanes + v.
  // REQUIRES: values.size() == kCosineLanes * length().
  void forward(std::span<double> values);
  void inverse(std::span<double> values);

 private:
  void scale(std::span<double> values) const;
  CosineFactors factors() const { return {odd_, secants_.data(), cosines_.data()}; }

  // The largest odd factor of the length.
  std::size_t odd_;
  // 1 / (2 cos(pi (2n + 1) / 2N)) for n < N/2, for the length, its half and so on.
  std::vector<double> secants_;
  // cos(pi j / 2 odd_) for j < 4 odd_; none where odd_ is 1.
  std::vector<double> cosines_;
  std::vector<double> work_;
  double first_scale_;
  double scale_;
};

}  // namespace weft
