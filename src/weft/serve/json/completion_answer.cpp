#include "weft/serve/json/completion_answer.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/base/utf8.h"
#include "weft/http/json_text.h"

namespace weft {
namespace {

template <class Items, class Show>
std::string json_list(const Items& items, Show show) {
  std::string text = "[";
  for (const auto& item : items) {
    if (text.size() > 1) text += ',';
    text += show(item);
  }
  return text + "]";
}

// The drawn token is always among them; several tokens may have one name.
std::string top_logprobs(const DrawnToken& drawn, const Tokenizer* tokenizer) {
  auto all = drawn.likeliest;
  const auto is_drawn = [&](const auto& other) { return other.first == drawn.token; };
  if (std::none_of(all.begin(), all.end(), is_drawn)) all.emplace_back(drawn.token, drawn.logprob);
  std::vector<std::string> names;
  std::string text;
  for (const auto& [token, logprob] : all) {
    std::string name = token_name(tokenizer, token);
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", json_quoted(name), logprob);
    names.push_back(std::move(name));
  }
  return "{" + text + "}";
}

std::string logprobs_json(const std::vector<PlacedToken>& tokens, const Tokenizer* tokenizer) {
  return fmt::format(
      "{{\"tokens\":{},\"token_logprobs\":{},\"top_logprobs\":{},\"text_offset\":{}}}",
      json_list(tokens,
                [&](const PlacedToken& token) {
                  return json_quoted(token_name(tokenizer, token.drawn.token));
                }),
      json_list(tokens,
                [](const PlacedToken& token) { return fmt::format("{}", token.drawn.logprob); }),
      json_list(tokens,
                [&](const PlacedToken& token) { return top_logprobs(token.drawn, tokenizer); }),
      json_list(tokens,
                [](const PlacedToken& token) { return fmt::format("{}", token.text_offset); }));
}

std::string choice_json(const CompletionChoice& choice, const CompletionForm& form) {
  return fmt::format(
      "{{\"text\":{},\"index\":{},\"logprobs\":{},\"finish_reason\":{},\"tokens\":{}}}",
      json_quoted(choice.piece.text), choice.index,
      form.logprobs ? logprobs_json(choice.piece.tokens, form.tokenizer) : "null",
      choice.finish_reason.empty() ? "null" : fmt::format("\"{}\"", choice.finish_reason),
      json_list(choice.piece.tokens,
                [](const PlacedToken& token) { return fmt::format("{}", token.drawn.token); }));
}

std::string usage_json(const CompletionUsage& usage) {
  return fmt::format("{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{}}}",
                     usage.prompt_tokens, usage.completion_tokens,
                     usage.prompt_tokens + usage.completion_tokens);
}

}  // namespace

std::string completion_json(const CompletionHead& head, std::span<const CompletionChoice> choices,
                            const std::optional<CompletionUsage>& usage,
                            const CompletionForm& form) {
  std::string text = fmt::format(
      "{{\"id\":\"{}\",\"object\":\"text_completion\",\"created\":{},\"model\":{},\"choices\":{}",
      head.id, head.created, json_quoted(head.model),
      json_list(choices,
                [&](const CompletionChoice& choice) { return choice_json(choice, form); }));
  if (usage.has_value()) {
    text += ",\"usage\":" + usage_json(*usage);
  } else if (form.stream_usage) {
    text += ",\"usage\":null";
  }
  return text + "}";
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
