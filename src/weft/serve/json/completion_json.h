// The JSON of a request POST /v1/completions, as OpenAI's API has it.
//
//   request := {"prompt": text, [text{1..}], [token{1..}] or [[token{1..}]{1..}],
//               "model": text, "max_tokens": integer, "temperature": number, "top_p": number,
//               "n": integer, "seed": integer, "stop": text or [text{1..4}], "logprobs": 0 to 5,
//               "stream": boolean, "stream_options": {"include_usage": boolean}}
//
// A field may be null, which means its default, but may not occur twice. Fields of OpenAI's that
// have no effect here (user, ...) are ignored; those that would change the answer and are not
// supported (suffix, ...) are refused unless they have no effect; any other field is refused.
// docs/serving.md has the table.
// Threads: pure functions. Fails: by an ApiError of status 400 that names the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/data/tokenizer.h"
#include "weft/http/api_error.h"
#include "weft/serve/text/token_draw.h"

namespace weft {

// Limits of prompts and their continuations.
struct TextRule {
  std::int64_t vocabulary = 1;
  std::int64_t context = 0;  // most tokens of prompt and continuation; 0: prompt_tokens_max
  std::int64_t prompt_tokens_max = 8192;
  std::int64_t tokens_max = 1024;        // of a continuation
  std::int64_t choices_max = 128;        // of all prompts
  const Tokenizer* tokenizer = nullptr;  // null: prompts are tokens
};

struct CompletionPrompt {
  std::vector<std::int32_t> tokens;
  std::int64_t max_tokens = 16;  // as asked for, or as few as the rule leaves room for
};

struct CompletionRequest {
  std::vector<CompletionPrompt> prompts;
  std::int64_t n = 1;  // continuations of each prompt
  Sampling sampling;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stops;
  std::optional<std::int64_t> logprobs;  // number of the likeliest tokens, besides the drawn one
  bool stream = false;
  bool include_usage = false;  // a last piece of the stream with the usage
  std::string model;           // empty: not said

  std::int64_t choices() const { return static_cast<std::int64_t>(prompts.size()) * n; }
};
std::variant<CompletionRequest, ApiError> parse_completion(std::string_view body,
                                                           const TextRule& rule);

}  // namespace weft
