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

struct NormalizedGradient {
  Array x;
  // Of `gradient` and of gradient * values over the reduced axes, which have length 1.
  Array sum;
  Array product_sum;
};

// The gradient of x from `gradient`, that of `values`, through the mean and the variance too; times
// `slope`, which broadcasts: the inverse deviation, and what else is constant along the axes.
NormalizedGradient normalize_gradient(const Array& gradient, const Normalized& normalized,
                                      AxisMask axes, const Array& slope);

}  // namespace weft
