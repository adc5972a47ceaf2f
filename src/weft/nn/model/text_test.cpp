// Recurrent layers and models of text: what the comparison with PyTorch (tests/golden) leaves out.
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/nn/language_model.h"
#include "weft/nn/recurrent.h"
#include "weft/nn/zoo.h"
#include "weft/op/ops.h"

namespace weft::text_test {
namespace {

Array random_array(const Shape& shape, std::uint64_t stream) {
  Array values = Array::empty(shape);
  Rng rng(8, stream);
  fill_normal(values, rng, 1.0);
  return values;
}

Array random_tokens(const Shape& shape, std::int64_t below) {
  Array tokens = Array::empty(shape, DType::kI64);
  Rng rng(9, 1);
  for (std::int64_t& token : tokens.flat<std::int64_t>()) {
    token = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(below)));
  }
  return tokens;
}

void expect_near(const Array& got, const Array& want, double tolerance) {
  ASSERT_EQ(got.shape(), want.shape());
  const std::vector<float> a = got.to_vector<float>();
  const std::vector<float> b = want.to_vector<float>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance) << i;
}

// A text cut in windows gives what it gives in one piece if the state goes on.
TEST(Recurrent, StateGoesOnBetweenWindows) {
  for (const bool lstm : {true, false}) {
    const RecurrentShape shape = {.inputs = 3, .width = 5, .layers = 2};
    std::unique_ptr<Recurrent> module;
    if (lstm) {
      module = std::make_unique<LSTM>(shape);
    } else {
      module = std::make_unique<RNN>(shape);
    }
    module->initialize(4);
    const Array x = random_array({7, 2, 3}, 1);
    const RecurrentResult whole = (*module)(Tensor(x));
    const RecurrentResult first = (*module)(Tensor(x.slice(0, 0, 3)));
    const RecurrentResult second =
        (*module)(Tensor(x.slice(0, 3, 7)),
                  {first.hidden.detach(), first.cell.defined() ? first.cell.detach() : Tensor()});
    expect_near(second.output.array(), whole.output.array().slice(0, 3, 7), 1e-6);
    expect_near(second.hidden.array(), whole.hidden.array(), 1e-6);
    const RecurrentResult forgetful = (*module)(Tensor(x.slice(0, 3, 7)));
    EXPECT_NE(forgetful.hidden.array().to_vector<float>(), whole.hidden.array().to_vector<float>());
  }
}

// The first state and the last one are on the way of gradients.
TEST(Recurrent, GradientsGoThroughStates) {
  LSTM module({.inputs = 2, .width = 3, .layers = 2, .bidirectional = true});
  module.initialize(1);
  const Tensor hidden(random_array({4, 2, 3}, 2), true);
  const Tensor cell(random_array({4, 2, 3}, 3), true);
  const RecurrentResult result = module(Tensor(random_array({4, 2, 2}, 4)), {hidden, cell});
  backward(sum(result.hidden) + sum(result.cell));
  for (const Tensor* state : {&hidden, &cell}) {
    for (const float value : state->grad().to_vector<float>()) EXPECT_NE(value, 0.0F);
  }
}

