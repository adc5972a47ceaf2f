// log_softmax: y = x - ln sum e^x along an axis; dx = dy - e^y sum(dy).
#include <cmath>

#include "weft/kernel/reduce/softmax.h"
#include "weft/op/arithmetic.h"
#include "weft/op/reduce.h"
#include "weft/op/reduce/row_op.h"
#include "weft/op/softmax.h"

namespace weft {

Tensor log_softmax(const Tensor& x, int axis) {
  return apply_rows(
      {"log_softmax", log_softmax_rows, log_softmax_rows_gradient,
       [](const Tensor& y, const Tensor& dy, int at) { return dy - exp(y) * sum(dy, {at}, true); }},
      x, axis);
}

static void log_softmax_reference(std::span<double> line) {
  const double first = line[0];
  double total = 0;
  for (const double x : line) total += std::exp(x - first);
  for (double& x : line) x = x - first - std::log(total);
}

static std::vector<OpSample> log_softmax_samples() {
  return row_samples(log_softmax, log_softmax_reference);
}
extern const OpDef log_softmax_op = {"log_softmax", log_softmax_samples};

}  // namespace weft
