#include "weft/kernel/reduce/softmax.h"

#include "weft/array/launch.h"
#include "weft/kernel/core/row_loops.h"

namespace weft {
namespace {

Array widened(const Array& x) { return is_half(x.dtype()) ? x.to(DType::kF32) : x.contiguous(); }

}  // namespace

Array softmax_rows(const Array& x) {
  const Array wide = widened(x);
  Array y = Array::empty(wide.shape(), wide.dtype(), wide.device());
  launch("softmax", {&wide}, {&y}, [](LaunchArrays in, LaunchArrays out) {
    RowLoops("softmax", in[0]).softmax(in[0], out[0]);
  });
  return wide.dtype() == x.dtype() ? y : y.to(x.dtype());
}

Array log_softmax_rows(const Array& x) {
  const Array wide = widened(x);
  Array y = Array::empty(wide.shape(), wide.dtype(), wide.device());
  launch("log_softmax", {&wide}, {&y}, [](LaunchArrays in, LaunchArrays out) {
    RowLoops("log_softmax", in[0]).log_softmax(in[0], out[0]);
  });
  return wide.dtype() == x.dtype() ? y : y.to(x.dtype());
}

Array softmax_rows_gradient(const Array& y, const Array& dy) {
  const Array result = widened(y);
  const Array from = widened(dy);
  Array dx = Array::empty(result.shape(), result.dtype(), result.device());
  launch("softmax_gradient", {&result, &from}, {&dx}, [](LaunchArrays in, LaunchArrays out) {
    RowLoops("softmax", in[0]).softmax_gradient(in[0], in[1], out[0]);
  });
  return dx.to(y.dtype());
}

Array log_softmax_rows_gradient(const Array& y, const Array& dy) {
  const Array result = widened(y);
  const Array from = widened(dy);
  Array dx = Array::empty(result.shape(), result.dtype(), result.device());
  launch("log_softmax_gradient", {&result, &from}, {&dx}, [](LaunchArrays in, LaunchArrays out) {
    RowLoops("log_softmax", in[0]).log_softmax_gradient(in[0], in[1], out[0]);
  });
  return dx.to(y.dtype());
}

}  // namespace weft
