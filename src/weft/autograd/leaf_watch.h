// Facts about leaves and hooks for other code: for optimizers, which leaves a backward has reached;
// for captured steps, whether there is host code that a replay would not run.
//
// Where it stands: Module::bind() -> move_leaf(), mark_gradients(); train/capture/captured_step.h
// uses the rest. Threads: as the leaves; counts are those of the calling thread. Fails:
// std::invalid_argument if mark_gradients gets a tensor that is not a leaf with a gradient.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/autograd/tensor.h"

namespace weft {

// From now on each backward that writes the gradient of `leaf`, and each replay of a captured one,
// sets *written to true.
void mark_gradients(const Tensor& leaf, std::shared_ptr<bool> written);

// `leaf` and the handles that share its node stay one tensor, whose values are those of `place`:
// the old values are not copied. `leaf` uses `place` from now on; so do the other handles if the
// storage of their values follows it (Storage::follow). An existing gradient is dropped.
void move_leaf(Tensor& leaf, const Array& place);

// Whether a gradient of the outputs reaches a leaf that takes one by a way that leads through none
// of `inputs`.
bool depends_on_others(std::span<const Tensor> outputs, std::span<const Tensor> inputs);

// Whether `tensor` has hooks of either kind.
bool has_hooks(const Tensor& tensor);

// How many hooks were registered so far: two equal counts mean that the code between them
// registered none.
std::uint64_t hooks_registered();

// Whether an AnomalyMode, or a running checkpoint, observes each operation.
bool operations_are_watched();

namespace internal {

void count_hook();

}  // namespace internal
}  // namespace weft
