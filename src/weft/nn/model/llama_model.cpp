// llama: a small model in LLaMA's style: rotary places, RMSNorm, SwiGLU, grouped queries, no
// biases.
//
// IMPLEMENTATION: Touvron et al., "LLaMA: open and efficient foundation language models", 2023;
// grouped queries as in its second version. The hidden layer has 8/3 of the width, rounded up to a
// multiple of 32.
#include "weft/nn/text_model.h"

namespace weft {
namespace {

// Parts embed_tokens, layers.0, layers.1, ..., norm.
class Llama : public Module {
 public:
  Llama(const TextModelShape& shape, const ModelOptions& options) : shape_(shape) {
    tokens_ = &static_cast<Embedding&>(
        register_part("embed_tokens", std::make_unique<Embedding>(shape.vocabulary, shape.width)));
    auto blocks = std::make_unique<BlockList>(options.checkpoint_blocks);
    const LlamaBlockShape block{
        {.width = shape.width, .heads = shape.heads, .kv_heads = shape.kv_heads},
        (shape.width * 8 / 3 + 31) / 32 * 32};
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      blocks->add(std::make_unique<LlamaBlock>(block));
    }
    blocks_ = &static_cast<BlockList&>(register_part("layers", std::move(blocks)));
    norm_ = &register_part("norm", std::make_unique<RMSNorm>(Shape{shape.width}));
  }

  Tensor forward(const Tensor& tokens) override {
    check_tokens("llama", tokens, 0, shape_.context);
    return norm_->forward(blocks_->forward(tokens_->forward(tokens)));
  }
  Tensor forward_cached(const Tensor& tokens, TextCaches caches) {
    check_tokens("llama", tokens, caches, shape_.context);
    return norm_->forward(blocks_->forward_cached(tokens_->forward(tokens), caches));
  }

 private:
  TextModelShape shape_;
  Embedding* tokens_;
  BlockList* blocks_;
  Module* norm_;
};

std::unique_ptr<Module> make_llama(const ModelOptions& options) {
  return std::make_unique<HeadedLanguageModel<Llama>>("model", text_model_shape("llama", options),
                                                      options);
}

}  // namespace

extern const ModelDef llama_model = {"llama",
                                     "Small LLaMA: rotary places, RMSNorm, SwiGLU, grouped queries",
                                     make_llama, ModelInput::kTokens};

}  // namespace weft
