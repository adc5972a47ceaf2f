#include "weft/serve/text/choice_text.h"

#include <algorithm>
#include <utility>

#include "weft/base/check.h"
#include "weft/base/utf8.h"

namespace weft {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::size_t kCharacterBytesMax = 4;

}  // namespace

Result<TextPiece> ChoiceText::add(DrawnToken token) {
  WEFT_CHECK(!stopped_);
  if (tokenizer_ == nullptr) return TextPiece{{}, {{std::move(token), 0}}};
  Result<std::string> bytes = tokenizer_->decode(std::span(&token.token, 1));
  if (!bytes.ok()) return internal_error(bytes.status().message());
  waiting_.push_back({{std::move(token), 0}, bytes_added_});
  bytes_added_ += bytes->size();
  bytes_ += *bytes;
  take_characters(false);
  return release(stopped_ ? 0 : undecided());
}

TextPiece ChoiceText::finish() {
  if (!stopped_) take_characters(true);
  TextPiece piece = release(0);
  if (stopped_) return piece;
  // Tokens without bytes at the end.
  for (Waiting& waiting : waiting_) {
    waiting.token.text_offset = characters_;
    piece.tokens.push_back(std::move(waiting.token));
  }
  waiting_.clear();
  return piece;
}

void ChoiceText::take_characters(bool at_end) {
  std::size_t used = 0;
  while (used < bytes_.size() && !stopped_) {
    const std::string_view rest = std::string_view(bytes_).substr(used);
    const std::size_t length = first_character(rest).length;
    // Four bytes decide whether a character begins here.
    if (length == 0 && !at_end && rest.size() < kCharacterBytesMax) break;
    const std::size_t bytes = std::max<std::size_t>(length, 1);
    take_character(length > 0 ? rest.substr(0, length) : kReplacement, bytes);
    used += bytes;
  }
  bytes_.erase(0, used);
}

void ChoiceText::take_character(std::string_view character, std::size_t bytes) {
  bytes_taken_ += bytes;
  for (Waiting& waiting : waiting_) {
    if (waiting.placed || waiting.first_byte >= bytes_taken_) continue;
    waiting.token.text_offset = characters_;
    waiting.text_position = text_given_ + held_.size();
    waiting.placed = true;
  }
  held_ += character;
  ++characters_;
  std::size_t longest = 0;
  for (const std::string& stop : stops_) {
    if (held_.ends_with(stop)) longest = std::max(longest, stop.size());
  }
  if (longest == 0) return;
  stopped_ = true;
  held_.resize(held_.size() - longest);
  const std::size_t end = text_given_ + held_.size();
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    return !waiting.placed || waiting.text_position >= end;
  });
}

// Bytes at the end of the held text that may be the beginning of a stop text.
std::size_t ChoiceText::undecided() const {
  const std::string_view held = held_;
  for (std::size_t begin = 0; begin < held.size(); ++begin) {
    const std::string_view rest = held.substr(begin);
    if (std::any_of(stops_.begin(), stops_.end(),
                    [&](const std::string& stop) { return stop.starts_with(rest); })) {
      return rest.size();
    }
  }
  return 0;
}

TextPiece ChoiceText::release(std::size_t kept_back) {
  TextPiece piece;
  piece.text = held_.substr(0, held_.size() - kept_back);
  held_.erase(0, piece.text.size());
  text_given_ += piece.text.size();
  while (!waiting_.empty() && waiting_.front().placed &&
         waiting_.front().text_position < text_given_) {
    piece.tokens.push_back(std::move(waiting_.front().token));
    waiting_.pop_front();
  }
  return piece;
}

}  // namespace weft
