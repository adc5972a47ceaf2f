// Scaled dot product attention, softmax(q k^T scale + mask) v, without the tokens x tokens matrix.
//
// IMPLEMENTATION: Dao, Fu, Ermon, Rudra, Re, "FlashAttention", NeurIPS 2022, algorithms 1 and 4:
// scores are made block by block, the softmax is updated online (Milakov, Gimelshein, "Online
// normalizer calculation for softmax", 2018), and only one log-sum of exponentials per query is
// kept; the gradient computes the scores again. Differs: blocks fit the processor's caches, in
// blocks on the diagonal only tiles with keys to read are computed, exponentials are powers of 2,
// and a thread owns whole key heads, so that nothing is summed across threads. Flops: 4 B H Tq Tk
// D, in the gradient 10, halved if causal; memory besides inputs and outputs: O(T D) per thread.
// Arrays are [B, tokens, heads, D] of any strides but 1 on the last axis. Query head h reads key
// head h / (heads / kv_heads) (Ainslie et al., "GQA", EMNLP 2023).
// f32, f64 in plain loops, and bf16: that is read and written as it is, scores, shares' sums and
// all accumulators are f32, and where the processor multiplies pairs of bf16, shares and the
// gradients of scores are rounded to bf16 for the products with them, as FlashAttention does.
// Deterministic: the same bits for any thread count.
// Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

struct AttentionRun {
  double scale = 1.0;
  // Query i reads keys [0, i + causal_offset] only.
  bool causal = false;
  std::int64_t causal_offset = 0;
  double dropout = 0.0;  // probability that a share is zeroed, in [0, 1)
};

struct AttentionResult {
  Array output;  // [B, queries, heads, D], contiguous
  // [B, heads, queries], f32 for bf16; infinity where a query reads no key, whose output is 0.
  Array log_sums;
};

// What queries are answered from. `mask`: undefined or [B, heads, queries, keys] of any strides;
// kBool (true: may be read) or of q's type (added to the scaled scores). `stream`: of
// kernel/random/dropout.h where run.dropout > 0; query i of head h of item b has row (first row +
// b) * heads * queries + h * queries + i.
struct AttentionInputs {
  Array q;
  Array k;
  Array v;
  Array mask;
  Array stream;
};

AttentionResult attention_forward(const AttentionInputs& inputs, const AttentionRun& run);

struct AttentionGradient {
  Array q;  // [B, queries, heads, D] contiguous; k and v likewise
  Array k;
  Array v;
};

// `dy` has the shape of the output, any strides but 1 on the last axis.
AttentionGradient attention_backward(const AttentionInputs& inputs, const AttentionRun& run,
                                     const AttentionResult& result, const Array& dy);

// Heads of queries, then of keys, then of values side by side: [B, tokens, (heads + 2 kv_heads) D].
struct PackedHeads {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
};

AttentionResult packed_attention_forward(const Array& qkv, const PackedHeads& heads,
                                         const Array& stream, const AttentionRun& run);
// The gradient of qkv, contiguous.
Array packed_attention_backward(const Array& qkv, const PackedHeads& heads, const Array& stream,
                                const AttentionRun& run, const AttentionResult& result,
                                const Array& dy);

}  // namespace weft
