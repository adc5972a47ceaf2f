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
};

struct OfTwo {
  const char* name;
  double (*of)(double, double);
};
constexpr OfTwo kOfTwo[] = {
    {"fmod", [](double a, double b) { return std::fmod(a, b); }},
    {"hypot", [](double a, double b) { return std::hypot(a, b); }},
    {"copysign", [](double a, double b) { return std::copysign(a, b); }},
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
