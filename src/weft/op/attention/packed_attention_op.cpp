// packed_attention: attention on the queries, keys and values of one array.
#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/attention/attention.h"
#include "weft/op/arithmetic.h"
#include "weft/op/attention.h"
#include "weft/op/attention/attention_run.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void check_packed_attention(const Tensor& qkv, const AttentionHeads& heads,
                            const AttentionOptions& options) {
  check_floating("packed_attention", qkv);
  const std::int64_t parts = heads.heads + 2 * heads.kv_heads;
  if (heads.heads < 1 || heads.kv_heads < 1 || heads.heads % heads.kv_heads != 0) {
    throw_operand("packed_attention", "heads that a number of key heads divides",
                  std::to_string(heads.heads) + " and " + std::to_string(heads.kv_heads));
  }
  if (qkv.ndim() != 3 || qkv.dim(2) % parts != 0) {
    throw_operand("packed_attention", "[B, T, " + std::to_string(parts) + " D]",
                  to_string(qkv.shape()));
  }
  if (options.mask.defined()) throw_operand("packed_attention", "no mask", "one");
}

}  // namespace

Tensor packed_attention(const Tensor& qkv, const AttentionHeads& heads,
                        const AttentionOptions& options) {
  check_packed_attention(qkv, heads, options);
  if (!attention_takes(qkv.dtype())) {
    return cast(packed_attention(cast(qkv, DType::kF32), heads, options), qkv.dtype());
  }
  const Array dense = qkv.array().strided().contiguous();
  const PackedHeads packed{heads.heads, heads.kv_heads};
  const std::int64_t width = qkv.dim(2) / (heads.heads + 2 * heads.kv_heads);
  const AttentionRun run = attention_run("packed_attention", options, width);
  const Array stream = attention_stream(options, qkv.device());
  const AttentionResult result = packed_attention_forward(dense, packed, stream, run);
  Array y = result.output.reshape({qkv.dim(0), qkv.dim(1), heads.heads * width});
  if (op_tracing()) {
    trace_attributes(
        "packed_attention",
        {{"heads", {static_cast<double>(heads.heads), static_cast<double>(heads.kv_heads)}},
         {"causal", {options.causal ? 1.0 : 0.0}},
         {"causal_offset", {static_cast<double>(options.causal_offset)}},
         {"scale", {options.scale ? *options.scale : 0.0}},
         {"dropout", {options.dropout}},
         {"mask", {}, options.mask}});
  }
  return record(
      "packed_attention", std::move(y), {&qkv},
      [dense, packed, stream, run, result](const Array& dy, const InputGradients& dx) {
        const Array rows = dy.strided().contiguous().reshape(result.output.shape());
        dx.add(0, packed_attention_backward(dense, packed, stream, run, result, rows));
      },
      [dense, heads, width, stream, run](const Tensor& dy, const TensorGradients& dx) {
        const Composition attend = attention_composition(Array(), stream, run);
        const auto compose = [&](const std::vector<Tensor>& in) {
          const auto part = [&](std::int64_t first, std::int64_t count) {
            const Tensor columns = slice(in[0], 2, first * width, (first + count) * width);
            return transpose(reshape(columns, {in[0].dim(0), in[0].dim(1), count, width}), 1, 2);
          };
          const Tensor attended = attend({part(0, heads.heads), part(heads.heads, heads.kv_heads),
                                          part(heads.heads + heads.kv_heads, heads.kv_heads)});
          return reshape(transpose(attended, 1, 2), dy.shape());
        };
        add_composed_gradients(compose, {&dense, 1}, dy, dx);
      });
}

// Copies heads [first, first + count) out of qkv to [B, count, T, D].
static Array part_of(const Array& qkv, std::int64_t width, std::int64_t first, std::int64_t count) {
  return qkv.slice(2, first * width, (first + count) * width)
      .reshape({qkv.dim(0), qkv.dim(1), count, width})
      .transpose(1, 2)
      .contiguous();
}

static OpSample packed_attention_sample(const char* name, const Shape& shape,
                                        const AttentionHeads& heads,
                                        const AttentionOptions& options) {
  return {
      name,
      {sample_values(shape, 187)},
      [=](std::span<const Tensor> in) { return packed_attention(in[0], heads, options); },
      [=](std::span<const Array> in) {
        const std::int64_t width = shape[2] / (heads.heads + 2 * heads.kv_heads);
        const Array y = attention_reference(
            part_of(in[0], width, 0, heads.heads),
            part_of(in[0], width, heads.heads, heads.kv_heads),
            part_of(in[0], width, heads.heads + heads.kv_heads, heads.kv_heads), options);
        return y.transpose(1, 2).contiguous().reshape({shape[0], shape[1], heads.heads * width});
      }};
}

static std::vector<OpSample> packed_attention_samples() {
  AttentionOptions causal;
  causal.causal = true;
  AttentionOptions dropped = causal;
  dropped.dropout = 0.25;
  dropped.dropout_words = Array::from(std::vector<std::int64_t>{4, 5, 7}, {3});
  return {packed_attention_sample("2 heads", {2, 5, 18}, {2, 2}, causal),
          packed_attention_sample("4 heads on 2", {2, 3, 16}, {4, 2}, causal),
          packed_attention_sample("not causal, dropout", {2, 7, 12}, {2, 2}, dropped),
          packed_attention_sample("more than a block", {1, 27, 15}, {1, 1}, causal),
          packed_attention_sample("one element", {1, 1, 3}, {1, 1}, {}),
          packed_attention_sample("no tokens", {2, 0, 12}, {2, 2}, causal)};
}
extern const OpDef packed_attention_op = {"packed_attention", packed_attention_samples};

}  // namespace weft