TEST(Recurrent, CellsAreOneStepOfTheLayers) {
  const Array x = random_array({4, 2, 3}, 5);
  const auto copy = [](Module& from, Module& to) {
    const std::vector<NamedValue> source = from.values();
    const std::vector<NamedValue> target = to.values();
    ASSERT_EQ(source.size(), target.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      Array place = target[i].value;
      place.copy_from(source[i].value);
    }
  };
  LSTM lstm_layer({.inputs = 3, .width = 4});
  LSTMCell lstm_cell({.inputs = 3, .width = 4});
  GRU gru_layer({.inputs = 3, .width = 4});
  GRUCell gru_cell({.inputs = 3, .width = 4});
  RNN rnn_layer({.inputs = 3, .width = 4}, RnnActivation::kRelu);
  RNNCell rnn_cell({.inputs = 3, .width = 4}, RnnActivation::kRelu);
  for (Module* module : {static_cast<Module*>(&lstm_layer), static_cast<Module*>(&gru_layer),
                         static_cast<Module*>(&rnn_layer)}) {
    module->initialize(6);
  }
  copy(lstm_layer, lstm_cell);
  copy(gru_layer, gru_cell);
  copy(rnn_layer, rnn_cell);
  RecurrentState lstm_state;
  Tensor gru_state;
  Tensor rnn_state;
  for (std::int64_t t = 0; t < 4; ++t) {
    const Tensor step(x.select(0, t));
    lstm_state = lstm_cell(step, lstm_state);
    gru_state = gru_cell(step, gru_state);
    rnn_state = rnn_cell(step, rnn_state);
  }
  expect_near(lstm_state.cell.array(), lstm_layer(Tensor(x)).cell.array().select(0, 0), 1e-6);
  expect_near(lstm_state.hidden.array(), lstm_layer(Tensor(x)).hidden.array().select(0, 0), 1e-6);
  expect_near(gru_state.array(), gru_layer(Tensor(x)).hidden.array().select(0, 0), 1e-6);
  expect_near(rnn_state.array(), rnn_layer(Tensor(x)).hidden.array().select(0, 0), 1e-6);
}

// Both directions, both orders of axes, with a gradient and without.
TEST(Recurrent, TokensReadTheRowsOfATable) {
  const Tensor table(random_array({5, 3}, 9));
  Array numbers = Array::empty({6, 4}, DType::kI64);
  for (std::int64_t i = 0; i < numbers.size(); ++i) numbers.data<std::int64_t>()[i] = 7 * i % 5;
  const Tensor tokens(numbers);
  for (const bool batch_first : {false, true}) {
    LSTM module(
        {.inputs = 3, .width = 4, .layers = 2, .batch_first = batch_first, .bidirectional = true});
    module.initialize(10);
    const Tensor x = embedding(table, tokens);
    const Array lengths = Array::full({batch_first ? 6 : 4}, 3.0, DType::kI64);
    const auto expect_same = [&] {
      const auto values = [](const Tensor& y) { return y.array().to_vector<float>(); };
      EXPECT_EQ(values(module.forward_tokens(table, tokens)), values(module.forward(x)));
      const RecurrentResult got = module.with_tokens(table, tokens, {}, lengths);
      const RecurrentResult want = module(x, {}, lengths);
      EXPECT_EQ(values(got.output), values(want.output));
      EXPECT_EQ(values(got.hidden), values(want.hidden));
      EXPECT_EQ(values(got.cell), values(want.cell));
    };
    expect_same();
    const NoGrad no_grad;
    expect_same();
  }
}

TEST(Recurrent, DropoutGoesBetweenLayersInTrainingOnly) {
  LSTM module({.inputs = 3, .width = 8, .layers = 2, .dropout = 0.5});
  module.initialize(7);
  const Tensor x(random_array({3, 4, 3}, 6));
  const std::vector<float> trained = module.forward(x).array().to_vector<float>();
  EXPECT_EQ(trained, module.forward(x).array().to_vector<float>());
  module.set_step_context({.seed = 1, .step = 2, .first_row = 0});
  EXPECT_NE(trained, module.forward(x).array().to_vector<float>());
  module.train(false);
  LSTM plain({.inputs = 3, .width = 8, .layers = 2});
  plain.initialize(7);
  EXPECT_EQ(module.forward(x).array().to_vector<float>(),
            plain.forward(x).array().to_vector<float>());
}

TEST(Recurrent, MistakesAreRefused) {
  EXPECT_THROW(LSTM({.inputs = 0, .width = 1}), std::invalid_argument);
  EXPECT_THROW(GRU({.inputs = 1, .width = 1, .dropout = 1.0}), std::invalid_argument);
  LSTM module({.inputs = 3, .width = 4});
  const Tensor x(random_array({5, 2, 3}, 7));
  EXPECT_THROW(module(Tensor(random_array({5, 2, 4}, 7))), std::invalid_argument);
  EXPECT_THROW(module(x, {Tensor(random_array({1, 3, 4}, 8)), {}}), std::invalid_argument);
  EXPECT_THROW(module(x, {}, Array::from(std::vector<std::int64_t>{6, 1}, {2})),
               std::invalid_argument);
  EXPECT_THROW(module(x, {}, Array::from(std::vector<std::int64_t>{1, -1}, {2})),
               std::invalid_argument);
}

