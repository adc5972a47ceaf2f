#include "weft/kernel/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "weft/array/launch.h"
#include "weft/kernel/attention/attention_problem.h"
#include "weft/kernel/core/rows.h"

namespace weft {
namespace {

template <class T>
void dropout_row(const DropoutStream& stream, std::int64_t row, std::int64_t key,
                 std::int64_t count, T* out) {
  const double words = std::floor(stream.probability * 4294967296.0 + 0.5);
  const DropoutRow place{stream.first_row + static_cast<std::uint64_t>(row), stream.key,
                         static_cast<std::uint32_t>(std::min(words, 4294967295.0)),
                         1.0 / (1.0 - stream.probability)};
  // The loop writes value i of the row to out[i].
  row_kernels().dropout[float_index("attention", dtype_of<T>())](place, nullptr, out - key, key,
                                                                 key + count);
}

// What both passes read.
struct Operands {
  const Array& q;
  const Array& k;
  const Array& v;
  const Array& mask;
  const Array& stream;
};

// Operations of `products` matrix products over the pairs of a query and a key that it reads.
double attention_flops(const Operands& in, const AttentionRun& run, int products) {
  const std::int64_t queries = in.q.dim(1);
  const std::int64_t keys = in.k.dim(1);
  double pairs = static_cast<double>(queries) * static_cast<double>(keys);
  if (run.causal) {
    pairs = 0;
    for (std::int64_t i = 0; i < queries; ++i) {
      pairs += static_cast<double>(
          std::clamp<std::int64_t>(i + run.causal_offset + 1, std::int64_t{0}, keys));
    }
  }
  return 2.0 * products * pairs * static_cast<double>(in.q.dim(0) * in.q.dim(2) * in.q.dim(3));
}

template <class T>
void solve_attention(const Operands& in, const AttentionRun& run, LaunchArrays out) {
  solve_attention(AttentionProblem<T>(in.q, in.k, in.v, in.mask, in.stream, run),
                  AttentionOutputs<T>{output_heads_of<T>(out[0]), out[1].data<LogSum<T>>()});
}

void attention_forward_body(const Operands& in, const AttentionRun& run, LaunchArrays out) {
  launch_flops(attention_flops(in, run, 2));
  const DType dtype = out[0].dtype();
  if (dtype == DType::kF64) return solve_attention<double>(in, run, out);
  if (dtype == DType::kBF16) return solve_attention<BFloat16>(in, run, out);
  solve_attention<float>(in, run, out);
}

// What the forward pass left, and the gradient of its output.
struct Results {
  const Array& output;
  const Array& log_sums;
  const Array& dy;
};

template <class T>
void solve_attention_gradient(const Operands& in, const AttentionRun& run, const Results& results,
                              Array& dq, Array& dk, Array& dv) {
  solve_attention_gradient(
      AttentionProblem<T>(in.q, in.k, in.v, in.mask, in.stream, run),
      AttentionGradients<T>{heads_of<T>(results.output), results.log_sums.data<LogSum<T>>(),
                            heads_of<T>(results.dy), output_heads_of<T>(dq), output_heads_of<T>(dk),
                            output_heads_of<T>(dv)});
}

void attention_backward_body(const Operands& in, const AttentionRun& run, const Results& results,
                             Array& dq, Array& dk, Array& dv) {
  // The scores again, and the gradients of values, shares, queries and keys.
  launch_flops(attention_flops(in, run, 5));
  const auto solve = dq.dtype() == DType::kF64    ? solve_attention_gradient<double>
                     : dq.dtype() == DType::kBF16 ? solve_attention_gradient<BFloat16>
                                                  : solve_attention_gradient<float>;
  solve(in, run, results, dq, dk, dv);
}

// Queries, keys and values within qkv, [B, tokens, heads, D] each.
struct AttentionParts {
  Array q;
  Array k;
  Array v;
};

AttentionParts parts_of(const Array& qkv, const PackedHeads& heads) {
  const std::int64_t width = qkv.dim(2) / (heads.heads + 2 * heads.kv_heads);
  const std::int64_t row = qkv.strides()[1];
  const auto part = [&](std::int64_t first, std::int64_t count) {
    return qkv.as_strided({qkv.dim(0), qkv.dim(1), count, width}, {qkv.strides()[0], row, width, 1},
                          qkv.size() == 0 ? 0 : first * width);
  };
  return {part(0, heads.heads), part(heads.heads, heads.kv_heads),
          part(heads.heads + heads.kv_heads, heads.kv_heads)};
}

// As `like` has its values.
AttentionResult empty_result(const Shape& shape, const Array& like) {
  const DType log_sums = like.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  return {Array::empty(shape, like.dtype(), like.device()),
          Array::empty({shape[0], shape[2], shape[1]}, log_sums, like.device())};
}

}  // namespace

AttentionMask::AttentionMask(const Array& mask) {
  if (!mask.defined()) return;
  WEFT_CHECK(mask.ndim() == 4);
  data_ = static_cast<const std::uint8_t*>(mask.raw_data());
  steps_ = mask.strides();
  dtype_ = mask.dtype();
}

void attention_dropout(const DropoutStream& stream, std::int64_t row, std::int64_t key,
                       std::int64_t count, float* out) {
  dropout_row(stream, row, key, count, out);
}
void attention_dropout(const DropoutStream& stream, std::int64_t row, std::int64_t key,
                       std::int64_t count, double* out) {
  dropout_row(stream, row, key, count, out);
}

AttentionResult attention_forward(const AttentionInputs& inputs, const AttentionRun& run) {
  const auto& [q, k, v, mask, stream] = inputs;
  AttentionResult result = empty_result(q.shape(), q);
  launch("attention", {&q, &k, &v, &mask, &stream}, {&result.output, &result.log_sums},
         [run](LaunchArrays in, LaunchArrays out) {
           attention_forward_body({in[0], in[1], in[2], in[3], in[4]}, run, out);
         });
  return result;
}

AttentionGradient attention_backward(const AttentionInputs& inputs, const AttentionRun& run,
                                     const AttentionResult& result, const Array& dy) {
  const auto& [q, k, v, mask, stream] = inputs;
  AttentionGradient gradient{Array::empty(q.shape(), q.dtype(), q.device()),
                             Array::empty(k.shape(), q.dtype(), q.device()),
                             Array::empty(v.shape(), q.dtype(), q.device())};
  launch("attention_gradient", {&q, &k, &v, &mask, &stream, &result.output, &result.log_sums, &dy},
         {&gradient.q, &gradient.k, &gradient.v}, [run](LaunchArrays in, LaunchArrays out) {
           attention_backward_body({in[0], in[1], in[2], in[3], in[4]}, run, {in[5], in[6], in[7]},
                                   out[0], out[1], out[2]);
         });
  return gradient;
}

AttentionResult packed_attention_forward(const Array& qkv, const PackedHeads& heads,
                                         const Array& stream, const AttentionRun& run) {
  const std::int64_t width = qkv.dim(2) / (heads.heads + 2 * heads.kv_heads);
  AttentionResult result = empty_result({qkv.dim(0), qkv.dim(1), heads.heads, width}, qkv);
  launch("attention", {&qkv, &stream}, {&result.output, &result.log_sums},
         [run, heads](LaunchArrays in, LaunchArrays out) {
           const AttentionParts parts = parts_of(in[0], heads);
           const Array none;
           attention_forward_body({parts.q, parts.k, parts.v, none, in[1]}, run, out);
         });
  return result;
}

Array packed_attention_backward(const Array& qkv, const PackedHeads& heads, const Array& stream,
                                const AttentionRun& run, const AttentionResult& result,
                                const Array& dy) {
  Array gradient = Array::empty(qkv.shape(), qkv.dtype(), qkv.device());
  launch("attention_gradient", {&qkv, &stream, &result.output, &result.log_sums, &dy}, {&gradient},
         [run, heads](LaunchArrays in, LaunchArrays out) {
           const AttentionParts parts = parts_of(in[0], heads);
           AttentionParts to = parts_of(out[0], heads);
           const Array none;
           attention_backward_body({parts.q, parts.k, parts.v, none, in[1]}, run,
                                   {in[2], in[3], in[4]}, to.q, to.k, to.v);
         });
  return gradient;
}

}  // namespace weft
