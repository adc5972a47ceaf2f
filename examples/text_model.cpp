// A model of text: a small GPT learns the characters of a text and continues it.
//
// usage: example_text_model [TEXT_FILE]; without one it learns a nursery rhyme (public domain).
// Prints bits per character as it learns, then a continuation; exit code 1 if it has not learned.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "weft/autograd/backward.h"
#include "weft/data/batch_loader.h"
#include "weft/data/text_file.h"
#include "weft/nn/zoo.h"
#include "weft/op/ops.h"
#include "weft/optim/clip.h"
#include "weft/optim/optimizer.h"

namespace {

using weft::Array;
using weft::Tensor;

constexpr std::int64_t kContext = 32;
constexpr int kSteps = 120;

const char* const kRhyme =
    "This is the house that Jack built.\n"
    "This is the malt that lay in the house that Jack built.\n"
    "This is the rat that ate the malt that lay in the house that Jack built.\n"
    "This is the cat that killed the rat that ate the malt that lay in the house that Jack "
    "built.\n"
    "This is the dog that worried the cat that killed the rat that ate the malt that lay in the "
    "house that Jack built.\n";

template <class T>
T need(weft::Result<T> result) {
  if (!result.ok()) {
    std::printf("%s\n", result.status().to_string().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

// The most likely character after each, one after another.
std::string continue_text(weft::Module& model, const weft::Tokenizer& tokenizer,
                          const std::string& start, int count) {
  const weft::NoGrad no_grad;
  model.train(false);
  std::vector<std::int32_t> tokens = need(tokenizer.encode(start));
  for (int i = 0; i < count; ++i) {
    const std::size_t seen = std::min(tokens.size(), static_cast<std::size_t>(kContext));
    const std::vector<std::int64_t> window(tokens.end() - static_cast<std::ptrdiff_t>(seen),
                                           tokens.end());
    const Tensor logits =
        model.forward(Tensor(Array::from(window, {1, static_cast<std::int64_t>(seen)})));
    const Tensor last = weft::argmax(weft::slice(logits, 1, -1, {}), -1);
    tokens.push_back(static_cast<std::int32_t>(last.item()));
  }
  model.train(true);
  return need(tokenizer.decode(tokens));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string text = argc > 1 ? need(weft::read_text(argv[1])) : std::string(kRhyme);
  const auto tokenizer = need(weft::make_tokenizer("character", text));
  const std::vector<std::int32_t> tokens = need(tokenizer->encode(text));
  const auto train = std::make_shared<const weft::Dataset>(
      need(weft::make_token_dataset("text", weft::pack_tokens(tokens, tokenizer->vocabulary()),
                                    tokenizer->vocabulary(), kContext)));
  const auto loader = need(weft::BatchLoader::make(
      train, {.seed = 1, .batch_size = 8, .order = weft::SampleOrder::kRandom}));

  const auto model = need(weft::make_model("char_gpt", {.vocabulary = tokenizer->vocabulary(),
                                                        .context = kContext,
                                                        .layers = 2,
                                                        .embedding_width = 64,
                                                        .heads = 4}));
  weft::ParameterArena arena(model->layout());
  model->bind(arena);
  const auto optimizer =
      need(weft::make_optimizer({.name = "adamw", .learning_rate = 0.003}, arena));
  std::printf("%lld parameters, %lld characters\n",
              static_cast<long long>(arena.layout().num_parameters()),
              static_cast<long long>(tokenizer->vocabulary()));

  double bits = 0;
  for (int step = 0; step < kSteps; ++step) {
    const weft::Batch batch = need(loader->get(step, {0, loader->batch_size()}));
    arena.zero_gradients();
    const Tensor loss = weft::cross_entropy(model->forward(Tensor(batch.inputs)), batch.labels);
    weft::backward(loss);
    weft::clip_by_global_norm(arena.gradients(), 1.0);
    optimizer->step();
    bits = loss.item() / std::log(2.0);
    if ((step + 1) % 40 == 0) std::printf("step %d: %.2f bits per character\n", step + 1, bits);
  }
  std::printf("%s\n", continue_text(*model, *tokenizer, "This is the ", 60).c_str());
  return bits < 1.5 ? 0 : 1;
}
