// The JSON of text_completion objects, as OpenAI's API has them: a whole answer, or a piece of a
// stream.
//
//   {"id": text, "object": "text_completion", "created": unix time, "model": text,
//    "choices": [{"text": text, "index": integer, "logprobs": null or {...},
//                 "finish_reason": null, "stop" or "length", "tokens": [integer]}],
//    "usage": {"prompt_tokens": .., "completion_tokens": .., "total_tokens": ..}}
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/data/tokenizer.h"
#include "weft/serve/text/choice_text.h"

namespace weft {

struct CompletionHead {
  std::string id;
  std::int64_t created = 0;  // unix time
  std::string model;
};

struct CompletionChoice {
  std::int64_t index = 0;
  TextPiece piece;
  std::string_view finish_reason = {};  // empty: there is more to come
};

struct CompletionUsage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
};

// How choices and usage are shown.
struct CompletionForm {
  const Tokenizer* tokenizer = nullptr;
  bool logprobs = false;
  bool stream_usage = false;  // the last piece of the stream has the usage, the others have null
};

std::string completion_json(const CompletionHead& head, std::span<const CompletionChoice> choices,
                            const std::optional<CompletionUsage>& usage,
                            const CompletionForm& form);

// The name of a token in "logprobs": its text; "bytes:\xe2\x82" if its bytes are not UTF-8 by
// themselves; "token:17" without a tokenizer.
std::string token_name(const Tokenizer* tokenizer, std::int32_t token);

}  // namespace weft
