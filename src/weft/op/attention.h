// Scaled dot product attention and the rotary encoding of places.
//
// Only second gradients make an array of tokens x tokens; kernel/attention/attention.h has the
// method. bf16 and f16 are computed in f32 and rounded at the end. Fails: std::invalid_argument
// where shapes or types do not fit.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/autograd/tensor.h"

namespace weft {

struct AttentionOptions {
  // Query i reads keys [0, i + causal_offset] only; the offset is the number of keys that are older
  // than the first query (those of a cache).
  bool causal = false;
  std::int64_t causal_offset = 0;
  // Factor of the scores; 1 / sqrt(D) if not given.
  std::optional<double> scale = {};
  // Broadcasts to [B, heads, queries, keys]: kBool, true where a key may be read, or of q's type,
  // added to the scaled scores. Takes no gradient. A query without any key gives 0.
  Array mask = {};
  // Dropout of the attention weights, in [0, 1). With it, `dropout_words` is Module::step_words().
  double dropout = 0.0;
  Array dropout_words = {};
  std::uint32_t dropout_layer = 0;
};

// q [B, heads, queries, D], k and v [B, kv_heads, keys, D], kv_heads a divisor of heads: groups of
// query heads share a key head. Returns [B, heads, queries, D], whose memory order is [B, queries,
// heads, D], so that joining the heads is a view.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});

struct AttentionHeads {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
};

// Self-attention on the output of one linear layer: the heads' queries, keys and values side by
// side, [B, T, (heads + 2 kv_heads) D] to [B, T, heads D]. No mask. Reads and writes in place of
// slices.
Tensor packed_attention(const Tensor& qkv, const AttentionHeads& heads,
                        const AttentionOptions& options = {});

struct RotaryOptions {
  double base = 10000.0;
  // The place of the first token.
  std::int64_t first_place = 0;
};

// x [B, T, heads, D], D even: turns the pair (x[i], x[i + D / 2]) of the token at place p by the
// angle p base^(-2 i / D).
Tensor rotary(const Tensor& x, const RotaryOptions& options = {});

}  // namespace weft
