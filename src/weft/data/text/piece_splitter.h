// PieceSplitter: cuts a text into the pieces across which BPE never merges, by patterns.
//
// Where it stands: BpeTokenizer and its training -> PieceSplitter -> PCRE2. Each pattern cuts the
// pieces of the one before. Bytes that are not UTF-8 form pieces of their own. \s, \d and \w follow
// Unicode; \s is its White_Space.
// Threads: immutable once made; any number may use it.
// Fails: kCorrupt on a pattern that does not compile or that takes more work than its bound, so
// that a hostile pattern cannot hold the process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"

namespace weft {

// GPT-2's pattern: contractions, letters, digits and other signs, each with one space before it;
// spaces.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct PieceRule {
  std::string pattern;
  bool keep_gaps = true;  // text between two matches is a piece too, or is dropped
  friend bool operator==(const PieceRule&, const PieceRule&) = default;
};

class PieceSplitter {
 public:
  PieceSplitter() = default;  // the whole text is one piece

  static Result<PieceSplitter> make(std::vector<PieceRule> rules);

  const std::vector<PieceRule>& rules() const { return rules_; }
  // Returns the pieces of `text`, in order, none empty; they are views of it.
  Result<std::vector<std::string_view>> split(std::string_view text) const;

 private:
  std::vector<PieceRule> rules_;
  std::vector<std::shared_ptr<const void>> codes_;  // compiled; one a rule
};

}  // namespace weft
