// The common part of the transformer models for text: the pass through their blocks. For
// nn/*_model.cpp.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/nn/embedding.h"
#include "weft/nn/language_model.h"
#include "weft/nn/linear.h"
#include "weft/nn/transformer.h"
#include "weft/nn/zoo.h"

namespace weft {

// A transformer's sizes, with the model's defaults filled in.
struct TextModelShape {
  std::int64_t vocabulary;
  std::int64_t context;
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t kv_heads;
};
// Throws std::invalid_argument naming `model` if sizes do not fit.
TextModelShape text_model_shape(const char* model, const ModelOptions& options);

// Throws unless tokens are [N, T] with T within the context after `cached` tokens.
void check_tokens(const char* model, const Tensor& tokens, std::int64_t cached,
                  std::int64_t context);
// The same after the tokens of each cache; also throws unless there is one cache, or one per row.
void check_tokens(const char* model, const Tensor& tokens, TextCaches caches, std::int64_t context);

// Runs blocks "0", "1", ... in order.
class BlockList : public Module {
 public:
  // With `recompute` the values inside a block exist only during its own backward pass.
  explicit BlockList(bool recompute) : recompute_(recompute) {}
  void add(std::unique_ptr<TransformerBlock> block);
  Tensor forward(const Tensor& x) override;
  // Runs with the caches, and adds the tokens of x to them.
  Tensor forward_cached(const Tensor& x, TextCaches caches);

 private:
  bool recompute_;
  std::vector<TransformerBlock*> blocks_;
};

// A body followed by the linear layer "lm_head" that computes logits.
template <class Body>
class HeadedLanguageModel : public CausalLanguageModel {
 public:
  HeadedLanguageModel(std::string body_name, const TextModelShape& shape,
                      const ModelOptions& options)
      : context_(shape.context) {
    auto body = std::make_unique<Body>(shape, options);
    body_ = body.get();
    register_part(std::move(body_name), std::move(body));
    head_ =
        &register_part("lm_head", std::make_unique<Linear>(shape.width, shape.vocabulary, false));
  }
  Tensor forward(const Tensor& tokens) override { return head_->forward(body_->forward(tokens)); }
  Tensor forward_texts(const Tensor& tokens, TextCaches caches) override {
    const NoGrad no_grad;
    return head_->forward(body_->forward_cached(tokens, caches));
  }
  std::int64_t context() const override { return context_; }

 private:
  std::int64_t context_;
  Body* body_;
  Module* head_;
};

}  // namespace weft
