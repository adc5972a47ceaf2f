#include "weft/codec/loops/cosine_transform.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/base/check.h"

namespace weft {
namespace {

// Below pi/4 the next term of either series is less than 1e-19.
constexpr int kSeriesTerms = 9;

// 1 - t/(1*2) (1 - t/(3*4) (...)) for `first` = 1: the cosine, t being the square of the angle.
// With `first` = 2: the sine over the angle.
double alternating_series(double square, int first) {
  double sum = 1;
  for (int term = first + 2 * (kSeriesTerms - 1); term >= first; term -= 2) {
    sum = 1 - square / (term * (term + 1)) * sum;
  }
  return sum;
}

}  // namespace

double cosine_of_pi(std::size_t numerator, std::size_t denominator) {
  numerator %= 2 * denominator;
  numerator = std::min(numerator, 2 * denominator - numerator);
  const bool negative = 2 * numerator > denominator;
  if (negative) numerator = denominator - numerator;
  const bool near_zero = 4 * numerator > denominator;
  // Beyond pi/4 it is the sine of the angle that is left to pi/2, which is a whole number of parts.
  const double parts = static_cast<double>(near_zero ? denominator - 2 * numerator : 2 * numerator);
  const double angle = std::numbers::pi * parts / static_cast<double>(2 * denominator);
  const double cosine = near_zero ? angle * alternating_series(angle * angle, 2)
                                  : alternating_series(angle * angle, 1);
  return negative ? -cosine : cosine;
}

CosineTransform::CosineTransform(std::size_t length)
    : odd_(length),
      work_(kCosineLanes * length),
      first_scale_(std::sqrt(1 / static_cast<double>(length))),
      scale_(std::sqrt(2 / static_cast<double>(length))) {
  WEFT_CHECK(length > 0);
  for (; odd_ % 2 == 0; odd_ /= 2) {
    for (std::size_t n = 0; n < odd_ / 2; ++n) {
      secants_.push_back(0.5 / cosine_of_pi(2 * n + 1, 2 * odd_));
    }
  }
  if (odd_ == 1) return;
  for (std::size_t j = 0; j < 4 * odd_; ++j) cosines_.push_back(cosine_of_pi(j, 2 * odd_));
}

void CosineTransform::forward(std::span<double> values) {
  WEFT_CHECK(values.size() == work_.size());
  codec_loops().cosine_forward(values.data(), work_.data(), length(), factors());
  scale(values);
}

void CosineTransform::inverse(std::span<double> values) {
  WEFT_CHECK(values.size() == work_.size());
  scale(values);
  codec_loops().cosine_inverse(values.data(), work_.data(), length(), factors());
}

void CosineTransform::scale(std::span<double> values) const {
  for (double& value : values.first(kCosineLanes)) value *= first_scale_;
  for (double& value : values.subspan(kCosineLanes)) value *= scale_;
}

}  // namespace weft
