// while_loop() and if_else(): control flow over Tensors that is part of a captured graph and has
// gradients.
//
//   // Newton's iteration for a square root: variables {x}, constants {a}.
//   const std::vector<Tensor> result = while_loop(
//       [](Tensors v, Tensors c) { return greater(max(abs(v[0] * v[0] - c[0])), 1e-6); },
//       [](Tensors v, Tensors c) { return std::vector<Tensor>{(v[0] + c[0] / v[0]) * 0.5}; },
//       {start}, {a});
//
// Usable eagerly and under capture(), with the same values bit for bit. Captured, condition, body
// and branches are sub-graphs, recorded once; in each replay the current values decide how often or
// which of them runs. The gradient of a loop keeps the variables of every iteration on a stack,
// traverses it backwards and runs the body's forward again from them; so a loop of n iterations
// holds n times its variables, not n times the body's intermediate values.
// The functions must compute from their arguments: tensors that take a gradient are passed as
// variables, constants or operands, not captured by the function, or this throws. While a graph is
// recorded each function runs at least once, regardless of the condition.
//
// IMPLEMENTATION: Yu et al., "Dynamic control flow in large-scale machine learning", EuroSys 2018:
// loop variables and invariants, one node per loop as in its functional form, gradients by a loop
// in the other direction over saved state (section 5). Differs: no dataflow tokens, a loop runs on
// one thread in order; the body's forward is run again instead of saving its values (as in Chen et
// al., "Training deep nets with sublinear memory cost", 2016).
// Threads: as record().
// Fails: std::invalid_argument "[while_loop] expected ..., got ..." for other numbers, shapes or
// types of results than those of the variables, or branches that disagree. No second gradient.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

using Tensors = std::span<const Tensor>;
// One value; the loop goes on while it is not 0.
using LoopCondition = std::function<Tensor(Tensors variables, Tensors constants)>;
// New values of the variables, with their shapes and types.
using LoopBody = std::function<std::vector<Tensor>(Tensors variables, Tensors constants)>;

struct WhileOptions {
  // More throw std::runtime_error.
  std::int64_t iterations_max = std::numeric_limits<std::int64_t>::max();
};

// The variables when the condition fails for the first time.
std::vector<Tensor> while_loop(const LoopCondition& condition, const LoopBody& body,
                               const std::vector<Tensor>& variables,
                               const std::vector<Tensor>& constants = {},
                               const WhileOptions& options = {});

using Branch = std::function<std::vector<Tensor>(Tensors operands)>;

// then(operands) if `predicate`, one value, is not 0, else otherwise(operands); both return the
// same number of results with the same shapes and types.
std::vector<Tensor> if_else(const Tensor& predicate, const Branch& then, const Branch& otherwise,
                            const std::vector<Tensor>& operands);

}  // namespace weft
