#include "weft/serve/text_generator.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include <fmt/format.h>

namespace weft {
namespace {

// The logits of the last token of row `row`, of logits [N, T, vocabulary].
std::span<const float> last_logits(const Array& logits, std::int64_t row) {
  const std::int64_t vocabulary = logits.dim(2);
  const std::int64_t tokens = logits.dim(1);
  return {logits.data<float>() + ((row + 1) * tokens - 1) * vocabulary,
          static_cast<std::size_t>(vocabulary)};
}

}  // namespace

Result<std::int32_t> draw_token(std::span<const float> logits, double temperature, Rng& rng) {
  if (!std::all_of(logits.begin(), logits.end(),
                   [](float value) { return std::isfinite(value); })) {
    return internal_error("model: a logit is no finite number");
  }
  const auto best = std::max_element(logits.begin(), logits.end());
  if (temperature == 0) return static_cast<std::int32_t>(best - logits.begin());
  std::vector<double> weights;
  weights.reserve(logits.size());
  double sum = 0;
  for (const float value : logits) {
    weights.push_back(std::exp((static_cast<double>(value) - *best) / temperature));
    sum += weights.back();
  }
  double left = rng.uniform() * sum;
  for (std::size_t token = 0; token < weights.size(); ++token) {
    left -= weights[token];
    if (left < 0) return static_cast<std::int32_t>(token);
  }
  return static_cast<std::int32_t>(best - logits.begin());  // by rounding alone
}

void TextGenerator::add(JobId id, const CompletionRequest& request,
                        std::shared_ptr<Atomic<bool>> cancelled) {
  texts_.push_back(std::make_unique<Text>(
      Text{id, request, std::move(cancelled), Rng(request.seed.value_or(id.value())), {}}));
}

void TextGenerator::step(const Sink& sink) {
  for (const auto& text : texts_) text->ended = text->ended || text->cancelled->load();
  std::erase_if(texts_, [](const auto& text) { return text->ended; });
  const NoGrad no_grad;
  continue_texts(sink);
  read_prompts(sink);
  std::erase_if(texts_, [](const auto& text) { return text->ended; });
}

void TextGenerator::read_prompts(const Sink& sink) {
  for (const auto& text : texts_) {
    if (text->tokens_done > 0 || text->ended) continue;
    const std::vector<std::int64_t> prompt(text->request.prompt.begin(),
                                           text->request.prompt.end());
    try {
      const Array tokens = Array::from(prompt, {1, static_cast<std::int64_t>(prompt.size())});
      const Array logits = model_.forward_cached(Tensor(tokens), text->cache).array().contiguous();
      draw(*text, last_logits(logits, 0), sink);
    } catch (const std::exception& mistake) {
      end(*text, internal_error(fmt::format("model: {}", mistake.what())), sink);
    }
  }
}

void TextGenerator::continue_texts(const Sink& sink) {
  std::vector<Text*> going;
  std::vector<std::int64_t> tokens;
  std::vector<TextCache*> caches;
  for (const auto& text : texts_) {
    if (text->tokens_done == 0) continue;
    going.push_back(text.get());
    tokens.push_back(text->last_token);
    caches.push_back(&text->cache);
  }
  if (going.empty()) return;
  try {
    const Array rows = Array::from(tokens, {static_cast<std::int64_t>(going.size()), 1});
    const Array logits = model_.forward_texts(Tensor(rows), caches).array().contiguous();
    for (std::size_t row = 0; row < going.size(); ++row) {
      draw(*going[row], last_logits(logits, static_cast<std::int64_t>(row)), sink);
    }
  } catch (const std::exception& mistake) {
    const Status status = internal_error(fmt::format("model: {}", mistake.what()));
    for (Text* text : going) {
      if (!text->ended) end(*text, status, sink);
    }
  }
}

void TextGenerator::draw(Text& text, std::span<const float> logits, const Sink& sink) {
  const Result<std::int32_t> token = draw_token(logits, text.request.temperature, text.rng);
  if (!token.ok()) return end(text, token.status(), sink);
  text.last_token = *token;
  ++text.tokens_done;
  text.ended = text.tokens_done == text.request.max_tokens;
  sink({text.id, NextToken{*token, text.ended}});
}

void TextGenerator::end(Text& text, const Status& status, const Sink& sink) {
  text.ended = true;
  sink({text.id, status});
}

}  // namespace weft
