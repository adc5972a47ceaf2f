// Recurrent layers, attention and models of text against PyTorch: make_sequence.py.
#include <gtest/gtest.h>

#include "golden_file.h"
#include "weft/nn/attention.h"
#include "weft/nn/recurrent.h"
#include "weft/nn/zoo.h"

namespace weft::sequence_test {
namespace {

// The tolerance of f32 after several layers.
constexpr double kTolerance = 2e-5;

const GoldenFile& file() {
  static const GoldenFile golden("sequence.safetensors");
  return golden;
}

std::string key(const std::string& name, const char* kind, const std::string& what) {
  return name + "/" + kind + "/" + what;
}

void load(Module& module, const std::string& name) {
  std::size_t count = 0;
  for (const auto& [entry, array] : file().arrays()) {
    if (entry.rfind(name + "/parameter/", 0) == 0) ++count;
  }
  ASSERT_EQ(module.values().size(), count);
  for (const NamedValue& value : module.values()) {
    SCOPED_TRACE(value.name);
    ASSERT_TRUE(file().has(key(name, "parameter", value.name)));
    const Array wanted = file().get(key(name, "parameter", value.name));
    ASSERT_EQ(value.value.shape(), wanted.shape());
    Array place = value.value;
    place.copy_from(wanted);
  }
}

// Sends the weights of make_sequence.py through `output` and compares all gradients.
void check_gradients(Module& module, const std::string& name, const Tensor& x,
                     const Tensor& output) {
  Array weights = Array::empty(output.shape());
  for (std::int64_t i = 0; i < weights.size(); ++i) {
    weights.data<float>()[i] = 0.5F + 0.1F * static_cast<float>(i % 11);
  }
  BackwardOptions options;
  options.gradient = weights;
  backward(output, GradientSink(), options);
  const std::vector<Tensor> parameters = module.parameters();
  const std::vector<NamedValue> values = module.values();
  ASSERT_EQ(parameters.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    SCOPED_TRACE(values[i].name);
    expect_close(parameters[i].grad(), file().get(key(name, "gradient", values[i].name)),
                 kTolerance);
  }
  if (x.requires_grad()) expect_close(x.grad(), file().get(key(name, "gradient", "x")), kTolerance);
}

void check_output(const std::string& name, const char* what, const Tensor& got) {
  SCOPED_TRACE(what);
  expect_close(got.array(), file().get(key(name, "output", what)), kTolerance);
}

// Two layers in both directions over sequences of different lengths.
template <class Layer, class... More>
void check_recurrent(const std::string& name, const More&... more) {
  SCOPED_TRACE(name);
  Layer module({.inputs = 3, .width = 4, .layers = 2, .batch_first = true, .bidirectional = true},
               more...);
  load(module, name);
  const Tensor x(file().get(key(name, "input", "x")), true);
  RecurrentState first{Tensor(file().get(key(name, "input", "hidden"))), {}};
  const bool lstm = file().has(key(name, "input", "cell"));
  if (lstm) first.cell = Tensor(file().get(key(name, "input", "cell")));
  const RecurrentResult result = module(x, first, file().get(key(name, "input", "lengths")));
  check_output(name, "output", result.output);
  check_output(name, "hidden", result.hidden);
  if (lstm) check_output(name, "cell", result.cell);
  check_gradients(module, name, x, result.output);
}

TEST(Sequence, RecurrentLayersOverPackedSequences) {
  check_recurrent<LSTM>("lstm");
  check_recurrent<GRU>("gru");
  check_recurrent<RNN>("rnn_tanh");
  check_recurrent<RNN>("rnn_relu", RnnActivation::kRelu);
}

TEST(Sequence, ForwardOfALayerIsItsOutput) {
  LSTM module({.inputs = 3, .width = 5, .layers = 2, .batch_first = true});
  load(module, "lstm_plain");
  const Tensor x(file().get(key("lstm_plain", "input", "x")), true);
  const Tensor output = module.forward(x);
  check_output("lstm_plain", "output", output);
  check_gradients(module, "lstm_plain", x, output);
  const RecurrentResult result = module(x);
  check_output("lstm_plain", "output", result.output);
  check_output("lstm_plain", "hidden", result.hidden);
  check_output("lstm_plain", "cell", result.cell);
}

TEST(Sequence, MultiHeadAttention) {
  MultiHeadAttention module({.width = 12, .heads = 3});
  load(module, "multi_head_attention");
  const Tensor x(file().get(key("multi_head_attention", "input", "x")), true);
  AttentionOptions causal;
  causal.causal = true;
  const Tensor output = module(x, x, x, causal);
  check_output("multi_head_attention", "output", output);
  check_gradients(module, "multi_head_attention", x, output);
}

void check_model(const std::string& name, const ModelOptions& options) {
  SCOPED_TRACE(name);
  Result<std::unique_ptr<Module>> model = make_model(name, options);
  ASSERT_TRUE(model.ok()) << model.status().message();
  load(**model, name);
  const Tensor tokens(file().get(key(name, "input", "x")));
  const Tensor output = (*model)->forward(tokens);
  check_output(name, "output", output);
  check_gradients(**model, name, tokens, output);
}

TEST(Sequence, ModelsOfText) {
  check_model("char_gpt",
              {.vocabulary = 11, .context = 8, .layers = 2, .embedding_width = 12, .heads = 3});
  check_model("llama", {.vocabulary = 11,
                        .context = 8,
                        .layers = 2,
                        .embedding_width = 16,
                        .heads = 4,
                        .kv_heads = 2});
  check_model("lstm_lm", {.hidden_units = 10, .vocabulary = 11, .layers = 2, .embedding_width = 6});
}

TEST(Sequence, RecomputedBlocksGiveTheSameGradients) {
  check_model("char_gpt", {.vocabulary = 11,
                           .context = 8,
                           .layers = 2,
                           .embedding_width = 12,
                           .heads = 3,
                           .checkpoint_blocks = true});
}

}  // namespace
}  // namespace weft::sequence_test
