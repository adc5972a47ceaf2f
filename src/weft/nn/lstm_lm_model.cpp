// lstm_lm: a language model of embeddings, LSTM layers and a linear head.
//
// IMPLEMENTATION: Zaremba, Sutskever, Vinyals, "Recurrent neural network regularization", 2014:
// dropout, where asked for, goes between layers only.
#include "weft/nn/embedding.h"
#include "weft/nn/linear.h"
#include "weft/nn/recurrent.h"
#include "weft/nn/sizes.h"
#include "weft/nn/zoo.h"

namespace weft {
namespace {

// Parts embedding, lstm, head.
class LstmLanguageModel : public Module {
 public:
  explicit LstmLanguageModel(const ModelOptions& options) {
    const std::int64_t width = options.embedding_width == 0 ? 64 : options.embedding_width;
    const std::int64_t layers = options.layers == 0 ? 2 : options.layers;
    require_positive("lstm_lm", {options.vocabulary, width, layers, options.hidden_units});
    embedding_ =
        &register_part("embedding", std::make_unique<Embedding>(options.vocabulary, width));
    lstm_ = &register_part(
        "lstm", std::make_unique<LSTM>(RecurrentShape{.inputs = width,
                                                      .width = options.hidden_units,
                                                      .layers = layers,
                                                      .batch_first = true,
                                                      .dropout = options.dropout ? 0.2 : 0.0}));
    head_ =
        &register_part("head", std::make_unique<Linear>(options.hidden_units, options.vocabulary));
  }
  Tensor forward(const Tensor& tokens) override {
    return head_->forward(lstm_->forward(embedding_->forward(tokens)));
  }

 private:
  Module* embedding_;
  Module* lstm_;
  Module* head_;
};

std::unique_ptr<Module> make(const ModelOptions& options) {
  return std::make_unique<LstmLanguageModel>(options);
}

}  // namespace

extern const ModelDef lstm_lm_model = {"lstm_lm", "Embedding, LSTM layers and a linear head", make,
                                       ModelInput::kTokens};

}  // namespace weft
