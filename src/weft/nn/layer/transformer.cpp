#include "weft/nn/transformer.h"

#include "weft/nn/layer/sizes.h"
#include "weft/op/activation.h"
#include "weft/op/arithmetic.h"

namespace weft {
namespace {

// c_proj(gelu(c_fc(x))).
class GptMlp : public Module {
 public:
  explicit GptMlp(std::int64_t width)
      : up_(&static_cast<Linear&>(
            register_part("c_fc", std::make_unique<Linear>(width, 4 * width)))),
        down_(&static_cast<Linear&>(
            register_part("c_proj", std::make_unique<Linear>(4 * width, width)))) {}
  Tensor forward(const Tensor& x) override { return down_->forward(gelu(up_->forward(x))); }

 private:
  Linear* up_;
  Linear* down_;
};

}  // namespace

GptBlock::GptBlock(const GptBlockShape& shape) {
  require_positive("gpt_block", {{"width", shape.width}, {"heads", shape.heads}});
  norm1_ = &register_part("ln_1", std::make_unique<LayerNorm>(Shape{shape.width}));
  attention_ = &static_cast<GptAttention&>(register_part(
      "attn", std::make_unique<GptAttention>(shape.width, shape.heads, shape.dropout)));
  norm2_ = &register_part("ln_2", std::make_unique<LayerNorm>(Shape{shape.width}));
  mlp_ = &register_part("mlp", std::make_unique<GptMlp>(shape.width));
  if (shape.dropout == 0.0) return;
  drop1_ = &static_cast<Dropout&>(
      register_part("attn_dropout", std::make_unique<Dropout>(shape.dropout)));
  drop2_ = &static_cast<Dropout&>(
      register_part("mlp_dropout", std::make_unique<Dropout>(shape.dropout)));
}

Tensor GptBlock::forward(const Tensor& x) {
  Tensor change = attention_->forward(norm1_->forward(x));
  if (drop1_ != nullptr) change = drop1_->forward(change);
  const Tensor y = x + change;
  change = mlp_->forward(norm2_->forward(y));
  if (drop2_ != nullptr) change = drop2_->forward(change);
  return y + change;
}

Tensor GptBlock::forward_cached(const Tensor& x, KeyValueCaches caches) {
  const NoGrad no_grad;
  const Tensor y = x + attention_->forward_cached(norm1_->forward(x), caches);
  return y + mlp_->forward(norm2_->forward(y));
}

SwiGlu::SwiGlu(std::int64_t width, std::int64_t hidden) {
  require_positive("swiglu", {{"width", width}, {"hidden", hidden}});
  const auto part = [&](const char* name, std::int64_t inputs, std::int64_t outputs) {
    return &static_cast<Linear&>(
        register_part(name, std::make_unique<Linear>(inputs, outputs, false)));
  };
  gate_ = part("gate_proj", width, hidden);
  up_ = part("up_proj", width, hidden);
  down_ = part("down_proj", hidden, width);
}

Tensor SwiGlu::forward(const Tensor& x) {
  return down_->forward(silu(gate_->forward(x)) * up_->forward(x));
}

LlamaBlock::LlamaBlock(const LlamaBlockShape& shape) {
  const std::int64_t width = shape.attention.width;
  require_positive("llama_block", {{"width", width}, {"hidden", shape.hidden}});
  norm1_ = &register_part("input_layernorm", std::make_unique<RMSNorm>(Shape{width}));
  attention_ = &static_cast<LlamaAttention&>(
      register_part("self_attn", std::make_unique<LlamaAttention>(shape.attention)));
  norm2_ = &register_part("post_attention_layernorm", std::make_unique<RMSNorm>(Shape{width}));
  mlp_ = &register_part("mlp", std::make_unique<SwiGlu>(width, shape.hidden));
}

Tensor LlamaBlock::forward(const Tensor& x) {
  const Tensor y = x + attention_->forward(norm1_->forward(x));
  return y + mlp_->forward(norm2_->forward(y));
}

Tensor LlamaBlock::forward_cached(const Tensor& x, KeyValueCaches caches) {
  const NoGrad no_grad;
  const Tensor y = x + attention_->forward_cached(norm1_->forward(x), caches);
  return y + mlp_->forward(norm2_->forward(y));
}

}  // namespace weft
