// Training of a byte-level BPE: pair counts that are kept up to date, not counted anew.
//
// IMPLEMENTATION: a heap of (count, pair) in which an entry whose count has changed is put back
// with the new one when it comes to the top; each pair knows the pieces it may be in. A merge
// costs the length of those pieces.
#include <algorithm>
#include <queue>
#include <unordered_set>

#include <fmt/format.h>

#include "weft/data/text/bpe_tokenizer.h"

namespace weft {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

struct PairHash {
  std::size_t operator()(const Pair& pair) const {
    const auto key = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(pair.first)) << 32U) |
                     static_cast<std::uint32_t>(pair.second);
    return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15ULL >> 7U);
  }
};

// A piece of the text, as the tokens it consists of so far.
struct Word {
  std::vector<std::int32_t> tokens;
  std::int64_t count = 0;  // how often the text has it
};

struct PairEntry {
  std::int64_t count;
  Pair pair;

  // The largest count on top of a std::priority_queue; of one count, the smallest pair.
  bool operator<(const PairEntry& other) const {
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class Training {
 public:
  explicit Training(std::vector<Word> words) : words_(std::move(words)) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto& tokens = words_[i].tokens;
      for (std::size_t at = 0; at + 1 < tokens.size(); ++at) {
        add({tokens[at], tokens[at + 1]}, words_[i].count, i);
      }
    }
    for (const auto& [pair, count] : counts_) queue_.push({count, pair});
  }

  // The most frequent pair that occurs at least `count_min` times.
  bool best_pair(std::int64_t count_min, Pair& best) {
    while (!queue_.empty()) {
      const PairEntry entry = queue_.top();
      queue_.pop();
      const std::int64_t count = counts_[entry.pair];
      if (count != entry.count) {
        if (count > 0) queue_.push({count, entry.pair});
        continue;
      }
      if (count < count_min) return false;
      best = entry.pair;
      return true;
    }
    return false;
  }

  // Replaces the pair by `token` everywhere.
  void merge(const Pair& pair, std::int32_t token) {
    std::vector<std::size_t> places(places_[pair].begin(), places_[pair].end());
    std::unordered_set<Pair, PairHash> changed;
    for (const std::size_t place : places) merge_word(place, pair, token, changed);
    places_.erase(pair);
    counts_[pair] = 0;
    for (const Pair& each : changed) queue_.push({counts_[each], each});
  }

 private:
  void add(const Pair& pair, std::int64_t count, std::size_t place) {
    counts_[pair] += count;
    places_[pair].insert(place);
  }

  void merge_word(std::size_t place, const Pair& pair, std::int32_t token,
                  std::unordered_set<Pair, PairHash>& changed) {
    Word& word = words_[place];
    std::vector<std::int32_t> merged;
    for (std::size_t at = 0; at < word.tokens.size(); ++at) {
      const bool found = at + 1 < word.tokens.size() && word.tokens[at] == pair.first &&
                         word.tokens[at + 1] == pair.second;
      merged.push_back(found ? token : word.tokens[at]);
      if (found) ++at;
    }
    if (merged.size() == word.tokens.size()) return;
    for (std::size_t at = 0; at + 1 < word.tokens.size(); ++at) {
      counts_[{word.tokens[at], word.tokens[at + 1]}] -= word.count;
    }
    for (std::size_t at = 0; at + 1 < merged.size(); ++at) {
      const Pair each{merged[at], merged[at + 1]};
      add(each, word.count, place);
      if (each.first == token || each.second == token) changed.insert(each);
    }
    word.tokens = std::move(merged);
  }

  std::vector<Word> words_;
  std::unordered_map<Pair, std::int64_t, PairHash> counts_;
  std::unordered_map<Pair, std::unordered_set<std::size_t>, PairHash> places_;
  std::priority_queue<PairEntry> queue_;
};

Result<std::vector<Word>> count_words(std::string_view text, const std::vector<PieceRule>& rules) {
  WEFT_TRY_ASSIGN(const PieceSplitter splitter, PieceSplitter::make(rules));
  WEFT_TRY_ASSIGN(const auto pieces, splitter.split(text));
  std::array<std::int32_t, 256> token_of{};
  for (std::size_t i = 0; i < token_of.size(); ++i) {
    token_of[byte_order()[i]] = static_cast<std::int32_t>(i);
  }
  std::unordered_map<std::string_view, std::size_t> places;
  std::vector<Word> words;
  for (const std::string_view piece : pieces) {
    const auto [place, fresh] = places.emplace(piece, words.size());
    if (fresh) {
      Word word;
      for (const char byte : piece) {
        word.tokens.push_back(token_of[static_cast<std::uint8_t>(byte)]);
      }
      words.push_back(std::move(word));
    }
    ++words[place->second].count;
  }
  return words;
}

}  // namespace

Result<BpeModel> train_bpe(std::string_view text, const BpeTrainingOptions& options) {
  const auto special = static_cast<std::int64_t>(options.special.size());
  if (options.vocabulary < 256 + special || options.vocabulary > kBpeTokensMax) {
    return invalid_argument(fmt::format("BPE: expected a vocabulary of {} to {}, got {}",
                                        256 + special, kBpeTokensMax, options.vocabulary));
  }
  WEFT_TRY_ASSIGN(std::vector<Word> words, count_words(text, options.rules));
  BpeModel model;
  model.rules = options.rules;
  for (const std::uint8_t byte : byte_order())
    model.tokens.emplace_back(1, static_cast<char>(byte));
  std::unordered_map<std::string, std::int32_t> token_of;
  for (std::size_t i = 0; i < model.tokens.size(); ++i) {
    token_of[model.tokens[i]] = static_cast<std::int32_t>(i);
  }
  Training training(std::move(words));
  Pair pair;
  while (static_cast<std::int64_t>(model.tokens.size()) < options.vocabulary - special &&
         training.best_pair(std::max<std::int64_t>(1, options.pair_count_min), pair)) {
    std::string bytes = model.tokens[static_cast<std::size_t>(pair.first)] +
                        model.tokens[static_cast<std::size_t>(pair.second)];
    // Two merges may lead to the same bytes: they make one token.
    const auto [known, fresh] =
        token_of.emplace(std::move(bytes), static_cast<std::int32_t>(model.tokens.size()));
    if (fresh) model.tokens.push_back(known->first);
    model.merges.push_back(pair);
    training.merge(pair, known->second);
  }
  for (const std::string& text_of_token : options.special) {
    model.added.push_back({static_cast<std::int32_t>(model.tokens.size()), text_of_token, true});
    model.tokens.push_back(text_of_token);
  }
  return model;
}

}  // namespace weft
