#include <algorithm>
#include <limits>

#include "weft/array/launch.h"
#include "weft/kernel/random/dropout.h"
#include "weft/op/arithmetic.h"
#include "weft/op/attention/attention_run.h"
#include "weft/op/compare.h"
#include "weft/op/matmul.h"
#include "weft/op/shape.h"
#include "weft/op/softmax.h"

namespace weft {
namespace {

// Scores that no softmax gives a share; finite, so that a query without keys has no NaN.
constexpr double kNever = -1e30;

// 1 where a query may read a key for its place, [queries, keys].
Array causal_shares(std::int64_t queries, std::int64_t keys, std::int64_t offset,
                    const Array& like) {
  Array shares = Array::zeros({queries, keys}, like.dtype(), like.device());
  for (std::int64_t i = 0; i < queries; ++i) {
    const std::int64_t count = std::clamp<std::int64_t>(i + offset + 1, 0, keys);
    if (count > 0) shares.select(0, i).slice(0, 0, count).fill(1.0);
  }
  return shares;
}

// What the shares [B, heads, queries, keys] are multiplied with.
Array dropout_factors(const Array& stream, double probability, const Shape& shape, DType dtype) {
  launch_host_read("second gradient of attention with dropout");
  Array rows = stream.to(Device::cpu()).clone();
  rows.data<std::int64_t>()[2] *= shape[1] * shape[2];
  const Array ones =
      Array::full({shape[0] * shape[1] * shape[2], shape[3]}, 1.0, dtype, stream.device());
  return dropout_rows(ones, rows.to(stream.device()), probability).reshape(shape);
}

// Scores and shares where `allowed` is 1; elsewhere none.
Tensor forbid(const Tensor& scores, const Array& allowed) {
  const Tensor keep(allowed);
  return scores * keep + (keep - 1.0) * -kNever;
}

Tensor compose_attention(const std::vector<Tensor>& in, const Array& mask, const Array& stream,
                         const AttentionRun& run) {
  const Tensor& q = in[0];
  const std::int64_t group = q.dim(1) / in[1].dim(1);
  const Tensor k = group == 1 ? in[1] : repeat_interleave(in[1], group, 1);
  const Tensor v = group == 1 ? in[2] : repeat_interleave(in[2], group, 1);
  Tensor scores = matmul(q, transpose(k, 2, 3)) * run.scale;
  Array allowed;
  if (run.causal) allowed = causal_shares(q.dim(2), k.dim(2), run.causal_offset, q.array());
  if (mask.defined() && mask.dtype() == DType::kBool) {
    const Array may = mask.to(q.dtype());
    allowed = allowed.defined() ? (Tensor(allowed) * Tensor(may)).array() : may;
  } else if (mask.defined()) {
    // -infinity says what false says; multiplied by a 0 of `allowed` it would be NaN.
    const Tensor added(mask);
    const Tensor may = ne(added, -std::numeric_limits<double>::infinity());
    scores = scores + where(may, added, 0.0);
    const Array read = may.array().to(q.dtype());
    allowed = allowed.defined() ? (Tensor(allowed) * Tensor(read)).array() : read;
  }
  if (allowed.defined()) scores = forbid(scores, allowed);
  Tensor shares = softmax(scores, -1);
  if (allowed.defined()) shares = shares * Tensor(allowed);
  if (run.dropout > 0 && shares.size() > 0) {
    shares = shares * Tensor(dropout_factors(stream, run.dropout, shares.shape(), q.dtype()));
  }
  return matmul(shares, v);
}

}  // namespace

Composition attention_composition(const Array& mask, const Array& stream, const AttentionRun& run) {
  return [=](const std::vector<Tensor>& in) {
    const DType dtype = in[0].dtype();
    if (size_of(dtype) >= sizeof(float)) return compose_attention(in, mask, stream, run);
    // Shares of 16 bits would not add up to 1.
    std::vector<Tensor> wide;
    wide.reserve(in.size());
    for (const Tensor& each : in) wide.push_back(cast(each, DType::kF32));
    const bool added = mask.defined() && mask.dtype() == dtype;
    return cast(compose_attention(wide, added ? mask.to(DType::kF32) : mask, stream, run), dtype);
  };
}

}  // namespace weft
