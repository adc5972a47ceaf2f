// softmax: y = e^x / sum e^x along an axis; dx = y (dy - sum(dy y)).
#include <cmath>

#include "weft/kernel/reduce/softmax.h"
#include "weft/op/arithmetic.h"
#include "weft/op/reduce.h"
#include "weft/op/reduce/row_op.h"
#include "weft/op/softmax.h"

namespace weft {

Tensor softmax(const Tensor& x, int axis) {
  return apply_rows({"softmax", softmax_rows, softmax_rows_gradient,
                     [](const Tensor& y, const Tensor& dy, int at) {
                       return y * (dy - sum(dy * y, {at}, true));
                     }},
                    x, axis);
}

static void softmax_reference(std::span<double> line) {
  const double first = line[0];
  double total = 0;
  for (const double x : line) total += std::exp(x - first);
  for (double& x : line) x = std::exp(x - first) / total;
}

static std::vector<OpSample> softmax_samples() { return row_samples(softmax, softmax_reference); }
extern const OpDef softmax_op = {"softmax", softmax_samples};

}  // namespace weft
