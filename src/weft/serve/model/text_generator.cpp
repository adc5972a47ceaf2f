#include "weft/serve/model/text_generator.h"

#include <algorithm>
#include <exception>
#include <iterator>
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

void TextGenerator::add(JobId id, CompletionRequest request,
                        const std::shared_ptr<Atomic<bool>>& cancelled) {
  const auto shared = std::make_shared<const CompletionRequest>(std::move(request));
  for (std::int64_t choice = 0; choice < shared->choices(); ++choice) {
    const Rng rng(shared->seed.value_or(id.value()), static_cast<std::uint64_t>(choice));
    texts_.push_back(std::make_unique<Text>(
        Text{id, choice, shared, cancelled, rng, ChoiceText(tokenizer_, shared->stops)}));
  }
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
  auto going =
      static_cast<std::size_t>(std::count_if(texts_.begin(), texts_.end(), [](const auto& text) {
        return text->tokens_done > 0 && !text->ended;
      }));
  for (const auto& text : texts_) {
    if (text->tokens_done > 0 || text->ended) continue;
    if (going++ == texts_at_once_) break;
    const std::vector<std::int32_t>& given = text->prompt().tokens;
    const std::vector<std::int64_t> prompt(given.begin(), given.end());
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
  const CompletionRequest& request = *text.request;
  const Result<std::int32_t> token = draw_token(logits, request.sampling, text.rng);
  if (!token.ok()) return end(text, token.status(), sink);
  DrawnToken drawn{*token};
  if (request.logprobs) {
    drawn = with_logprobs(*token, logits, static_cast<std::size_t>(*request.logprobs));
  }
  Result<TextPiece> piece = text.text.add(std::move(drawn));
  if (!piece.ok()) return end(text, piece.status(), sink);
  text.last_token = *token;
  ++text.tokens_done;
  NextToken next{text.choice, std::move(*piece)};
  if (!text.text.stopped() && text.tokens_done == text.prompt().max_tokens) {
    // Bytes that are no whole character can still become the end of a stop text.
    TextPiece rest = text.text.finish();
    next.piece.text += rest.text;
    std::move(rest.tokens.begin(), rest.tokens.end(), std::back_inserter(next.piece.tokens));
    next.end = NextToken::End::kLength;
  }
  if (text.text.stopped()) next.end = NextToken::End::kStop;
  text.ended = next.end != NextToken::End::kNone;
  sink({text.id, std::move(next)});
}

// The other choices of its job are cancelled, so that a job fails once.
void TextGenerator::end(Text& text, const Status& status, const Sink& sink) {
  text.ended = true;
  if (!text.cancelled->exchange(true)) sink({text.id, status});
}

}  // namespace weft
