// Attention layers: multi-head attention with PyTorch's parameters, and the causal self-attention
// of GPT and LLaMA models, with a cache of keys and values for generation. Fails:
// std::invalid_argument if sizes do not fit.
#pragma once

#include <cstdint>
#include <span>

#include "weft/nn/linear.h"
#include "weft/nn/module.h"
#include "weft/op/attention.h"

namespace weft {

struct MultiHeadAttentionShape {
  std::int64_t width = 1;
  std::int64_t heads = 1;
  bool bias = true;
  double dropout = 0.0;  // of the shares, in training
};

// Its parameters are in_proj_weight [3 width, width], in_proj_bias, out_proj.weight and
// out_proj.bias. The batch is the first axis.
class MultiHeadAttention : public Module {
 public:
  using Module::operator();
  explicit MultiHeadAttention(const MultiHeadAttentionShape& shape);
  // Self-attention without a mask, [N, T, width].
  Tensor forward(const Tensor& x) override;
  // query [N, Tq, width], key and value [N, Tk, width]. The option dropout is ignored.
  Tensor operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                    const AttentionOptions& options = {});

 private:
  AttentionOptions with_dropout(const AttentionOptions& options) const;
  // Rows [part * width, (part + 1) * width) of the input projection.
  Tensor project(const Tensor& x, std::int64_t part) const;

  MultiHeadAttentionShape shape_;
  Tensor weight_;
  Tensor bias_;
  Linear* out_;
};

// Keys and values of the tokens that a layer has processed, [N, kv_heads, room, D] with room for
// more; for generation. The room is 256 tokens at first, fewer where these would exceed 1 MiB but
// at least 16, and grows by doubling. A copy shares the memory: only one of the two may grow.
struct KeyValueCache {
  Array keys;
  Array values;
  std::int64_t tokens = 0;
};
// One for all rows of a batch, or one for each row; then the rows' lengths may differ, and each row
// gives the same bits as alone.
using KeyValueCaches = std::span<KeyValueCache* const>;

// The attention of GPT-2: parts c_attn (queries, keys and values by one matrix) and c_proj.
class GptAttention : public Module {
 public:
  GptAttention(std::int64_t width, std::int64_t heads, double dropout);
  Tensor forward(const Tensor& x) override;
  // Attends to the cached tokens as well, and adds those of x to the cache. It records no history.
  Tensor forward_cached(const Tensor& x, KeyValueCaches caches);

 private:
  std::int64_t heads_;
  double dropout_;
  Linear* in_;
  Linear* out_;
};

struct LlamaAttentionShape {
  std::int64_t width = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;  // divides heads
  double rotary_base = 10000.0;
};

// The attention of LLaMA: parts q_proj, k_proj, v_proj, o_proj without biases; rotary positions in
// queries and keys; groups of heads share keys and values.
class LlamaAttention : public Module {
 public:
  explicit LlamaAttention(const LlamaAttentionShape& shape);
  Tensor forward(const Tensor& x) override;
  Tensor forward_cached(const Tensor& x, KeyValueCaches caches);

 private:
  // Queries or keys y [N, T, heads * D] as [N, heads, T, D], rotated.
  Tensor turned(const Tensor& y, std::int64_t heads) const;

  LlamaAttentionShape shape_;
  Linear* q_;
  Linear* k_;
  Linear* v_;
  Linear* o_;
};

}  // namespace weft
