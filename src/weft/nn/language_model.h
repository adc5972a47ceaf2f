// CausalLanguageModel: the interface of a text model for generation: logits after cached tokens,
// step by step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/nn/attention.h"

namespace weft {

// The values that a model keeps for earlier tokens; empty at the start of a text. A copy shares
// memory: only one of the two may be continued.
struct TextCache {
  std::vector<KeyValueCache> blocks;  // transformers: one per block
  Array hidden;                       // LSTM: [layers, N, width]
  Array cell;
  std::int64_t tokens = 0;
};
using TextCaches = std::span<TextCache* const>;

class CausalLanguageModel : public Module {
 public:
  // Returns logits [N, T, vocabulary] for `tokens` i64 [N, T] that follow those in the cache, and
  // adds them to it; equal up to rounding to forward() of the whole text. It records no history.
  Tensor forward_cached(const Tensor& tokens, TextCache& cache) {
    TextCache* const only[] = {&cache};
    return forward_texts(tokens, only);
  }
  // The same for texts of different lengths: row i of `tokens` follows those in caches[i], which
  // holds one row. Row i of the result has the same bits as forward_cached() for that row alone.
  // Throws std::invalid_argument unless there is one cache for all rows or one for each.
  virtual Tensor forward_texts(const Tensor& tokens, TextCaches caches) = 0;
  // The largest number of tokens of a text; 0: unlimited.
  virtual std::int64_t context() const = 0;
};

}  // namespace weft
