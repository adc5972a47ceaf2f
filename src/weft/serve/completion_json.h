// The JSON of POST /v1/completions, as OpenAI's API has it: a prompt in, a text_completion out.
//
//   request := {"prompt": text or [token{1..}], "max_tokens": integer, "temperature": number,
//               "seed": integer, "stream": boolean, "model": text, "user": text}
//
// Keys of OpenAI's that would change the answer and are not known here (n, stop, top_p, ...) are
// refused unless they say what holds anyway.
// Threads: pure functions. Fails: kInvalidArgument with the key and what was expected.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/tokenizer.h"

namespace weft {

// What a prompt and its continuation may be.
struct TextRule {
  std::int64_t vocabulary = 1;
  std::int64_t context = 0;  // most tokens of prompt and continuation; 0: prompt_tokens_max
  std::int64_t prompt_tokens_max = 8192;
  std::int64_t tokens_max = 1024;        // of a continuation
  const Tokenizer* tokenizer = nullptr;  // null: prompts are tokens
};

struct CompletionRequest {
  std::vector<std::int32_t> prompt;
  std::int64_t max_tokens = 16;
  double temperature = 1.0;  // 0: the likeliest token each time
  std::optional<std::uint64_t> seed;
  bool stream = false;
  std::string model;  // empty: not said
};
Result<CompletionRequest> parse_completion(std::string_view body, const TextRule& rule);

// One text_completion object, whole or a piece of a stream.
struct CompletionPiece {
  std::string id;
  std::int64_t created = 0;  // unix time
  std::string model;
  std::string text;
  std::span<const std::int32_t> tokens;
  std::string finish_reason;  // empty: there is more to come
  bool with_usage = false;    // the whole answer, or the last piece of a stream
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
};
std::string completion_json(const CompletionPiece& piece);

// Bytes of tokens as they come to text: a character is given once it is whole, and bytes that are
// part of none become U+FFFD. However the bytes are cut, the text is the same.
class TextAssembler {
 public:
  std::string add(std::string_view bytes);
  // What is left at the end.
  std::string finish();

 private:
  std::string take(bool at_end);
  std::string pending_;
};

}  // namespace weft
