// Operations that treat each row along one axis separately (softmax and similar ones).
//
// For op/*_op.cpp: the kernels work along the last axis, with which the requested axis is swapped.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {

struct RowKernel {
  const char* name;
  // Along the last axis, contiguous.
  Array (*forward)(const Array& x);
  // From the result and its gradient.
  Array (*gradient)(const Array& y, const Array& dy);
  // The same with operations along `axis`.
  Tensor (*tensor_gradient)(const Tensor& y, const Tensor& dy, int axis);
};

inline Tensor apply_rows(const RowKernel& kernel, const Tensor& x, int axis) {
  check_floating(kernel.name, x);
  if (x.ndim() == 0) return reshape(apply_rows(kernel, reshape(x, {1}), axis), {});
  const int at = normalize_axis(kernel.name, axis, x.ndim());
  const bool is_last = at == x.ndim() - 1;
  const Array rows = is_last && x.array().is_strided()
                         ? kernel.forward(x.array())
                         : kernel.forward(x.array().strided().transpose(at, -1));
  if (op_tracing()) trace_attributes(kernel.name, {{"axis", {static_cast<double>(at)}}});
  return record(
      kernel.name, is_last ? rows : rows.transpose(at, -1), {&x},
      [rows, at, gradient = kernel.gradient](const Array& dy, const InputGradients& dx) {
        dx.add(0, gradient(rows, dy.strided().transpose(at, -1)).transpose(at, -1));
      },
      [rows, at, gradient = kernel.tensor_gradient](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, gradient(dx.output(rows.transpose(at, -1)), dy, at));
      });
}

// Samples along several axes; `reference` turns the values of one row into the results.
std::vector<OpSample> row_samples(Tensor (*op)(const Tensor& x, int axis),
                                  void (*reference)(std::span<double> line));

}  // namespace weft
