// triu, tril: zeros below or above a diagonal of the last two axes; the gradient alike.
#include <algorithm>

#include "weft/autograd/op_trace.h"
#include "weft/kernel/index/arrange.h"
#include "weft/op/core/operands.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {

static Tensor triangle_of(const char* op, const Tensor& x, Triangle side, std::int64_t wanted) {
  if (x.ndim() < 2) throw_operand(op, "at least two axes", to_string(x.shape()));
  // Further out than the corners all diagonals are alike.
  const std::int64_t diagonal = std::clamp(wanted, -x.dim(-2), x.dim(-1));
  if (op_tracing()) trace_attributes(op, {{"diagonal", {static_cast<double>(diagonal)}}});
  return record(
      op, triangle(x.array(), side, diagonal), {&x},
      [=](const Array& dy, const InputGradients& dx) { dx.add(0, triangle(dy, side, diagonal)); },
      [=](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, triangle_of(op, dy, side, diagonal));
      });
}

Tensor triu(const Tensor& x, std::int64_t diagonal) {
  return triangle_of("triu", x, Triangle::kUpper, diagonal);
}

Tensor tril(const Tensor& x, std::int64_t diagonal) {
  return triangle_of("tril", x, Triangle::kLower, diagonal);
}

static std::vector<OpSample> triangle_samples() {
  const auto sample = [](const char* name, const Shape& shape, bool upper, std::int64_t diagonal) {
    return pick_sample(
        name, shape, [=](const Tensor& x) { return upper ? triu(x, diagonal) : tril(x, diagonal); },
        shape,
        [=](Dims i) -> std::optional<Dims> {
          const std::int64_t off = i.back() - i[i.size() - 2];
          if (upper ? off < diagonal : off > diagonal) return {};
          return i;
        });
  };
  return {sample("upper", {4, 4}, true, 0),        sample("lower", {4, 4}, false, 0),
          sample("upper, above", {3, 5}, true, 2), sample("lower, below", {5, 3}, false, -2),
          sample("upper, all", {2, 3}, true, -9),  sample("lower, nothing", {2, 3}, false, -9),
          sample("batch", {2, 3, 3}, false, 0),    sample("one element", {1, 1}, true, 0),
          sample("no rows", {0, 3}, true, 0)};
}
extern const OpDef triangle_op = {"triangle", triangle_samples};

}  // namespace weft
