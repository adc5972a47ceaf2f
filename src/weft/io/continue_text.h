// continue_tokens(): generates the continuation of a text by a language model, which `weft predict`
// prints.
//
// Threads: the thread that owns the model. Fails: std::invalid_argument where the model does.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/nn/language_model.h"

namespace weft {

struct ContinueOptions {
  std::int64_t tokens = 200;  // to add
  double temperature = 0.0;   // 0: always the most likely token
  std::uint64_t seed = 1;     // of what is drawn
};

// Returns the tokens that follow `text`, which has at least one. When the context is full, its
// second half begins a new one. The same options give the same tokens on every machine.
std::vector<std::int32_t> continue_tokens(CausalLanguageModel& model,
                                          std::vector<std::int32_t> text,
                                          const ContinueOptions& options);

}  // namespace weft
