// Operators that reduce axes, and losses.
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "weft/io/onnx/onnx_operator.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;

using Reduction = Tensor (*)(const Tensor& x, const Axes& axes, bool keepdims);

// The axes are an attribute, from version 13 (ReduceSum) or 18 on an input; none: all.
template <Reduction kReduce>
Tensors reduced(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  std::vector<int> axes = call.axes_of("axes", 1, x.ndim()).value_or(std::vector<int>());
  const bool keepdims = call.integer("keepdims", 1) != 0;
  if (axes.empty()) {
    if (call.integer("noop_with_empty_axes", 0) != 0) return {x};
    if (x.ndim() == 0) return {kReduce(reshape(x, {1}), {0}, false)};
    axes.resize(static_cast<std::size_t>(x.ndim()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  // Sums of narrow integers keep their type in ONNX.
  return {cast(kReduce(x, axes, keepdims), x.dtype())};
}

Tensor sum_of_absolute(const Tensor& x, const Axes& axes, bool keepdims) {
  return sum(abs(x), axes, keepdims);
}
Tensor sum_of_squares(const Tensor& x, const Axes& axes, bool keepdims) {
  return sum(square(x), axes, keepdims);
}
Tensor euclidean(const Tensor& x, const Axes& axes, bool keepdims) {
  return sqrt(sum_of_squares(x, axes, keepdims));
}
Tensor log_sum(const Tensor& x, const Axes& axes, bool keepdims) {
  return log(sum(x, axes, keepdims));
}

using Position = Tensor (*)(const Tensor& x, int axis, bool keepdims);

template <Position kPosition>
Tensors position(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const int axis = call.axis(call.integer("axis", 0), x.ndim());
  const bool keepdims = call.integer("keepdims", 1) != 0;
  if (call.integer("select_last_index", 0) == 0) return {kPosition(x, axis, keepdims)};
  const Tensor from_end = kPosition(flip(x, {axis}), axis, keepdims);
  return {add(neg(from_end), static_cast<double>(x.dim(axis) - 1))};
}

// Before version 13 the axes from `axis` on count as one row.
template <Tensor (*kOp)(const Tensor&, int)>
Tensors by_rows(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const bool is_old = call.opset() < 13;
  const int axis = call.axis(call.integer("axis", is_old ? 1 : -1), x.ndim());
  if (!is_old) return {kOp(x, axis)};
  std::int64_t rows = 1;
  for (int i = 0; i < axis; ++i) rows *= x.dim(i);
  const std::int64_t columns = rows == 0 ? 0 : x.size() / rows;
  return {reshape(kOp(reshape(x, {rows, columns}), 1), x.shape())};
}

Tensor hardmax(const Tensor& x, int axis) {
  Shape line = x.shape();
  for (int i = 0; i < x.ndim(); ++i) {
    if (i != axis) line[i] = 1;
  }
  const Tensor places = reshape(arange(x.dim(axis)), line);
  return cast(eq(argmax(x, axis, true), places), x.dtype());
}

// The mean of all weights' losses, their sum, or each.
Tensor collected(const OnnxCall& call, const Tensor& losses, const Tensor& weights) {
  const std::string reduction = call.text("reduction", "mean");
  if (reduction == "none") return losses;
  if (reduction == "sum") return sum(losses);
  if (reduction != "mean") call.fail("reduction mean, sum or none", reduction);
  return div(sum(losses), sum(weights));
}

// -weight * log probability of each target; `log_shares` [N, C, ...], targets [N, ...].
Tensor negative_log_likelihood(const OnnxCall& call, const Tensor& log_shares) {
  const Tensor targets = cast(call.in(1), DType::kI64);
  if (log_shares.ndim() < 2 || targets.ndim() != log_shares.ndim() - 1) {
    call.fail("scores [N, C, ...] and targets [N, ...]", to_string(targets.shape()));
  }
  const std::int64_t classes = log_shares.dim(1);
  const OnnxAttribute* const ignored = call.node().find("ignore_index");
  Tensor kept = full(targets.shape(), 1.0, DType::kBool);
  if (ignored != nullptr) kept = ne(targets, static_cast<double>(ignored->integer));
  const Tensor safe = where(kept, targets, 0.0);
  const auto values = safe.array().to_vector<std::int64_t>();
  for (const std::int64_t value : values) {
    if (value < 0 || value >= classes) {
      call.fail(fmt::format("targets in [0, {})", classes), fmt::format("{}", value));
    }
  }
  const Tensor picked = squeeze(gather(log_shares, 1, unsqueeze(safe, 1)), 1);
  Tensor weights = ones_like(picked);
  if (call.has(2)) {
    weights = reshape(index_select(call.in(2), 0, reshape(safe, {safe.size()})), safe.shape());
  }
  weights = where(kept, weights, 0.0);
  return collected(call, neg(mul(picked, weights)), weights);
}

Tensors nll_loss(const OnnxCall& call) { return {negative_log_likelihood(call, call.in(0))}; }

Tensors softmax_cross_entropy(const OnnxCall& call) {
  if (call.in(0).ndim() < 2) call.fail("scores [N, C, ...]", to_string(call.in(0).shape()));
  const Tensor log_shares = log_softmax(call.in(0), 1);
  return {negative_log_likelihood(call, log_shares), log_shares};
}

Tensors matmul_of(const OnnxCall& call) { return {matmul(call.in(0), call.in(1))}; }

Tensors gemm(const OnnxCall& call) {
  const auto operand = [&](int index, const char* flag) {
    const Tensor& x = call.in(index);
    if (x.ndim() != 2) call.fail("matrices", to_string(x.shape()));
    return call.integer(flag, 0) != 0 ? transpose(x, 0, 1) : x;
  };
  Tensor y = matmul(operand(0, "transA"), operand(1, "transB"));
  const double alpha = call.number("alpha", 1.0);
  const double beta = call.number("beta", 1.0);
  if (alpha != 1.0) y = mul(y, alpha);
  if (call.has(2)) y = y + (beta == 1.0 ? call.in(2) : mul(call.in(2), beta));
  return {cast(y, call.in(0).dtype())};
}

Tensors einsum_of(const OnnxCall& call) {
  return {einsum(call.required("equation", OnnxAttributeKind::kText).text, call.inputs())};
}

constexpr OnnxOperator kReduceOps[] = {
    {"ArgMax", position<argmax>},
    {"ArgMin", position<argmin>},
    {"Einsum", einsum_of},
    {"Gemm", gemm},
    {"Hardmax", by_rows<hardmax>},
    {"LogSoftmax", by_rows<log_softmax>},
    {"MatMul", matmul_of},
    {"NegativeLogLikelihoodLoss", nll_loss},
    {"ReduceL1", reduced<sum_of_absolute>},
    {"ReduceL2", reduced<euclidean>},
    {"ReduceLogSum", reduced<log_sum>},
    {"ReduceLogSumExp", reduced<logsumexp>},
    {"ReduceMax", reduced<max>},
    {"ReduceMean", reduced<mean>},
    {"ReduceMin", reduced<min>},
    {"ReduceProd", reduced<prod>},
    {"ReduceSum", reduced<sum>},
    {"ReduceSumSquare", reduced<sum_of_squares>},
    {"Softmax", by_rows<softmax>},
    {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
};

}  // namespace

std::span<const OnnxOperator> onnx_reduce_ops() { return kReduceOps; }

}  // namespace weft
