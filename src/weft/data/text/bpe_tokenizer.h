// BpeTokenizer: byte-level byte-pair encoding, its training, and Hugging Face's tokenizer.json.
//
// IMPLEMENTATION: Sennrich, Haddow, Birch, "Neural machine translation of rare words with subword
// units", ACL 2016, algorithm 1, over bytes instead of characters as in Radford et al. 2019
// (GPT-2), so that every text has an encoding. A text is cut into pieces (piece_splitter.h); in
// each piece the pair of least rank is merged, the leftmost first, until none is left:
// O(n log n) for a piece of n bytes.
// Threads: immutable once made.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/text/piece_splitter.h"
#include "weft/data/tokenizer.h"

namespace weft {

inline constexpr std::int64_t kBpeTokensMax = std::int64_t{1} << 22U;
inline constexpr std::size_t kBpeAddedMax = 4096;

// A token that is matched in the text before it is cut into pieces; the longest match wins.
struct AddedToken {
  std::int32_t token = 0;
  std::string text;
  bool special = false;
};

struct BpeModel {
  std::vector<std::string> tokens;  // the bytes of each; empty where a number is not in use
  // Pairs of tokens in the order of their rank; `tokens` holds the result of each.
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;
  std::vector<AddedToken> added;
  std::vector<PieceRule> rules = {{std::string(kGpt2Pattern)}};
  bool space_before = false;  // a text that does not begin with a space gets one
  bool whole_pieces = false;  // a piece that is a token is not merged up ("ignore_merges")
};

class BpeTokenizer final : public Tokenizer {
 public:
  // Takes `model`. Fails: kCorrupt if a byte has no token, a merge names or makes a missing token,
  // two tokens have the same bytes, or a pattern does not compile.
  static Result<std::unique_ptr<Tokenizer>> make(BpeModel model);

  std::int64_t vocabulary() const override {
    return static_cast<std::int64_t>(model_.tokens.size());
  }
  Result<std::vector<std::int32_t>> encode(std::string_view text) const override;
  Result<std::string> decode(std::span<const std::int32_t> tokens) const override;
  std::string file_text() const override;

  const BpeModel& model() const { return model_; }

 private:
  struct Merge {
    std::int32_t rank;
    std::int32_t token;
  };
  using Cache = std::unordered_map<std::string_view, std::vector<std::int32_t>>;

  BpeTokenizer() = default;
  Status index_tokens();
  Status index_merges();
  Status encode_part(std::string_view text, Cache& cache, std::vector<std::int32_t>& out) const;
  std::vector<std::int32_t> encode_piece(std::string_view piece) const;
  const AddedToken* added_at(std::string_view text) const;

  BpeModel model_;
  PieceSplitter splitter_;
  std::array<std::int32_t, 256> byte_tokens_{};
  std::unordered_map<std::string_view, std::int32_t> token_of_;    // views of model_.tokens
  std::unordered_map<std::uint64_t, Merge> merges_;                // by left << 32 | right
  std::array<std::vector<const AddedToken*>, 256> added_by_byte_;  // by first byte, longest first
};

struct BpeTrainingOptions {
  std::int64_t vocabulary = 1024;   // 256 bytes, merges and `special`; fewer if the text gives out
  std::int64_t pair_count_min = 2;  // pairs that are rarer are not merged
  std::vector<std::string> special = {};  // added tokens, after the merges
  std::vector<PieceRule> rules = {{std::string(kGpt2Pattern)}};
};

// Merges the most frequent pair of `text` until the vocabulary is full; among equally frequent
// pairs, the one with the smaller left token, then with the smaller right token. The result is the
// same on every machine. Fails: kInvalidArgument on a vocabulary that does not hold 256 bytes and
// `special`.
Result<BpeModel> train_bpe(std::string_view text, const BpeTrainingOptions& options);

// The characters by which GPT-2 writes bytes in JSON: the byte itself if it is visible, else U+0100
// on.
const std::array<std::uint32_t, 256>& byte_characters();
// The order of GPT-2's first 256 tokens: '!' is 0.
const std::array<std::uint8_t, 256>& byte_order();

// tokenizer.json: model BPE over bytes; pre_tokenizer null, ByteLevel, Split, or a Sequence of
// them; no normalizer; decoder ByteLevel or null. encode() adds no tokens of a post_processor.
// Fails: kCorrupt on anything else, with what was expected.
Result<std::unique_ptr<Tokenizer>> parse_tokenizer_json(std::string_view text);
std::string tokenizer_json(const BpeModel& model);

}  // namespace weft
