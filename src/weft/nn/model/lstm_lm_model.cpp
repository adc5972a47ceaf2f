// lstm_lm: a language model of embeddings, LSTM layers and a linear head.
//
// IMPLEMENTATION: Zaremba, Sutskever, Vinyals, "Recurrent neural network regularization", 2014:
// dropout, where asked for, goes between layers only.
#include <stdexcept>
#include <vector>

#include "weft/nn/embedding.h"
#include "weft/nn/language_model.h"
#include "weft/nn/layer/sizes.h"
#include "weft/nn/linear.h"
#include "weft/nn/recurrent.h"
#include "weft/nn/zoo.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// Parts embedding, lstm, head.
class LstmLanguageModel : public CausalLanguageModel {
 public:
  explicit LstmLanguageModel(const ModelOptions& options) {
    const std::int64_t width = options.embedding_width == 0 ? 64 : options.embedding_width;
    const std::int64_t layers = options.layers == 0 ? 2 : options.layers;
    require_positive("lstm_lm", {{"vocabulary", options.vocabulary},
                                 {"embedding_width", width},
                                 {"layers", layers},
                                 {"hidden_units", options.hidden_units}});
    layers_ = layers;
    width_ = options.hidden_units;
    embedding_ = &static_cast<Embedding&>(
        register_part("embedding", std::make_unique<Embedding>(options.vocabulary, width)));
    lstm_ = &static_cast<LSTM&>(register_part(
        "lstm", std::make_unique<LSTM>(RecurrentShape{.inputs = width,
                                                      .width = options.hidden_units,
                                                      .layers = layers,
                                                      .dropout = options.dropout ? 0.2 : 0.0})));
    head_ =
        &register_part("head", std::make_unique<Linear>(options.hidden_units, options.vocabulary));
  }
  Tensor forward(const Tensor& tokens) override {
    return by_text(head_->forward(lstm_->forward_tokens(embedding_->weight(), by_step(tokens))));
  }
  Tensor forward_texts(const Tensor& tokens, TextCaches caches) override {
    const NoGrad no_grad;
    const RecurrentResult result =
        lstm_->with_tokens(embedding_->weight(), by_step(tokens), joined(tokens, caches));
    const bool one = caches.size() == 1;
    for (std::size_t i = 0; i < caches.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const auto own = [&](const Tensor& state) {
        return one ? state.array() : state.array().slice(1, row, row + 1).clone();
      };
      caches[i]->hidden = own(result.hidden);
      caches[i]->cell = own(result.cell);
      caches[i]->tokens += tokens.dim(1);
    }
    return by_text(head_->forward(result.output));
  }
  std::int64_t context() const override { return 0; }

 private:
  // Layers take steps first. Tokens and logits are turned, which are smaller than what lies between
  // them: [N, T] to [T, N], and logits [T, N, V] to [N, T, V].
  static Tensor by_step(const Tensor& tokens) { return transpose(tokens, 0, 1); }
  static Tensor by_text(const Tensor& logits) { return transpose(logits, 0, 1); }

  // The states side by side; where a text begins, zeros.
  RecurrentState joined(const Tensor& tokens, TextCaches caches) const {
    const auto count = static_cast<std::int64_t>(caches.size());
    if (tokens.ndim() != 2 || (count != 1 && count != tokens.dim(0))) {
      throw std::invalid_argument(
          "[lstm_lm] expected tokens [N, T] and one cache, or one for each row");
    }
    std::vector<Tensor> hidden;
    std::vector<Tensor> cell;
    for (const TextCache* const cache : caches) {
      const Shape shape = {layers_, tokens.dim(0) / count, width_};
      const Array none = Array::zeros(shape, DType::kF32, tokens.device());
      hidden.emplace_back(cache->hidden.defined() ? cache->hidden : none);
      cell.emplace_back(cache->cell.defined() ? cache->cell : none);
    }
    return {concat(hidden, 1), concat(cell, 1)};
  }

  std::int64_t layers_ = 0;
  std::int64_t width_ = 0;
  Embedding* embedding_;
  LSTM* lstm_;
  Module* head_;
};

std::unique_ptr<Module> make_lstm_lm(const ModelOptions& options) {
  return std::make_unique<LstmLanguageModel>(options);
}

}  // namespace

extern const ModelDef lstm_lm_model = {"lstm_lm", "Embedding, LSTM layers and a linear head",
                                       make_lstm_lm, ModelInput::kTokens};

}  // namespace weft