TEST(LanguageModel, EveryModelOfTextGivesLogitsAndAGradientForEveryParameter) {
  for (const ModelDef* def : model_table()) {
    if (def->input != ModelInput::kTokens) continue;
    for (const bool dropout : {false, true}) {
      SCOPED_TRACE(def->name);
      Result<std::unique_ptr<Module>> model =
          make_model(def->name, {.dropout = dropout, .vocabulary = 7, .context = 6});
      ASSERT_TRUE(model.ok()) << model.status().message();
      const Tensor logits = (*model)->forward(Tensor(random_tokens({3, 6}, 7)));
      ASSERT_EQ(logits.shape(), (Shape{3, 6, 7}));
      backward(cross_entropy(reshape(logits, {18, 7}), random_tokens({18}, 7)));
      for (const Tensor& parameter : (*model)->parameters()) {
        ASSERT_TRUE(parameter.grad().defined());
        double largest = 0;
        for (const float value : parameter.grad().to_vector<float>()) {
          largest = std::max(largest, std::abs(double{value}));
        }
        EXPECT_GT(largest, 0.0);
      }
      EXPECT_EQ((*model)->forward(Tensor(random_tokens({0, 6}, 7))).shape(), (Shape{0, 6, 7}));
    }
  }
}

TEST(LanguageModel, ParameterCounts) {
  const auto count = [](const char* name, const ModelOptions& options) {
    return make_model(name, options).value()->layout().num_parameters();
  };
  EXPECT_EQ(count("char_gpt", {.context = 128, .layers = 4, .embedding_width = 128, .heads = 4}),
            834304);
  EXPECT_EQ(count("char_gpt", {.context = 256, .layers = 6, .embedding_width = 384, .heads = 6}),
            10819584);
  EXPECT_EQ(count("lstm_lm", {}), 886880);
}

TEST(LanguageModel, ImpossibleSizesAreRefused) {
  EXPECT_FALSE(make_model("char_gpt", {.embedding_width = 10, .heads = 3}).ok());
  EXPECT_FALSE(make_model("llama", {.heads = 4, .kv_heads = 3}).ok());
  EXPECT_FALSE(make_model("lstm_lm", {.vocabulary = 0}).ok());
  Result<std::unique_ptr<Module>> model = make_model("char_gpt", {.context = 4});
  ASSERT_TRUE(model.ok());
  EXPECT_THROW((*model)->forward(Tensor(random_tokens({1, 5}, 96))), std::invalid_argument);
}

