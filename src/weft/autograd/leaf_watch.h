// What others want to know about leaves and hooks: optimizers, which leaves a backward has reached;
// captured steps, whether there is host code that a replay would not run.
//
// Where it stands: Module::bind() -> move_leaf(), mark_gradients(); train/captured_step.h asks
// the rest.
// Threads: as the leaves; counts are those of the calling thread.
// Fails: std::invalid_argument where mark_gradients gets no leaf that takes a gradient.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/autograd/tensor.h"

namespace weft {

// From now on each backward that writes the gradient of `leaf`, and each replay of a captured one,
// sets *written to true.
void mark_gradients(const Tensor& leaf, std::shared_ptr<bool> written);

// `leaf` and the handles that share its node stay one tensor, whose values are those of `place`:
// what they were is not copied. `leaf` shows `place` from now on; so do the other handles if the
// storage of their values follows it (Storage::follow). A gradient so far is forgotten.
void move_leaf(Tensor& leaf, const Array& place);

// Whether `tensor` has hooks of either kind.
bool has_hooks(const Tensor& tensor);

// How many hooks were registered so far: two equal counts say that what ran between them registered
// none.
std::uint64_t hooks_registered();

// Whether an AnomalyMode, or a checkpoint that runs now, looks at each operation.
bool operations_are_watched();

namespace internal {

void count_hook();

}  // namespace internal
}  // namespace weft
