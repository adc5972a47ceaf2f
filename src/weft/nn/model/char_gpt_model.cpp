// char_gpt: a GPT for short alphabets: learned places, pre-norm blocks, a head without bias.
//
// IMPLEMENTATION: Radford, Wu, Child, Luan, Amodei, Sutskever, "Language models are unsupervised
// multitask learners", 2019, without tied weights; parameters start as PyTorch's layers do.
#include "weft/nn/text_model.h"
#include "weft/op/arithmetic.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// Parts wte, wpe, h.0, h.1, ..., ln_f.
class CharGpt : public Module {
 public:
  CharGpt(const TextModelShape& shape, const ModelOptions& options) : shape_(shape) {
    const double dropout = options.dropout ? 0.1 : 0.0;
    tokens_ = &static_cast<Embedding&>(
        register_part("wte", std::make_unique<Embedding>(shape.vocabulary, shape.width)));
    places_ = &static_cast<Embedding&>(
        register_part("wpe", std::make_unique<Embedding>(shape.context, shape.width)));
    auto blocks = std::make_unique<BlockList>(options.checkpoint_blocks);
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      blocks->add(std::make_unique<GptBlock>(GptBlockShape{shape.width, shape.heads, dropout}));
    }
    blocks_ = &static_cast<BlockList&>(register_part("h", std::move(blocks)));
    norm_ = &register_part("ln_f", std::make_unique<LayerNorm>(Shape{shape.width}));
    if (options.dropout) drop_ = &register_part("drop", std::make_unique<Dropout>(dropout));
  }

  Tensor forward(const Tensor& tokens) override {
    check_tokens("char_gpt", tokens, 0, shape_.context);
    Tensor x = tokens_->forward(tokens) + slice(places_->weight(), 0, 0, tokens.dim(1));
    if (drop_ != nullptr) x = drop_->forward(x);
    return norm_->forward(blocks_->forward(x));
  }
  Tensor forward_cached(const Tensor& tokens, TextCaches caches) {
    check_tokens("char_gpt", tokens, caches, shape_.context);
    Array places =
        Array::empty({static_cast<std::int64_t>(caches.size()), tokens.dim(1)}, DType::kI64);
    std::int64_t* next = places.data<std::int64_t>();
    for (const TextCache* const cache : caches) {
      for (std::int64_t i = 0; i < tokens.dim(1); ++i) *next++ = cache->tokens + i;
    }
    const Tensor x =
        tokens_->forward(tokens) + places_->forward(Tensor(places.to(tokens.device())));
    return norm_->forward(blocks_->forward_cached(x, caches));
  }

 private:
  TextModelShape shape_;
  Embedding* tokens_;
  Embedding* places_;
  BlockList* blocks_;
  Module* norm_;
  Module* drop_ = nullptr;
};

std::unique_ptr<Module> make_char_gpt(const ModelOptions& options) {
  return std::make_unique<HeadedLanguageModel<CharGpt>>(
      "transformer", text_model_shape("char_gpt", options), options);
}

}  // namespace

extern const ModelDef char_gpt_model = {"char_gpt",
                                        "GPT for characters: learned places, pre-norm blocks, GELU",
                                        make_char_gpt, ModelInput::kTokens};

}  // namespace weft
