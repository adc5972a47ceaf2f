#include "weft/base/portable_math.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "weft/base/check.h"

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSqrtOfHalf = 0.70710678118654752;

// Each constant in two parts: the first has so few bits that its small multiples are exact.
constexpr double kLn2 = 0x1.62e42fefa2000p-1;
constexpr double kLn2Rest = 0x1.9ef35793c7673p-41;
constexpr double kHalfPi = 0x1.921fb54440000p+0;
constexpr double kHalfPiRest = 0x1.68c234c4c6629p-39;

// From here on every double is a whole number, and no product of so many factors is of use.
constexpr double kWholeMax = 1e9;

double whole_pow(double base, double exponent) {
  auto left = static_cast<std::uint64_t>(std::fabs(exponent));
  double power = 1;
  for (double factor = base; left != 0; left /= 2) {
    if (left % 2 != 0) power *= factor;
    factor *= factor;
  }
  return exponent < 0 ? 1 / power : power;
}

// The series x - x^3 / 3! + ... or 1 - x^2 / 2! + ..., whose first term is `term` with the degree
// given. |x| <= pi / 4, so the terms that are left out are below 2^-57.
double alternating_series(double term, double square, int degree) {
  constexpr int kDegreeMax = 19;
  double sum = 0;
  for (int n = kDegreeMax - 1 + degree % 2; n > degree; n -= 2) {
    sum = (1 + sum) * -square / ((n - 1) * n);
  }
  return term + term * sum;
}

}  // namespace

// IMPLEMENTATION: x = k ln 2 + r with |r| <= ln 2 / 2, and the Taylor series of e^r.
double portable_exp(double x) {
  if (x != x) return x;
  if (x > 710) return kInfinity;
  if (x < -746) return 0;
  const double k = std::floor(x / kLn2 + 0.5);
  const double r = (x - k * kLn2) - k * kLn2Rest;
  double sum = 0;
  for (int n = 15; n > 1; --n) sum = (1 + sum) * r / n;
  return std::ldexp(1 + (r + r * sum), static_cast<int>(k));
}

// IMPLEMENTATION: x = 2^e m with m in [sqrt(1/2), sqrt(2)), and log m = 2 artanh((m - 1) / (m +
// 1)).
double portable_log(double x) {
  if (x != x || x == kInfinity) return x;
  if (x <= 0) return x < 0 ? std::numeric_limits<double>::quiet_NaN() : -kInfinity;
  int e = 0;
  double m = std::frexp(x, &e);
  if (m < kSqrtOfHalf) {
    m *= 2;
    --e;
  }
  const double t = (m - 1) / (m + 1);
  const double square = t * t;
  double sum = 0;
  for (int n = 23; n > 1; n -= 2) sum = (sum + 1.0 / n) * square;
  return e * kLn2 + (2 * (t + t * sum) + e * kLn2Rest);
}

double portable_pow(double base, double exponent) {
  WEFT_DCHECK(!(base < 0));
  if (std::fabs(exponent) <= kWholeMax && std::floor(exponent) == exponent) {
    return whole_pow(base, exponent);
  }
  return portable_exp(exponent * portable_log(base));
}

// IMPLEMENTATION: x = k pi / 2 + r with |r| <= pi / 4, and the Taylor series of sine or cosine of
// r.
double portable_cos(double x) {
  const double k = std::floor(x / kHalfPi + 0.5);
  const double r = (x - k * kHalfPi) - k * kHalfPiRest;
  const double square = r * r;
  const int quarter = static_cast<int>(k - 4 * std::floor(k / 4));
  const double value =
      quarter % 2 == 0 ? alternating_series(1, square, 0) : alternating_series(r, square, 1);
  return quarter == 1 || quarter == 2 ? -value : value;
}

}  // namespace weft
