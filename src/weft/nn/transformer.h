// Transformer blocks, pre-norm: x + attention(norm(x)), then x + mlp(norm(x)).
//
// IMPLEMENTATION: Vaswani et al., "Attention is all you need", NeurIPS 2017; the GPT block as in
// Radford et al., 2019 (names as Hugging Face has them; its weights are [inputs, outputs], ours
// [outputs, inputs]); the LLaMA block as in Touvron et al., 2023: RMSNorm (Zhang, Sennrich, 2019),
// rotary places, SwiGLU (Shazeer, 2020), grouped queries.
#pragma once

#include <cstdint>

#include "weft/nn/attention.h"
#include "weft/nn/dropout.h"
#include "weft/nn/norm.h"

namespace weft {

// A block that can continue from cached tokens.
class TransformerBlock : public Module {
 public:
  // Records no history; adds the tokens of x [N, T, width] to the cache, or to that of their row.
  virtual Tensor forward_cached(const Tensor& x, KeyValueCaches caches) = 0;
};

struct GptBlockShape {
  std::int64_t width = 1;
  std::int64_t heads = 1;
  double dropout = 0.0;  // of attention weights and of branches, in training
};

// Parts ln_1, attn, ln_2, mlp.c_fc [4 width], mlp.c_proj; GELU.
class GptBlock : public TransformerBlock {
 public:
  explicit GptBlock(const GptBlockShape& shape);
  Tensor forward(const Tensor& x) override;
  Tensor forward_cached(const Tensor& x, KeyValueCaches caches) override;

 private:
  Module* norm1_;
  GptAttention* attention_;
  Module* norm2_;
  Module* mlp_;
  Dropout* drop1_ = nullptr;
  Dropout* drop2_ = nullptr;
};

struct LlamaBlockShape {
  LlamaAttentionShape attention = {};
  std::int64_t hidden = 1;  // values between the two layers of the gated unit
};

// Parts input_layernorm, self_attn, post_attention_layernorm, mlp.gate_proj, mlp.up_proj,
// mlp.down_proj.
class LlamaBlock : public TransformerBlock {
 public:
  explicit LlamaBlock(const LlamaBlockShape& shape);
  Tensor forward(const Tensor& x) override;
  Tensor forward_cached(const Tensor& x, KeyValueCaches caches) override;

 private:
  Module* norm1_;
  LlamaAttention* attention_;
  Module* norm2_;
  Module* mlp_;
};

// down_proj(silu(gate_proj(x)) * up_proj(x)), without biases.
class SwiGlu : public Module {
 public:
  SwiGlu(std::int64_t width, std::int64_t hidden);
  Tensor forward(const Tensor& x) override;

 private:
  Linear* gate_;
  Linear* up_;
  Linear* down_;
};

}  // namespace weft
