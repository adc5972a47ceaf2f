#include "weft/serve/completion_json.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/utf8.h"
#include "weft/serve/json_text.h"

namespace weft {
namespace {

using nlohmann::json;

// The body's object and an array in it.
constexpr int kTreeDepthMax = 2;
constexpr double kTemperatureMax = 100.0;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::size_t kCharacterBytesMax = 4;

// Nothing but the depth is looked at, so that a tree is only built of what is small.
Result<json> parse_tree(std::string_view body) {
  bool deep = false;
  const auto keep = [&](int depth, json::parse_event_t event, json& /*value*/) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= kTreeDepthMax) deep = true;
    return !deep;
  };
  json tree = json::parse(body, keep, /*allow_exceptions=*/false);
  if (deep) return invalid_argument("body: expected no arrays or objects within an array");
  if (tree.is_discarded()) return invalid_argument("body: expected JSON");
  if (!tree.is_object()) return invalid_argument("body: expected an object");
  return tree;
}

Status expected(std::string_view key, std::string_view what, const json& got) {
  return invalid_argument(fmt::format(
      "{}: expected {}, got {}", key, what,
      got.is_primitive() && !got.is_string() ? got.dump() : std::string(got.type_name())));
}

Status take_tokens(const json& given, const TextRule& rule, CompletionRequest& request) {
  for (const json& token : given) {
    if (!token.is_number_unsigned() ||
        token.get<std::uint64_t>() >= static_cast<std::uint64_t>(rule.vocabulary)) {
      return expected("prompt", fmt::format("tokens below {}", rule.vocabulary), token);
    }
    request.prompt.push_back(token.get<std::int32_t>());
  }
  return {};
}

Status take_prompt(const json& given, const TextRule& rule, CompletionRequest& request) {
  if (given.is_array()) {
    WEFT_TRY(take_tokens(given, rule, request));
  } else if (!given.is_string()) {
    return expected("prompt", "a text or an array of tokens", given);
  } else if (rule.tokenizer == nullptr) {
    return expected("prompt", "an array of tokens (this model's data has no tokenizer)", given);
  } else {
    auto encoded = rule.tokenizer->encode(given.get_ref<const std::string&>());
    if (!encoded.ok()) return encoded.status().with_context("prompt");
    request.prompt = std::move(*encoded);
  }
  const auto count = static_cast<std::int64_t>(request.prompt.size());
  const std::int64_t most = rule.context > 0 ? rule.context - 1 : rule.prompt_tokens_max;
  if (count >= 1 && count <= most) return {};
  return invalid_argument(fmt::format("prompt: expected 1 to {} tokens, got {}", most, count));
}

Status take_number(const std::string& key, const json& given, const TextRule& rule,
                   CompletionRequest& request) {
  if (key == "max_tokens") {
    if (!given.is_number_unsigned() || given.get<std::uint64_t>() < 1 ||
        given.get<std::uint64_t>() > static_cast<std::uint64_t>(rule.tokens_max)) {
      return expected(key, fmt::format("1 to {}", rule.tokens_max), given);
    }
    request.max_tokens = given.get<std::int64_t>();
  } else if (key == "temperature") {
    const double value = given.is_number() ? given.get<double>() : -1.0;
    if (!(value >= 0 && value <= kTemperatureMax)) {
      return expected(key, fmt::format("0 to {}", kTemperatureMax), given);
    }
    request.temperature = value;
  } else {
    if (!given.is_number_integer()) return expected(key, "an integer", given);
    request.seed = given.is_number_unsigned()
                       ? given.get<std::uint64_t>()
                       : static_cast<std::uint64_t>(given.get<std::int64_t>());
  }
  return {};
}

// Whether OpenAI's key says no more than what is done anyway.
bool changes_nothing(const std::string& key, const json& given) {
  if (key == "user" || given.is_null()) return true;
  if (key == "n" || key == "best_of" || key == "top_p") return given == 1;
  if (key == "presence_penalty" || key == "frequency_penalty") return given == 0;
  if (key == "echo") return given == false;
  if (key == "suffix") return given == "";
  return (key == "stop" || key == "logit_bias") && given.empty();
}

Status take(const std::string& key, const json& given, const TextRule& rule,
            CompletionRequest& request) {
  static constexpr std::array<std::string_view, 3> kNumbers = {"max_tokens", "temperature", "seed"};
  if (key == "prompt") return take_prompt(given, rule, request);
  if (std::find(kNumbers.begin(), kNumbers.end(), key) != kNumbers.end()) {
    // As a default is meant by some clients.
    return given.is_null() ? Status() : take_number(key, given, rule, request);
  }
  if (key == "stream") {
    if (!given.is_boolean()) return expected(key, "true or false", given);
    request.stream = given.get<bool>();
    return {};
  }
  if (key == "model") {
    if (!given.is_string()) return expected(key, "a text", given);
    request.model = given.get<std::string>();
    return {};
  }
  if (changes_nothing(key, given)) return {};
  return invalid_argument(
      fmt::format("{}: expected one of prompt, max_tokens, temperature, seed, stream and model",
                  key.substr(0, 64)));
}

}  // namespace

Result<CompletionRequest> parse_completion(std::string_view body, const TextRule& rule) {
  WEFT_TRY_ASSIGN(const json tree, parse_tree(body));
  CompletionRequest request;
  if (!tree.contains("prompt")) return invalid_argument("prompt: expected one, got none");
  for (const auto& [key, given] : tree.items()) WEFT_TRY(take(key, given, rule, request));
  const auto prompt = static_cast<std::int64_t>(request.prompt.size());
  if (rule.context > 0 && prompt + request.max_tokens > rule.context) {
    return invalid_argument(
        fmt::format("max_tokens: expected at most {} behind a prompt of {} tokens (the model's "
                    "context is {}), got {}",
                    rule.context - prompt, prompt, rule.context, request.max_tokens));
  }
  return request;
}

std::string completion_json(const CompletionPiece& piece) {
  const std::string reason =
      piece.finish_reason.empty() ? "null" : fmt::format("\"{}\"", piece.finish_reason);
  std::string text = fmt::format(
      "{{\"id\":\"{}\",\"object\":\"text_completion\",\"created\":{},\"model\":{},\"choices\":[{{"
      "\"text\":{},\"index\":0,\"logprobs\":null,\"finish_reason\":{},\"tokens\":[{}]}}]",
      piece.id, piece.created, json_quoted(piece.model), json_quoted(piece.text), reason,
      fmt::join(piece.tokens, ","));
  if (piece.with_usage) {
    text += fmt::format(
        ",\"usage\":{{\"prompt_tokens\":{},\"completion_tokens\":{},\"total_tokens\":{}}}",
        piece.prompt_tokens, piece.completion_tokens,
        piece.prompt_tokens + piece.completion_tokens);
  }
  return text + "}";
}

std::string TextAssembler::add(std::string_view bytes) {
  pending_ += bytes;
  return take(false);
}

std::string TextAssembler::finish() { return take(true); }

std::string TextAssembler::take(bool at_end) {
  std::string text;
  std::size_t used = 0;
  while (used < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(used);
    const std::size_t length = first_character(rest).length;
    if (length > 0) {
      text += rest.substr(0, length);
      used += length;
      continue;
    }
    // Four bytes decide whether a character begins here.
    if (!at_end && rest.size() < kCharacterBytesMax) break;
    text += kReplacement;
    ++used;
  }
  pending_.erase(0, used);
  return text;
}

}  // namespace weft
