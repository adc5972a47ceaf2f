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
class Transformer : public Module {
 public:
  Transformer(const TextModelShape& shape, const ModelOptions& options) : shape_(shape) {
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
    Tensor x = embed(tokens, 0);
    if (drop_ != nullptr) x = drop_->forward(x);
    return norm_->forward(blocks_->forward(x));
  }
  Tensor forward_cached(const Tensor& tokens, TextCache& cache) {
    const std::int64_t first = cache.empty() ? 0 : cache[0].tokens();
    return norm_->forward(blocks_->forward_cached(embed(tokens, first), cache));
  }

 private:
  Tensor embed(const Tensor& tokens, std::int64_t first) {
    check_tokens("char_gpt", tokens, first, shape_.context);
    return tokens_->forward(tokens) + slice(places_->weight(), 0, first, first + tokens.dim(1));
  }

  TextModelShape shape_;
  Embedding* tokens_;
  Embedding* places_;
  BlockList* blocks_;
  Module* norm_;
  Module* drop_ = nullptr;
};

std::unique_ptr<Module> make(const ModelOptions& options) {
  return std::make_unique<HeadedLanguageModel<Transformer>>(
      "transformer", text_model_shape("char_gpt", options), options);
}

}  // namespace

extern const ModelDef char_gpt_model = {"char_gpt",
                                        "GPT for characters: learned places, pre-norm blocks, GELU",
                                        make, ModelInput::kTokens};

}  // namespace weft
