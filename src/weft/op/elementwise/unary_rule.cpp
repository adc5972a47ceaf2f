#include "weft/op/elementwise/unary_rule.h"

#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/promote.h"

namespace weft {

Tensor apply_rule(const UnaryRule& rule, const Tensor& x, const OpScalars& scalars) {
  if (!x.defined() || !is_floating(x.dtype())) {
    return apply_rule(rule, floating_operand(rule.name, x), scalars);
  }
  Array y = unary(rule.forward, x.array(), scalars);
  if (op_tracing()) {
    trace_attributes(rule.name, {{"scalars", {scalars.begin(), scalars.end()}}});
  }
  if (!recording({&x})) return unrecorded(rule.name, std::move(y), {&x});
  const Array saved = rule.saves_output ? y : x.array();
  return record(
      rule.name, std::move(y), {&x},
      [&rule, saved, scalars](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(rule.gradient, dy, saved, scalars));
      },
      [&rule, saved, scalars](const Tensor& dy, const TensorGradients& dx) {
        if (rule.slope == nullptr) {
          const auto map = [&rule, saved, scalars](const Array& g) {
            return binary(rule.gradient, g, saved, scalars);
          };
          dx.add(0, linear_map(rule.name, dy, map, map));
          return;
        }
        const Tensor from = rule.saves_output ? dx.output(saved) : dx.input(0, saved);
        dx.add(0, mul(dy, rule.slope(from, scalars)));
      });
}

}  // namespace weft
