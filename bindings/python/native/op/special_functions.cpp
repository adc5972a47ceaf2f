#include "op/special_functions.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include <math.h>  // NOLINT(modernize-deprecated-headers): lgamma_r is POSIX's

#include "array/dtype_object.h"
#include "weft/base/parallel.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/promote.h"

namespace weft::python {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kGrain = 4096;  // elements a thread takes at least

// Not std::lgamma, which writes a global variable.
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// The slope of log_gamma: recurrence up to 10, then its asymptotic series (Abramowitz and Stegun,
// 6.3.18); reflection below 0 (6.3.7).
double digamma(double x) {
  if (x == 0.0) return std::signbit(x) ? kInfinity : -kInfinity;
  if (x < 0.0) {
    if (x == std::floor(x)) return kNaN;
    return digamma(1.0 - x) - kPi / std::tan(kPi * (x - std::floor(x)));
  }
  double sum = 0.0;
  for (; x < 10.0; x += 1.0) sum -= 1.0 / x;
  const double s = 1.0 / (x * x);
  const double series =
      s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132)))));
  return sum + std::log(x) - 0.5 / x - series;
}

// The slope of digamma, in the same way (6.4.12, 6.4.7).
double trigamma(double x) {
  if (x <= 0.0) {
    if (x == std::floor(x)) return kInfinity;
    const double sine = std::sin(kPi * (x - std::floor(x)));
    return kPi * kPi / (sine * sine) - trigamma(1.0 - x);
  }
  double sum = 0.0;
  for (; x < 10.0; x += 1.0) sum += 1.0 / (x * x);
  const double s = 1.0 / (x * x);
  const double series = s * (1.0 / 6 - s * (1.0 / 30 - s * (1.0 / 42 - s * (1.0 / 30))));
  return sum + 1.0 / x + 0.5 * s + series / x;
}

// A rational start (Winitzki) and steps of Halley's method, each of which triples the digits.
double erf_inverse(double y) {
  if (!(y > -1.0 && y < 1.0)) return y == 1.0 ? kInfinity : y == -1.0 ? -kInfinity : kNaN;
  constexpr double kShape = 0.147;
  const double logarithm = std::log1p(-y * y);
  const double half = 2.0 / (kPi * kShape) + logarithm / 2.0;
  double x = std::copysign(std::sqrt(std::sqrt(half * half - logarithm / kShape) - half), y);
  for (int step = 0; step < 3; ++step) {
    // Near 1 the distance from 1 has the digits that erf itself has lost.
    const double off = y > 0.5    ? (1.0 - y) - std::erfc(x)
                       : y < -0.5 ? std::erfc(-x) - (1.0 + y)
                                  : std::erf(x) - y;
    const double miss = off * std::sqrt(kPi) / 2.0 * std::exp(x * x);
    x -= miss / (1.0 + x * miss);
  }
  return x;
}

double normalized_sine(double x) { return x == 0.0 ? 1.0 : std::sin(kPi * x) / (kPi * x); }

// exp(x^2) erfc(x): above 25, where erfc underflows, the asymptotic series (Abramowitz and Stegun,
// 7.1.23).
double scaled_erfc(double x) {
  if (x < 25.0) return std::exp(x * x) * std::erfc(x);
  const double s = 0.5 / (x * x);
  return (1.0 - s * (1.0 - 3.0 * s * (1.0 - 5.0 * s * (1.0 - 7.0 * s)))) / (x * std::sqrt(kPi));
}

// exp(-|x|) I_order(x); from 50 on the asymptotic series (9.7.1), whose terms fall below 1e-17.
double scaled_bessel_i(double order, double x) {
  const double size = std::fabs(x);
  if (size < 50.0) return std::exp(-size) * std::cyl_bessel_i(order, size);
  double term = 1.0;
  double sum = 1.0;
  for (int k = 1; k < 30 && std::fabs(term) > 1e-17; ++k) {
    const double odd = 2.0 * k - 1.0;
    term *= -(4.0 * order * order - odd * odd) / (8.0 * k * size);
    sum += term;
  }
  return sum / std::sqrt(2.0 * kPi * size);
}

