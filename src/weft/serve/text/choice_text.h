// ChoiceText: turns the tokens of one continuation into text, piece by piece, until a stop text
// occurs.
//
// A character is returned once it is complete, and bytes that are not part of a character become
// U+FFFD. Text that may be the beginning of a stop text is held back until that is decided. However
// the bytes are cut into tokens, the text is the same: it ends before the stop text that is
// complete first, the longest
// of those that are complete with the same character.
// Threads: one owner. Fails: kInternal for a token that the tokenizer does not have.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/tokenizer.h"
#include "weft/serve/text/token_draw.h"

namespace weft {

// A token, and the number of characters in the text before the one in which it begins.
struct PlacedToken {
  DrawnToken drawn;
  std::int64_t text_offset = 0;
};

struct TextPiece {
  std::string text;
  std::vector<PlacedToken> tokens;  // those that begin in this text, or in a piece before
};

class ChoiceText {
 public:
  // Borrows `tokenizer`; null: there is no text, and tokens are returned at once.
  // REQUIRES: `stops` are valid UTF-8 and not empty.
  ChoiceText(const Tokenizer* tokenizer, std::vector<std::string> stops)
      : tokenizer_(tokenizer), stops_(std::move(stops)) {}

  // The text that this token completes. REQUIRES: not stopped().
  Result<TextPiece> add(DrawnToken token);
  // The text that was held back, if no token follows.
  TextPiece finish();
  // A stop text has come; it and what follows it are left out.
  bool stopped() const { return stopped_; }

 private:
  struct Waiting {
    PlacedToken token;
    std::size_t first_byte = 0;     // of the tokens' bytes
    std::size_t text_position = 0;  // of the character in which it begins
    bool placed = false;
  };

  void take_characters(bool at_end);
  void take_character(std::string_view character, std::size_t bytes);
  std::size_t undecided() const;
  TextPiece release(std::size_t kept_back);

  const Tokenizer* tokenizer_;
  std::vector<std::string> stops_;
  std::string bytes_;            // of an incomplete character
  std::string held_;             // text that is not given yet
  std::deque<Waiting> waiting_;  // tokens that are not given yet
  std::size_t bytes_added_ = 0;  // of all tokens
  std::size_t bytes_taken_ = 0;  // those that became characters
  std::size_t text_given_ = 0;   // bytes of text
  std::int64_t characters_ = 0;
  bool stopped_ = false;
};

}  // namespace weft
