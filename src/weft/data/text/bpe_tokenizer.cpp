#include "weft/data/text/bpe_tokenizer.h"

#include <algorithm>
#include <limits>
#include <queue>

#include <fmt/format.h>

namespace weft {
namespace {

constexpr std::size_t kCachedPieces = std::size_t{1} << 16U;
constexpr std::size_t kCachedPieceBytesMax = 64;

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U) |
         static_cast<std::uint32_t>(right);
}

// A symbol of a piece; the live ones form a list.
struct Symbol {
  std::int32_t token;
  std::int32_t previous;
  std::int32_t next;
};

// A merge that was possible when it was noted: of the symbol at `left` and the one after it.
struct Candidate {
  std::int32_t rank;
  std::int32_t left;
  std::int32_t left_token;
  std::int32_t right_token;
  std::int32_t token;

  // The least rank on top of a std::priority_queue; of one rank, the leftmost.
  bool operator<(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> BpeTokenizer::make(BpeModel model) {
  std::unique_ptr<BpeTokenizer> tokenizer(new BpeTokenizer());
  tokenizer->model_ = std::move(model);
  WEFT_TRY(tokenizer->index_tokens());
  WEFT_TRY(tokenizer->index_merges());
  WEFT_TRY_ASSIGN(tokenizer->splitter_, PieceSplitter::make(tokenizer->model_.rules));
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

Status BpeTokenizer::index_tokens() {
  const auto count = static_cast<std::int64_t>(model_.tokens.size());
  if (count > kBpeTokensMax || model_.added.size() > kBpeAddedMax) {
    return corrupt(fmt::format("BPE: expected at most {} tokens and {} added ones, got {} and {}",
                               kBpeTokensMax, kBpeAddedMax, count, model_.added.size()));
  }
  std::vector<bool> is_added(model_.tokens.size());
  for (const AddedToken& added : model_.added) {
    if (added.token < 0 || added.token >= count || added.text.empty()) {
      return corrupt(fmt::format("BPE: expected an added token below {} with a text, got {}", count,
                                 added.token));
    }
    is_added[static_cast<std::size_t>(added.token)] = true;
    added_by_byte_[static_cast<std::uint8_t>(added.text[0])].push_back(&added);
  }
  for (auto& list : added_by_byte_) {
    std::stable_sort(list.begin(), list.end(), [](const AddedToken* a, const AddedToken* b) {
      return a->text.size() > b->text.size();
    });
  }
  for (std::size_t token = 0; token < model_.tokens.size(); ++token) {
    const std::string& bytes = model_.tokens[token];
    if (bytes.empty() || is_added[token]) continue;
    if (!token_of_.emplace(bytes, static_cast<std::int32_t>(token)).second) {
      return corrupt(fmt::format("BPE: expected different tokens, got {} like one before", token));
    }
  }
  for (std::size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    const char text = static_cast<char>(byte);
    const auto found = token_of_.find(std::string_view(&text, 1));
    if (found == token_of_.end()) {
      return corrupt(fmt::format("BPE: expected a token for each byte, got none for {:02x}", byte));
    }
    byte_tokens_[byte] = found->second;
  }
  return {};
}

Status BpeTokenizer::index_merges() {
  const auto count = static_cast<std::int64_t>(model_.tokens.size());
  for (std::size_t rank = 0; rank < model_.merges.size(); ++rank) {
    const auto [left, right] = model_.merges[rank];
    if (left < 0 || left >= count || right < 0 || right >= count) {
      return corrupt(fmt::format("BPE: merge {}: expected tokens below {}, got {} and {}", rank,
                                 count, left, right));
    }
    const std::string bytes = model_.tokens[static_cast<std::size_t>(left)] +
                              model_.tokens[static_cast<std::size_t>(right)];
    const auto found = token_of_.find(bytes);
    if (found == token_of_.end()) {
      return corrupt(
          fmt::format("BPE: merge {}: expected a token for {} {}, got none", rank, left, right));
    }
    merges_.emplace(pair_key(left, right), Merge{static_cast<std::int32_t>(rank), found->second});
  }
  return {};
}

std::vector<std::int32_t> BpeTokenizer::encode_piece(std::string_view piece) const {
  if (model_.whole_pieces) {
    const auto whole = token_of_.find(piece);
    if (whole != token_of_.end()) return {whole->second};
  }
  const auto size = static_cast<std::int32_t>(piece.size());
  std::vector<Symbol> symbols(piece.size());
  for (std::int32_t i = 0; i < size; ++i) {
    const auto at = static_cast<std::size_t>(i);
    symbols[at] = {byte_tokens_[static_cast<std::uint8_t>(piece[at])], i - 1,
                   i + 1 < size ? i + 1 : -1};
  }
  std::priority_queue<Candidate> queue;
  const auto note = [&](std::int32_t left) {
    if (left < 0 || symbols[static_cast<std::size_t>(left)].next < 0) return;
    const Symbol& symbol = symbols[static_cast<std::size_t>(left)];
    const std::int32_t right_token = symbols[static_cast<std::size_t>(symbol.next)].token;
    const auto merge = merges_.find(pair_key(symbol.token, right_token));
    if (merge == merges_.end()) return;
    queue.push({merge->second.rank, left, symbol.token, right_token, merge->second.token});
  };
  for (std::int32_t i = 0; i < size; ++i) note(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& left = symbols[static_cast<std::size_t>(best.left)];
    if (left.token != best.left_token || left.next < 0) continue;  // merged meanwhile
    Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    if (right.token != best.right_token) continue;
    left.token = best.token;
    right.token = -1;
    left.next = right.next;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.left;
    note(left.previous);
    note(best.left);
  }
  std::vector<std::int32_t> tokens;
  for (std::int32_t at = 0; at >= 0; at = symbols[static_cast<std::size_t>(at)].next) {
    tokens.push_back(symbols[static_cast<std::size_t>(at)].token);
  }
  return tokens;
}

// Text without added tokens.
Status BpeTokenizer::encode_part(std::string_view text, Cache& cache,
                                 std::vector<std::int32_t>& out) const {
  WEFT_TRY_ASSIGN(const auto pieces, splitter_.split(text));
  for (const std::string_view piece : pieces) {
    if (piece.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      return invalid_argument("encode: expected a piece below 2^31 bytes, got a longer one");
    }
    const auto known = cache.find(piece);
    if (known != cache.end()) {
      out.insert(out.end(), known->second.begin(), known->second.end());
      continue;
    }
    std::vector<std::int32_t> tokens = encode_piece(piece);
    out.insert(out.end(), tokens.begin(), tokens.end());
    if (piece.size() <= kCachedPieceBytesMax && cache.size() < kCachedPieces) {
      cache.emplace(piece, std::move(tokens));
    }
  }
  return {};
}

const AddedToken* BpeTokenizer::added_at(std::string_view text) const {
  for (const AddedToken* added : added_by_byte_[static_cast<std::uint8_t>(text[0])]) {
    if (text.substr(0, added->text.size()) == added->text) return added;
  }
  return nullptr;
}

Result<std::vector<std::int32_t>> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  Cache cache;  // its keys lie in `text` or in `spaced`
  std::string spaced;
  std::size_t begin = 0;
  const auto flush = [&](std::size_t end) -> Status {
    const std::string_view part = text.substr(begin, end - begin);
    if (part.empty()) return {};
    if (!model_.space_before || part[0] == ' ') return encode_part(part, cache, tokens);
    cache.clear();
    spaced.assign(1, ' ');
    spaced += part;
    Status status = encode_part(spaced, cache, tokens);
    cache.clear();
    return status;
  };
  for (std::size_t at = 0; at < text.size();) {
    const AddedToken* added = added_at(text.substr(at));
    if (added == nullptr) {
      ++at;
      continue;
    }
    WEFT_TRY(flush(at));
    tokens.push_back(added->token);
    at += added->text.size();
    begin = at;
  }
  WEFT_TRY(flush(text.size()));
  return tokens;
}

Result<std::string> BpeTokenizer::decode(std::span<const std::int32_t> tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary() ||
        model_.tokens[static_cast<std::size_t>(token)].empty()) {
      return invalid_argument(
          fmt::format("decode: expected a token below {} in use, got {}", vocabulary(), token));
    }
    text += model_.tokens[static_cast<std::size_t>(token)];
  }
  return text;
}

std::string BpeTokenizer::file_text() const { return tokenizer_json(model_); }

}  // namespace weft