// The share of the gamma distribution of shape a below x, if `lower`, else above it: the series of
// 6.5.29, or the continued fraction of 6.5.31 by the method of Lentz.
double gamma_share(double a, double x, bool lower) {
  if (!(a >= 0.0 && x >= 0.0) || (a == 0.0 && x == 0.0)) return kNaN;
  if (a == 0.0 || x == kInfinity) return a == kInfinity ? kNaN : lower ? 1.0 : 0.0;
  if (x == 0.0 || a == kInfinity) return lower ? 0.0 : 1.0;
  constexpr int kTermsMax = 100'000;
  constexpr double kEnough = 1e-16;
  const double front = std::exp(a * std::log(x) - x - log_gamma(a));
  if (x < a + 1.0) {
    double term = 1.0 / a;
    double sum = term;
    for (int n = 1; n < kTermsMax && term > sum * kEnough; ++n) sum += term *= x / (a + n);
    return lower ? front * sum : 1.0 - front * sum;
  }
  constexpr double kTiny = 1e-300;
  double b = x + 1.0 - a;
  double c = 1.0 / kTiny;
  double d = 1.0 / b;
  double fraction = d;
  for (int n = 1; n < kTermsMax; ++n) {
    const double numerator = -n * (n - a);
    b += 2.0;
    const double below = numerator * d + b;
    const double above = b + numerator / c;
    d = 1.0 / (std::fabs(below) < kTiny ? kTiny : below);
    c = std::fabs(above) < kTiny ? kTiny : above;
    fraction *= c * d;
    if (std::fabs(c * d - 1.0) < kEnough * 2.0) break;
  }
  return lower ? 1.0 - front * fraction : front * fraction;
}

// The sum of (q + n)^-s over n >= 0, s > 1: ten terms or more, and the rest by the formula of Euler
// and Maclaurin.
double hurwitz_zeta(double s, double q) {
  if (s == 1.0) return kInfinity;
  if (!(s > 1.0) || std::isnan(q)) return kNaN;
  if (q <= 0.0) {
    if (q == std::floor(q)) return kInfinity;
    if (s != std::floor(s)) return kNaN;  // a root of a number below 0
  }
  double sum = 0.0;
  double at = q;
  for (int n = 0; n < 10 || at < 10.0; ++n, at += 1.0) sum += std::pow(at, -s);
  sum += std::pow(at, 1.0 - s) / (s - 1.0) + 0.5 * std::pow(at, -s);
  // B_2k / (2k)!.
  constexpr double kShares[] = {1.0 / 12,         -1.0 / 720,     1.0 / 30240,
                                -1.0 / 1209600,   1.0 / 47900160, -691.0 / 1307674368000,
                                1.0 / 74724249600};
  double factor = s * std::pow(at, -s - 1.0);
  for (int k = 0; k < 7; ++k) {
    sum += kShares[k] * factor;
    factor *= (s + 2 * k + 1) * (s + 2 * k + 2) / (at * at);
  }
  return sum;
}

double mantissa_of(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent);
}

double exponent_of(double x) {
  int exponent = 0;
  if (std::isfinite(x)) std::frexp(x, &exponent);
  return exponent;
}

double bessel_k(double order, double x) {
  if (x == 0.0) return kInfinity;
  return x > 0.0 ? std::cyl_bessel_k(order, x) : kNaN;
}

