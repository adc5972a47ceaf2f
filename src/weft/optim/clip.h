// Gradient clipping by the global norm and by value.
#pragma once

#include <span>

namespace weft {

// The Euclidean norm, summed in f64 in one fixed order, the same for any thread count.
double global_norm(std::span<const float> values);

// Scales `gradients` so that their norm is at most `norm_max` > 0; returns the norm before. A
// norm that is not finite leaves them as they are.
// IMPLEMENTATION: Pascanu, Mikolov, Bengio, "On the difficulty of training recurrent neural
// networks", ICML 2013, algorithm 1.
double clip_by_global_norm(std::span<float> gradients, double norm_max);

// Moves every value into [-value_max, value_max]; value_max > 0. A NaN stays one.
void clip_by_value(std::span<float> gradients, double value_max);

}  // namespace weft