// Logits token by token behind a cache are those of the whole text.
TEST(LanguageModel, CachedStepsGiveTheLogitsOfTheWholeText) {
  for (const char* name : {"char_gpt", "llama"}) {
    SCOPED_TRACE(name);
    const ModelOptions options = {.vocabulary = 13,
                                  .context = 9,
                                  .layers = 2,
                                  .embedding_width = 16,
                                  .heads = 4,
                                  .kv_heads = 2};
    Result<std::unique_ptr<Module>> made = make_model(name, options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    auto& model = dynamic_cast<CausalLanguageModel&>(**made);
    const Array tokens = random_tokens({2, 9}, 13);
    const Array whole = model.forward(Tensor(tokens)).array();
    TextCache cache;
    std::int64_t at = 0;
    for (const std::int64_t count : {4, 1, 3, 1}) {
      const Tensor part = model.forward_cached(Tensor(tokens.slice(1, at, at + count)), cache);
      EXPECT_FALSE(part.requires_grad());
      expect_near(part.array(), whole.slice(1, at, at + count), 2e-5);
      at += count;
    }
    EXPECT_THROW(model.forward_cached(Tensor(tokens.slice(1, 0, 1)), cache), std::invalid_argument);
  }
}

// Token by token behind a cache, which has to grow, at every place; the LSTM keeps its state.
TEST(LanguageModel, OneTokenAfterTheOtherGivesTheLogitsOfTheWholeText) {
  for (const char* name : {"char_gpt", "llama", "lstm_lm"}) {
    SCOPED_TRACE(name);
    Result<std::unique_ptr<Module>> made =
        make_model(name, {.vocabulary = 13, .context = 300, .layers = 2, .heads = 4});
    ASSERT_TRUE(made.ok()) << made.status().message();
    auto& model = dynamic_cast<CausalLanguageModel&>(**made);
    const Array tokens = random_tokens({1, 300}, 13);
    const Array whole = model.forward(Tensor(tokens)).array();
    TextCache cache;
    for (std::int64_t at = 0; at < 300; ++at) {
      const Tensor part = model.forward_cached(Tensor(tokens.slice(1, at, at + 1)), cache);
      expect_near(part.array(), whole.slice(1, at, at + 1), 1e-5);
    }
    EXPECT_EQ(cache.tokens, 300);
  }
}

// Texts of other lengths beside it change no bit of a text.
TEST(LanguageModel, TextsOfDifferentLengthsTogetherGiveTheBitsOfEachAlone) {
  for (const char* name : {"char_gpt", "llama", "lstm_lm"}) {
    SCOPED_TRACE(name);
    Result<std::unique_ptr<Module>> made =
        make_model(name, {.vocabulary = 13, .context = 40, .layers = 2, .heads = 4, .kv_heads = 2});
    ASSERT_TRUE(made.ok()) << made.status().message();
    auto& model = dynamic_cast<CausalLanguageModel&>(**made);
    const Array tokens = random_tokens({5, 40}, 13);
    TextCache together[5];
    TextCache alone[5];
    TextCache* caches[5];
    for (std::int64_t i = 0; i < 5; ++i) {
      const Tensor first(tokens.slice(0, i, i + 1).slice(1, 0, 1 + 3 * i));
      model.forward_cached(first, together[i]);
      model.forward_cached(first, alone[i]);
      caches[i] = &together[i];
    }
    for (std::int64_t step = 20; step < 26; ++step) {
      const Array next = tokens.slice(1, step, step + 1);
      const Array all = model.forward_texts(Tensor(next), caches).array();
      for (std::int64_t i = 0; i < 5; ++i) {
        const Array own = model.forward_cached(Tensor(next.slice(0, i, i + 1)), alone[i]).array();
        EXPECT_EQ(all.slice(0, i, i + 1).to_vector<float>(), own.to_vector<float>()) << i;
      }
    }
    EXPECT_THROW(model.forward_texts(Tensor(tokens.slice(1, 0, 1)), {caches, 3}),
                 std::invalid_argument);
  }
}

// Layers of other types than f32 go by the operation for whole arrays.
TEST(LanguageModel, CachedStepsOfOtherTypesGiveTheValuesOfTheWholeText) {
  const auto with_type = [](Module& layer, DType type) {
    std::vector<Tensor> cast_to;
    for (const Tensor& parameter : layer.parameters()) {
      cast_to.emplace_back(parameter.array().to(type));
    }
    layer.replace_parameters(cast_to);
  };
  for (const DType type : {DType::kF64, DType::kBF16}) {
    SCOPED_TRACE(to_string(type));
    GptAttention gpt(16, 2, 0.0);
    LlamaAttention llama({.width = 16, .heads = 4, .kv_heads = 2});
    for (Module* const layer : {static_cast<Module*>(&gpt), static_cast<Module*>(&llama)}) {
      layer->initialize(5);
      with_type(*layer, type);
      const Array x = random_array({2, 6, 16}, 1).to(type);
      const Array whole = layer->forward(Tensor(x)).array().to(DType::kF32);
      KeyValueCache rows[2];
      KeyValueCache* const caches[] = {&rows[0], &rows[1]};
      for (std::int64_t at = 0; at < 6; ++at) {
        const Tensor part(x.slice(1, at, at + 1));
        const Tensor y =
            layer == &gpt ? gpt.forward_cached(part, caches) : llama.forward_cached(part, caches);
        EXPECT_EQ(y.dtype(), type);
        expect_near(y.array().to(DType::kF32), whole.slice(1, at, at + 1),
                    type == DType::kF64 ? 1e-6 : 2e-2);
      }
    }
  }
}

TEST(LanguageModel, ACacheBeginsWithAtMostOneMebibyteAndGrows) {
  GptAttention layer(64, 4, 0.0);
  layer.initialize(5);
  const Array x = random_array({64, 66, 64}, 1);
  const Array whole = layer.forward(Tensor(x)).array();
  KeyValueCache cache;
  KeyValueCache* const caches[] = {&cache};
  std::int64_t at = 0;
  for (const auto& [count, room] : std::vector<std::pair<int, int>>{{1, 64}, {63, 64}, {2, 128}}) {
    const Tensor y = layer.forward_cached(Tensor(x.slice(1, at, at + count)), caches);
    expect_near(y.array(), whole.slice(1, at, at + count), 1e-5);
    EXPECT_EQ(cache.keys.shape(), (Shape{64, 4, room, 16}));
    EXPECT_EQ(cache.values.shape(), cache.keys.shape());
    at += count;
  }
  KeyValueCache of_one_text;
  KeyValueCache* const one[] = {&of_one_text};
  layer.forward_cached(Tensor(x.slice(0, 0, 1).slice(1, 0, 1)), one);
  EXPECT_EQ(of_one_text.keys.dim(2), 256);
}

TEST(LanguageModel, ACacheOfOtherTokensIsRefused) {
  GptAttention layer(16, 2, 0.0);
  layer.initialize(5);
  KeyValueCache cache;
  KeyValueCache* const caches[] = {&cache};
  layer.forward_cached(Tensor(Array::zeros({2, 3, 16})), caches);
  EXPECT_THROW(layer.forward_cached(Tensor(Array::zeros({1, 1, 16})), caches),
               std::invalid_argument);
  EXPECT_EQ(cache.tokens, 3);
  KeyValueCache other;
  KeyValueCache* const two[] = {&cache, &other};
  EXPECT_THROW(layer.forward_cached(Tensor(Array::zeros({3, 1, 16})), two), std::invalid_argument);
  EXPECT_THROW(layer.forward_cached(Tensor(Array::zeros({0, 1, 16})), {}), std::invalid_argument);
}

TEST(LanguageModel, LogitsDoNotDependOnLaterTokens) {
  for (const char* name : {"char_gpt", "llama", "lstm_lm"}) {
    SCOPED_TRACE(name);
    Result<std::unique_ptr<Module>> model = make_model(name, {.vocabulary = 13});
    ASSERT_TRUE(model.ok());
    Array tokens = random_tokens({1, 20}, 13);
    const Array before = (*model)->forward(Tensor(tokens)).array().slice(1, 0, 12).clone();
    for (std::int64_t i = 12; i < 20; ++i) tokens.data<std::int64_t>()[i] = (i * 5) % 13;
    expect_near((*model)->forward(Tensor(tokens)).array().slice(1, 0, 12), before, 1e-6);
  }
}

// Recomputation is the same arithmetic on the same values, masks of dropout included.
TEST(LanguageModel, RecomputedBlocksGiveTheSameBits) {
  const auto gradients = [](bool recompute) {
    Result<std::unique_ptr<Module>> model =
        make_model("char_gpt", {.dropout = true, .checkpoint_blocks = recompute});
    EXPECT_TRUE(model.ok());
    (*model)->set_step_context({.seed = 3, .step = 4, .first_row = 5});
    const Tensor logits = (*model)->forward(Tensor(random_tokens({2, 30}, 96)));
    const Tensor loss = cross_entropy(reshape(logits, {60, 96}), random_tokens({60}, 96));
    backward(loss);
    std::vector<float> all;
    for (const Tensor& parameter : (*model)->parameters()) {
      const std::vector<float> values = parameter.grad().to_vector<float>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  EXPECT_EQ(gradients(true), gradients(false));
}

}  // namespace
}  // namespace weft::text_test