struct OfOne {
  const char* name;
  double (*of)(double);
};
constexpr OfOne kOfOne[] = {
    {"tan", [](double x) { return std::tan(x); }},
    {"asin", [](double x) { return std::asin(x); }},
    {"acos", [](double x) { return std::acos(x); }},
    {"atan", [](double x) { return std::atan(x); }},
    {"sinh", [](double x) { return std::sinh(x); }},
    {"cosh", [](double x) { return std::cosh(x); }},
    {"asinh", [](double x) { return std::asinh(x); }},
    {"acosh", [](double x) { return std::acosh(x); }},
    {"atanh", [](double x) { return std::atanh(x); }},
    {"log10", [](double x) { return std::log10(x); }},
    {"erfc", [](double x) { return std::erfc(x); }},
    {"erfinv", erf_inverse},
    {"lgamma", log_gamma},
    {"digamma", digamma},
    {"trigamma", trigamma},
    {"i0", [](double x) { return std::cyl_bessel_i(0.0, std::fabs(x)); }},
    {"i1", [](double x) { return std::copysign(std::cyl_bessel_i(1.0, std::fabs(x)), x); }},
    {"sinc", normalized_sine},
    {"erfcx", scaled_erfc},
    {"i0e", [](double x) { return scaled_bessel_i(0.0, x); }},
    {"i1e", [](double x) { return std::copysign(scaled_bessel_i(1.0, x), x); }},
    {"bessel_j0", [](double x) { return ::j0(x); }},
    {"bessel_j1", [](double x) { return ::j1(x); }},
    {"bessel_y0", [](double x) { return ::y0(x); }},
    {"bessel_y1", [](double x) { return ::y1(x); }},
    {"bessel_k0", [](double x) { return bessel_k(0.0, x); }},
    {"bessel_k1", [](double x) { return bessel_k(1.0, x); }},
    {"frexp_mantissa", mantissa_of},
    {"frexp_exponent", exponent_of},
};

struct OfTwo {
  const char* name;
  double (*of)(double, double);
};
constexpr OfTwo kOfTwo[] = {
    {"fmod", [](double a, double b) { return std::fmod(a, b); }},
    {"hypot", [](double a, double b) { return std::hypot(a, b); }},
    {"copysign", [](double a, double b) { return std::copysign(a, b); }},
    {"igamma", [](double a, double x) { return gamma_share(a, x, true); }},
    {"igammac", [](double a, double x) { return gamma_share(a, x, false); }},
    {"zeta", hurwitz_zeta},
};

template <class Row, std::size_t kCount>
const Row& row_named(const Row (&table)[kCount], const std::string& name) {
  for (const Row& row : table) {
    if (name == row.name) return row;
  }
  throw std::invalid_argument("[special] expected a known function, got " + name);
}

}  // namespace

Tensor special(const std::string& name, const Tensor& x) {
  const auto of = row_named(kOfOne, name).of;
  const DType dtype = is_floating(x.dtype()) ? x.dtype() : default_dtype();
  const Array source = x.array().strided().to(dtype).contiguous();
  Array result = Array::empty(x.shape(), dtype);
  with_floating_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const from = source.data<T>();
    T* const to = result.data<T>();
    parallel_for(result.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        to[i] = convert_value<T>(of(convert_value<double>(from[i])));
      }
    });
  });
  return Tensor(result);
}

Tensor next_after(const Tensor& a, const Tensor& b) {
  check_broadcast("nextafter", a, b);
  const DType dtype = promoted_type(a, b);
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    throw std::invalid_argument("[nextafter] expected float32 or float64, got " +
                                std::string(to_string(dtype)));
  }
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  const Array left = a.array().strided().to(dtype).expand(shape).contiguous();
  const Array right = b.array().strided().to(dtype).expand(shape).contiguous();
  Array result = Array::empty(shape, dtype);
  const auto fill = [&](auto zero) {
    using T = decltype(zero);
    const T* const x = left.data<T>();
    const T* const y = right.data<T>();
    T* const to = result.data<T>();
    parallel_for(result.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] = std::nextafter(x[i], y[i]);
    });
  };
  if (dtype == DType::kF32) {
    fill(0.0f);
  } else {
    fill(0.0);
  }
  return Tensor(result);
}

Tensor special_of_two(const std::string& name, const Tensor& a, const Tensor& b) {
  const auto of = row_named(kOfTwo, name).of;
  check_broadcast(name.c_str(), a, b);
  const DType dtype = promoted_type(a, b);
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  const Array left = a.array().strided().to(dtype).expand(shape).contiguous();
  const Array right = b.array().strided().to(dtype).expand(shape).contiguous();
  Array result = Array::empty(shape, dtype);
  with_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T* const x = left.data<T>();
    const T* const y = right.data<T>();
    T* const to = result.data<T>();
    parallel_for(result.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        to[i] = convert_value<T>(of(convert_value<double>(x[i]), convert_value<double>(y[i])));
      }
    });
  });
  return Tensor(result);
}

}  // namespace weft::python
