// The recipe that the tests of this folder train: a small network on synthetic images, without any
// file.
#pragma once

#include <cmath>
#include <span>

#include "weft/train/recipe/recipe.h"

namespace weft {

inline Recipe small_recipe() {
  Recipe recipe;
  recipe.model.name = "mlp";
  recipe.model.hidden_units = 16;
  recipe.data.name = "synthetic";
  recipe.data.synthetic_samples = 256;
  recipe.run.steps = 6;
  recipe.run.global_batch = 24;
  recipe.schedule.name = "constant";
  return recipe;
}

// |a - b| / |b| in the Euclidean norm.
inline double relative_difference(std::span<const float> a, std::span<const float> b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / norm);
}

}  // namespace weft
