// CausalLanguageModel: what a model of text offers beside training: logits behind cached tokens,
// step by step, for whatever generates text.
#pragma once

#include <vector>

#include "weft/nn/attention.h"

namespace weft {

// One a block; empty at the start of a text.
using TextCache = std::vector<KeyValueCache>;

class CausalLanguageModel : public Module {
 public:
  // Logits [N, T, vocabulary] for `tokens` i64 [N, T] that follow those in the cache, to which they
  // are added; the same up to rounding as forward() of the whole text. Without history.
  virtual Tensor forward_cached(const Tensor& tokens, TextCache& cache) = 0;
};

}  // namespace weft
