// Small models of every kind and batches for them. Tests only.
#pragma once

#include <cstdint>

#include "weft/array/array.h"
#include "weft/base/rng.h"
#include "weft/nn/zoo.h"

namespace weft {

inline ModelOptions small_model_options(bool dropout) {
  ModelOptions options;
  options.dropout = dropout;
  options.hidden_units = 24;
  options.vocabulary = 13;
  options.context = 12;
  options.layers = 2;
  options.embedding_width = 16;
  options.heads = 2;
  return options;
}

inline Array random_model_inputs(const ModelDef& def, const ModelOptions& options,
                                 std::int64_t rows, Rng& rng) {
  if (def.input == ModelInput::kTokens) {
    Array tokens = Array::empty({rows, options.context}, DType::kI64);
    for (std::int64_t& token : tokens.flat<std::int64_t>()) {
      token = static_cast<std::int64_t>(rng.below(13));
    }
    return tokens;
  }
  Array images = Array::empty({rows, options.channels, options.height, options.width});
  for (float& pixel : images.flat<float>()) pixel = static_cast<float>(rng.normal());
  return images;
}

inline Array random_model_labels(const ModelDef& def, const ModelOptions& options,
                                 std::int64_t rows, Rng& rng) {
  const Shape shape = def.input == ModelInput::kTokens ? Shape{rows, options.context} : Shape{rows};
  Array labels = Array::empty(shape, DType::kI64);
  for (std::int64_t& label : labels.flat<std::int64_t>()) {
    label = static_cast<std::int64_t>(rng.below(10));
  }
  return labels;
}

}  // namespace weft
