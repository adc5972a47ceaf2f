#include "weft/serve/json/completion_answer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/utf8.h"
#include "weft/http/json_text.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// The drawn token is always among them; several tokens may have one name.
Json top_logprobs(const DrawnToken& drawn, const Tokenizer* tokenizer) {
  auto all = drawn.likeliest;
  const auto is_drawn = [&](const auto& other) { return other.first == drawn.token; };
  if (std::none_of(all.begin(), all.end(), is_drawn)) all.emplace_back(drawn.token, drawn.logprob);
  Json names = Json::object();
  for (const auto& [token, logprob] : all) names.emplace(token_name(tokenizer, token), logprob);
  return names;
}

Json logprobs_json(const std::vector<PlacedToken>& tokens, const Tokenizer* tokenizer) {
  Json lists = {{"tokens", Json::array()},
                {"token_logprobs", Json::array()},
                {"top_logprobs", Json::array()},
                {"text_offset", Json::array()}};
  for (const PlacedToken& token : tokens) {
    lists["tokens"].push_back(token_name(tokenizer, token.drawn.token));
    lists["token_logprobs"].push_back(token.drawn.logprob);
    lists["top_logprobs"].push_back(top_logprobs(token.drawn, tokenizer));
    lists["text_offset"].push_back(token.text_offset);
  }
  return lists;
}

Json choice_json(const CompletionChoice& choice, const CompletionForm& form) {
  Json tokens = Json::array();
  for (const PlacedToken& token : choice.piece.tokens) tokens.push_back(token.drawn.token);
  return {
      {"text", choice.piece.text},
      {"index", choice.index},
      {"logprobs",
       form.logprobs ? logprobs_json(choice.piece.tokens, form.tokenizer) : Json(nullptr)},
      {"finish_reason", choice.finish_reason.empty() ? Json(nullptr) : Json(choice.finish_reason)},
      {"tokens", std::move(tokens)}};
}

Json usage_json(const CompletionUsage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

}  // namespace

std::string completion_json(const CompletionHead& head, std::span<const CompletionChoice> choices,
                            const std::optional<CompletionUsage>& usage,
                            const CompletionForm& form) {
  Json answer = {{"id", head.id},
                 {"object", "text_completion"},
                 {"created", head.created},
                 {"model", head.model},
                 {"choices", Json::array()}};
  for (const CompletionChoice& choice : choices) {
    answer["choices"].push_back(choice_json(choice, form));
  }
  if (usage.has_value()) {
    answer["usage"] = usage_json(*usage);
  } else if (form.stream_usage) {
    answer["usage"] = nullptr;
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string token_name(const Tokenizer* tokenizer, std::int32_t token) {
  if (tokenizer == nullptr) return fmt::format("token:{}", token);
  const Result<std::string> bytes = tokenizer->decode(std::span(&token, 1));
  if (!bytes.ok()) return fmt::format("token:{}", token);
  if (valid_utf8_prefix(*bytes) == bytes->size()) return *bytes;
  std::string name = "bytes:";
  for (const char byte : *bytes) {
    name += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return name;
}

}  // namespace weft
