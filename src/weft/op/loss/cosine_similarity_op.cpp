// cosine_similarity: the cosine of the angle between vectors along an axis.
#include <algorithm>
#include <cmath>

#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/loss.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int axis, double epsilon) {
  const auto [p, q] = promote_floating("cosine_similarity", a, b);
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  const int at = normalize_axis("cosine_similarity", axis, shape.size());
  const Tensor least(Array::full({}, epsilon, p.dtype(), p.device()));
  const auto unit = [&](const Tensor& x) {
    const Tensor whole = expand(x, shape);
    return whole / maximum(norm(whole, 2.0, {at}, true), least);
  };
  return sum(unit(p) * unit(q), {at});
}

// Along the last of two axes.
static Array cosine_similarity_reference(std::span<const Array> in) {
  Array y = Array::empty({in[0].dim(0)}, DType::kF64);
  const std::int64_t count = in[0].dim(1);
  for (std::int64_t i = 0; i < y.size(); ++i) {
    double dot = 0;
    double a_squares = 0;
    double b_squares = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      const double a = in[0].data<double>()[i * count + j];
      const double b = in[1].data<double>()[(in[1].dim(0) == 1 ? 0 : i) * count + j];
      dot += a * b;
      a_squares += a * a;
      b_squares += b * b;
    }
    y.data<double>()[i] =
        dot / (std::max(std::sqrt(a_squares), 1e-8) * std::max(std::sqrt(b_squares), 1e-8));
  }
  return y;
}

static std::vector<OpSample> cosine_similarity_samples() {
  const auto sample = [](const char* name, const Shape& a, const Shape& b) {
    return OpSample{name,
                    {sample_values(a, 621), sample_values(b, 622)},
                    [](std::span<const Tensor> in) { return cosine_similarity(in[0], in[1], 1); },
                    cosine_similarity_reference};
  };
  return {sample("rows", {4, 5}, {4, 5}), sample("one row for all", {3, 7}, {1, 7}),
          sample("one element", {1, 2}, {1, 2}), sample("no rows", {0, 3}, {0, 3})};
}
extern const OpDef cosine_similarity_op = {"cosine_similarity", cosine_similarity_samples};

}  // namespace weft
