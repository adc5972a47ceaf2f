// Any bytes as requests of HTTP, in two pieces and one by one: the outcome is the same; and each
// body as the JSON of a prediction and of a completion: refused with a message, or within bounds.
#include <string>
#include <string_view>

#include "weft/base/check.h"
#include "weft/http/http_parser.h"
#include "weft/serve/json/completion_json.h"
#include "weft/serve/json/predict_json.h"

namespace {

constexpr weft::HttpLimits kLimits = {
    .line_bytes_max = 200, .header_bytes_max = 400, .headers_max = 8, .body_bytes_max = 2000};

void feed(weft::HttpParser& parser, std::string_view bytes, std::string& all) {
  while (!bytes.empty() && !parser.failed()) {
    const std::size_t used = parser.feed(bytes);
    WEFT_CHECK(used > 0 && used <= bytes.size());
    bytes.remove_prefix(used);
    WEFT_CHECK(parser.body_bytes() <= kLimits.body_bytes_max);
    if (!parser.done()) continue;
    const weft::HttpRequest request = parser.take();
    all += request.method + ' ' + request.path + '?' + request.query + '\n';
    WEFT_CHECK(request.headers.size() <= kLimits.headers_max);
    for (const auto& [name, value] : request.headers) all += name + ':' + value + '\n';
    all += request.body + (request.keep_alive ? "\nkeep\n" : "\nclose\n");
  }
}

std::string finish(const weft::HttpParser& parser, std::string all) {
  if (!parser.failed()) return all;
  WEFT_CHECK(parser.fault().status >= 400 && parser.fault().status <= 505);
  return all + std::to_string(parser.fault().status) + parser.fault().reason;
}

std::string outcome(std::string_view text, std::size_t cut) {
  weft::HttpParser parser(kLimits);
  std::string all;
  feed(parser, text.substr(0, cut), all);
  feed(parser, text.substr(cut), all);
  return finish(parser, all);
}

std::string outcome_by_bytes(std::string_view text) {
  weft::HttpParser parser(kLimits);
  std::string all;
  for (std::size_t i = 0; i < text.size(); ++i) feed(parser, text.substr(i, 1), all);
  return finish(parser, all);
}

void try_bodies(std::string_view body) {
  const weft::RowRule rule = {.features = 3, .pixels = true, .rows_max = 4};
  const auto rows = weft::parse_predict(body, rule);
  if (rows.ok()) {
    WEFT_CHECK(rows->rows >= 1 && rows->rows <= rule.rows_max);
    WEFT_CHECK(static_cast<std::int64_t>(rows->values.size()) == rows->rows * rule.features);
  } else {
    WEFT_CHECK(!rows.status().message().empty());
  }
  static const auto tokenizer = weft::make_byte_tokenizer();
  weft::TextRule text;
  text.vocabulary = 256;
  text.context = 32;
  text.tokenizer = tokenizer.get();
  const auto parsed = weft::parse_completion(body, text);
  if (const auto* const error = std::get_if<weft::ApiError>(&parsed)) {
    WEFT_CHECK(error->status == 400 && !error->message.empty());
    return;
  }
  const auto& wanted = std::get<weft::CompletionRequest>(parsed);
  WEFT_CHECK(wanted.choices() >= 1 && wanted.choices() <= text.choices_max);
  WEFT_CHECK(wanted.stops.size() <= 4);
  for (const weft::CompletionPrompt& prompt : wanted.prompts) {
    const auto tokens = static_cast<std::int64_t>(prompt.tokens.size());
    WEFT_CHECK(tokens >= 1 && prompt.max_tokens >= 1);
    WEFT_CHECK(tokens + prompt.max_tokens <= text.context);
  }
}

}  // namespace

// The first byte says what the others are: a body, or requests that are cut where it says.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] == 0) {
    try_bodies(text);
    return 0;
  }
  const std::string whole = outcome(text, 0);
  WEFT_CHECK(outcome(text, text.size() * data[0] / 256) == whole);
  WEFT_CHECK(outcome_by_bytes(text) == whole);
  return 0;
}
