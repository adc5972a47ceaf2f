// masked_fill: x with one value where a mask is true; no gradient flows there.
#include "weft/autograd/op_trace.h"
#include "weft/kernel/index/arrange.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"

namespace weft {

Tensor masked_fill(const Tensor& x, const IndexOperand& where, double value) {
  const Array& mask = where.mask("masked_fill");
  if (!(broadcast_shapes(x.shape(), mask.shape()) == x.shape())) {
    throw_operand("masked_fill", "a mask that broadcasts to " + to_string(x.shape()),
                  to_string(mask.shape()));
  }
  check_holds("masked_fill", x.dtype(), value);
  if (op_tracing()) trace_attributes("masked_fill", {{"value", {value}}});
  const Tensor kept(mask);  // an input, so that a write to it is noticed
  return record(
      "masked_fill", masked_fill(x.array(), mask, value), {&x, &kept},
      [mask](const Array& dy, const InputGradients& dx) { dx.add(0, masked_fill(dy, mask, 0)); },
      [mask](const Tensor& dy, const TensorGradients& dx) { dx.add(0, masked_fill(dy, mask, 0)); });
}

static std::vector<OpSample> masked_fill_samples() {
  const auto sample = [](const char* name, const Shape& x, const Shape& mask) {
    const Array chosen = sample_indexes(mask, 2, 542);
    return OpSample{name,
                    {sample_values(x, 541)},
                    [chosen](std::span<const Tensor> in) {
                      return masked_fill(in[0], chosen.to(DType::kBool).to(in[0].device()), 7.5);
                    },
                    [chosen](std::span<const Array> in) {
                      return map_values(in[0], chosen.to(DType::kF64),
                                        [](double a, double m) { return m != 0 ? 7.5 : a; });
                    }};
  };
  return {sample("same shape", {3, 5}, {3, 5}), sample("rows", {3, 5}, {5}),
          sample("columns", {2, 3, 4}, {3, 1}), sample("one element", {1}, {1}),
          sample("no elements", {0, 3}, {3})};
}
extern const OpDef masked_fill_op = {"masked_fill", masked_fill_samples};

}  // namespace weft
