// Values shifted to mean 0 and scaled to variance 1 over some axes: the core of batch and layer
// normalisation, f32 or f64.
#pragma once

#include "weft/array/array.h"
#include "weft/kernel/reduce.h"

namespace weft {

// All but `values` have the shape of x with the reduced axes of length 1.
struct Normalized {
  Array values;             // (x - mean) * inverse_deviation
  Array mean;               //
  Array variance;           // biased: over n
  Array inverse_deviation;  // 1 / sqrt(variance + eps)
};

Normalized normalize(const Array& x, AxisMask axes, double eps);
// With given statistics, which broadcast to x.
Normalized normalize_with(const Array& x, const Array& mean, const Array& variance, double eps);

// The gradient of x from that of `values`, through the mean and the variance too.
Array normalize_gradient(const Array& gradient, const Normalized& normalized, AxisMask axes);

}  // namespace weft
