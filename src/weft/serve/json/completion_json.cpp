#include "weft/serve/json/completion_json.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/serve/json/json_tree.h"

namespace weft {
namespace {

using nlohmann::json;
using Fault = std::optional<ApiError>;

// The body's object, the prompts, and the tokens of one.
constexpr int kTreeDepthMax = 3;
constexpr double kTemperatureMax = 100.0;
constexpr std::int64_t kDefaultTokens = 16;  // as OpenAI's API has it
constexpr std::int64_t kLogprobsMax = 5;
constexpr std::size_t kStopsMax = 4;
constexpr std::size_t kStopBytesMax = 1000;
constexpr std::size_t kShownFieldMax = 64;

// A request while it is read: what can only be judged once all fields are known.
struct Draft {
  const TextRule& rule;
  CompletionRequest request = {};
  std::optional<std::int64_t> max_tokens = {};
  std::optional<std::int64_t> best_of = {};
  bool has_stream_options = false;
};

ApiError expected(std::string_view key, std::string_view what, const json& got) {
  std::string shown(got.type_name());
  if (got.is_primitive() && !got.is_string()) shown = got.dump();
  return {.message = fmt::format("{}: expected {}, got {}", key, what, shown),
          .param = std::string(key)};
}

// Nothing unless it is a whole number within the bounds.
std::optional<std::int64_t> whole_number(const json& given, std::int64_t min, std::int64_t max) {
  if (!given.is_number_unsigned() || given.get<std::uint64_t>() > static_cast<std::uint64_t>(max)) {
    return std::nullopt;
  }
  const auto value = given.get<std::int64_t>();
  return value >= min ? std::optional(value) : std::nullopt;
}

Fault add_prompt(std::vector<std::int32_t> tokens, Draft& draft) {
  const auto count = static_cast<std::int64_t>(tokens.size());
  const TextRule& rule = draft.rule;
  const std::int64_t most = rule.context > 0 ? rule.context - 1 : rule.prompt_tokens_max;
  if (count < 1 || count > most) {
    return ApiError{.message = fmt::format("prompt: expected 1 to {} tokens, got {}", most, count),
                    .param = "prompt",
                    .code = count > most ? "context_length_exceeded" : ""};
  }
  draft.request.prompts.push_back({std::move(tokens)});
  return {};
}

Fault take_tokens(const json& given, Draft& draft) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(given.size());
  for (const json& token : given) {
    const auto number = whole_number(token, 0, draft.rule.vocabulary - 1);
    if (!number) {
      return expected("prompt", fmt::format("tokens below {}", draft.rule.vocabulary), token);
    }
    tokens.push_back(static_cast<std::int32_t>(*number));
  }
  return add_prompt(std::move(tokens), draft);
}

Fault take_text(const std::string& text, Draft& draft) {
  if (draft.rule.tokenizer == nullptr) {
    return ApiError{.message =
                        "prompt: expected an array of tokens, since this model has no "
                        "tokenizer, got a text",
                    .param = "prompt"};
  }
  Result<std::vector<std::int32_t>> encoded = draft.rule.tokenizer->encode(text);
  if (!encoded.ok()) {
    return ApiError{.message = "prompt: " + encoded.status().message(), .param = "prompt"};
  }
  return add_prompt(std::move(*encoded), draft);
}

Fault take_prompt(const std::string& key, const json& given, Draft& draft) {
  if (given.is_string()) return take_text(given.get_ref<const std::string&>(), draft);
  if (!given.is_array()) return expected(key, "a text, tokens, or an array of these", given);
  const bool several = !given.empty() && (given[0].is_string() || given[0].is_array());
  if (!several) return take_tokens(given, draft);
  if (given.size() > static_cast<std::size_t>(draft.rule.choices_max)) {
    return ApiError{.message = fmt::format("prompt: expected at most {} prompts, got {}",
                                           draft.rule.choices_max, given.size()),
                    .param = key};
  }
  for (const json& prompt : given) {
    if (prompt.type() != given[0].type()) {
      return expected(key, "either texts alone or arrays of tokens alone", prompt);
    }
    Fault fault = prompt.is_string() ? take_text(prompt.get_ref<const std::string&>(), draft)
                                     : take_tokens(prompt, draft);
    if (fault) return fault;
  }
  return {};
}

Fault take_model(const std::string& key, const json& given, Draft& draft) {
  if (!given.is_string()) return expected(key, "a text", given);
  draft.request.model = given.get<std::string>();
  return {};
}

Fault take_max_tokens(const std::string& key, const json& given, Draft& draft) {
  const auto value = whole_number(given, 1, std::numeric_limits<std::int64_t>::max());
  if (!value) return expected(key, "a whole number of at least 1", given);
  draft.max_tokens = std::min(*value, draft.max_tokens.value_or(*value));
  return {};
}

Fault take_temperature(const std::string& key, const json& given, Draft& draft) {
  const double value = given.is_number() ? given.get<double>() : -1.0;
  if (!(value >= 0 && value <= kTemperatureMax)) {
    return expected(key, fmt::format("0 to {}", kTemperatureMax), given);
  }
  draft.request.sampling.temperature = value;
  return {};
}

Fault take_top_p(const std::string& key, const json& given, Draft& draft) {
  const double value = given.is_number() ? given.get<double>() : -1.0;
  if (!(value >= 0 && value <= 1)) return expected(key, "0 to 1", given);
  draft.request.sampling.top_p = value;
  return {};
}

Fault take_n(const std::string& key, const json& given, Draft& draft) {
  const auto value = whole_number(given, 1, draft.rule.choices_max);
  if (!value) return expected(key, fmt::format("1 to {}", draft.rule.choices_max), given);
  draft.request.n = *value;
  return {};
}

Fault take_best_of(const std::string& key, const json& given, Draft& draft) {
  draft.best_of = whole_number(given, 1, draft.rule.choices_max);
  if (!draft.best_of) return expected(key, "the same as n", given);
  return {};
}

Fault take_seed(const std::string& key, const json& given, Draft& draft) {
  if (!given.is_number_integer()) return expected(key, "an integer of 64 bits", given);
  draft.request.seed = given.is_number_unsigned()
                           ? given.get<std::uint64_t>()
                           : static_cast<std::uint64_t>(given.get<std::int64_t>());
  return {};
}

Fault take_stop(const std::string& key, const json& given, Draft& draft) {
  if (given.is_array() && given.empty()) return {};
  const json list = given.is_array() ? given : json::array({given});
  const std::string what =
      fmt::format("a text of 1 to {} bytes, or 1 to {} of them", kStopBytesMax, kStopsMax);
  if (draft.rule.tokenizer == nullptr) {
    return ApiError{.message =
                        "stop: expected none, since this model has no tokenizer and gives "
                        "tokens, not text",
                    .param = key};
  }
  if (list.size() > kStopsMax) return expected(key, what, given);
  for (const json& stop : list) {
    const bool fits = stop.is_string() && !stop.get_ref<const std::string&>().empty() &&
                      stop.get_ref<const std::string&>().size() <= kStopBytesMax;
    if (!fits) return expected(key, what, stop);
    draft.request.stops.push_back(stop.get<std::string>());
  }
  return {};
}

Fault take_logprobs(const std::string& key, const json& given, Draft& draft) {
  draft.request.logprobs = whole_number(given, 0, kLogprobsMax);
  if (!draft.request.logprobs) return expected(key, fmt::format("0 to {}", kLogprobsMax), given);
  return {};
}

Fault take_stream(const std::string& key, const json& given, Draft& draft) {
  if (!given.is_boolean()) return expected(key, "true or false", given);
  draft.request.stream = given.get<bool>();
  return {};
}

Fault take_stream_options(const std::string& key, const json& given, Draft& draft) {
  if (!given.is_object()) return expected(key, "an object", given);
  draft.has_stream_options = true;
  for (const auto& [name, value] : given.items()) {
    const std::string path = key + "." + name.substr(0, kShownFieldMax);
    // Pieces are not padded to hide their lengths, with which nothing is encrypted here anyway.
    const bool known = name == "include_usage" || name == "include_obfuscation";
    if (!known) {
      return ApiError{.message = path + ": unknown field; known is include_usage",
                      .param = path,
                      .code = "unknown_parameter"};
    }
    if (!value.is_boolean()) return expected(path, "true or false", value);
    if (name == "include_usage") draft.request.include_usage = value.get<bool>();
  }
  return {};
}

Fault ignore(const std::string& /*key*/, const json& /*given*/, Draft& /*draft*/) { return {}; }

// What OpenAI's API can do and this cannot: taken where it changes nothing.
Fault must_be_neutral(const std::string& key, const json& given, Draft& /*draft*/) {
  json neutral = 0;
  if (key == "echo") neutral = false;
  if (key == "suffix") neutral = "";
  if (key == "logit_bias") neutral = json::object();
  if (given == neutral) return {};
  ApiError error = expected(key, neutral.dump() + ", since more is not supported here", given);
  error.code = "unsupported_value";
  return error;
}

struct Field {
  std::string_view key;
  Fault (*take)(const std::string& key, const json& given, Draft& draft);
};
constexpr std::array kFields = {Field{"prompt", take_prompt},
                                Field{"model", take_model},
                                Field{"max_tokens", take_max_tokens},
                                Field{"max_completion_tokens", take_max_tokens},
                                Field{"temperature", take_temperature},
                                Field{"top_p", take_top_p},
                                Field{"n", take_n},
                                Field{"best_of", take_best_of},
                                Field{"seed", take_seed},
                                Field{"stop", take_stop},
                                Field{"logprobs", take_logprobs},
                                Field{"stream", take_stream},
                                Field{"stream_options", take_stream_options},
                                Field{"echo", must_be_neutral},
                                Field{"suffix", must_be_neutral},
                                Field{"logit_bias", must_be_neutral},
                                Field{"presence_penalty", must_be_neutral},
                                Field{"frequency_penalty", must_be_neutral},
                                Field{"user", ignore},
                                Field{"metadata", ignore},
                                Field{"store", ignore},
                                Field{"service_tier", ignore},
                                Field{"safety_identifier", ignore},
                                Field{"prompt_cache_key", ignore}};

ApiError unknown_field(const std::string& key) {
  std::string known;
  for (const Field& field : kFields) {
    if (field.take == ignore || field.take == must_be_neutral) continue;
    known += (known.empty() ? "" : ", ") + std::string(field.key);
  }
  const std::string shown = key.substr(0, kShownFieldMax);
  return {.message = fmt::format("{}: unknown field; known are {}", shown, known),
          .param = shown,
          .code = "unknown_parameter"};
}

Fault take_field(const std::string& key, const json& given, Draft& draft) {
  const auto* const field = std::find_if(kFields.begin(), kFields.end(),
                                         [&](const Field& each) { return each.key == key; });
  if (field == kFields.end()) return unknown_field(key);
  // Some clients send null where they mean the default.
  return given.is_null() ? Fault() : field->take(key, given, draft);
}

// What depends on several fields.
Fault finish(Draft& draft) {
  CompletionRequest& request = draft.request;
  const TextRule& rule = draft.rule;
  if (request.prompts.empty()) {
    return ApiError{.message = "prompt: expected one, got none", .param = "prompt"};
  }
  if (request.choices() > rule.choices_max) {
    return ApiError{.message = fmt::format("n: expected at most {} texts in all, got {} for each "
                                           "of {} prompts",
                                           rule.choices_max, request.n, request.prompts.size()),
                    .param = "n"};
  }
  if (draft.best_of.value_or(request.n) != request.n) {
    return ApiError{.message = fmt::format("best_of: expected the same as n ({}), since all texts "
                                           "are given, got {}",
                                           request.n, *draft.best_of),
                    .param = "best_of",
                    .code = "unsupported_value"};
  }
  if (draft.has_stream_options && !request.stream) {
    return ApiError{.message = "stream_options: expected none without \"stream\": true",
                    .param = "stream_options"};
  }
  for (CompletionPrompt& prompt : request.prompts) {
    prompt.max_tokens = std::min(draft.max_tokens.value_or(kDefaultTokens), rule.tokens_max);
    if (rule.context == 0) continue;
    const auto length = static_cast<std::int64_t>(prompt.tokens.size());
    prompt.max_tokens = std::min(prompt.max_tokens, rule.context - length);
  }
  return {};
}

}  // namespace

std::variant<CompletionRequest, ApiError> parse_completion(std::string_view body,
                                                           const TextRule& rule) {
  const auto parsed = parse_json_object(body, kTreeDepthMax);
  if (const auto* error = std::get_if<ApiError>(&parsed)) return *error;
  Draft draft{rule};
  for (const auto& [key, given] : std::get<json>(parsed).items()) {
    if (Fault fault = take_field(key, given, draft)) return *fault;
  }
  if (Fault fault = finish(draft)) return *fault;
  return std::move(draft.request);
}

}  // namespace weft
