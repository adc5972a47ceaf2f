#include "weft/op/norm/normalizing.h"

#include <cmath>
#include <map>

#include "weft/op/arithmetic.h"
#include "weft/op/reduce.h"

namespace weft {

NormalizedTensors normalize_tensors(const Tensor& x, const std::vector<int>& axes, double eps,
                                    bool centered) {
  const Tensor from_mean = centered ? x - mean(x, axes, true) : x;
  const Tensor inverse = 1.0 / sqrt(mean(from_mean * from_mean, axes, true) + eps);
  return {from_mean * inverse, inverse};
}

Tensor normalize_tensors_gradient(const Tensor& g, const NormalizedTensors& x,
                                  const std::vector<int>& axes, bool centered) {
  const Tensor along = g - x.values * mean(g * x.values, axes, true);
  return (centered ? along - mean(g, axes, true) : along) * x.inverse;
}

Array norm_reference(std::span<const Array> in, const NormReference& reference) {
  struct Sums {
    double count = 0;
    double sum = 0;
    double squares = 0;
  };
  const Array& x = in[0];
  const double* const values = x.data<double>();
  std::map<std::int64_t, Sums> groups;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    Sums& group = groups[reference.group_of(i)];
    group.count += 1;
    group.sum += values[i];
    group.squares += values[i] * values[i];
  }
  Array y = Array::empty(x.shape(), DType::kF64);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const Sums& group = groups[reference.group_of(i)];
    const double mean = reference.centered ? group.sum / group.count : 0.0;
    const double variance = group.squares / group.count - mean * mean;
    double out = (values[i] - mean) / std::sqrt(variance + reference.eps);
    if (in.size() > 1) out *= in[1].data<double>()[reference.channel_of(i)];
    if (in.size() > 2) out += in[2].data<double>()[reference.channel_of(i)];
    y.data<double>()[i] = out;
  }
  return y;
}

}  // namespace weft
