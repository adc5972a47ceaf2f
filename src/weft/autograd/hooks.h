// Hooks: the caller's functions that see the gradient of one tensor during backward.
//
// Threads: they run on the thread of the backward. A hook may throw; the backward ends then.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "weft/array/array.h"

namespace weft {

class Tensor;

// Gets the gradient; its result replaces the gradient, unless it is undefined. In a backward with
// create_graph the gradient has a history and the hook's operations are recorded.
using GradientHook = std::function<Tensor(const Tensor& gradient)>;
using AccumulatedHook = std::function<void(const Array& gradient)>;

namespace internal {

// The hooks of one tensor, in the order of their registration.
template <class Hook>
struct HookList {
  std::vector<std::pair<std::uint64_t, Hook>> hooks;
  std::uint64_t next_id = 0;
};

}  // namespace internal

// Can remove its hook; destroying the handle leaves the hook in place.
class HookHandle {
 public:
  HookHandle() = default;
  // No effect the second time or when the tensor is gone.
  void remove();

 private:
  friend class Tensor;
  explicit HookHandle(std::function<void()> remove) : remove_(std::move(remove)) {}
  std::function<void()> remove_;
};

}  // namespace weft
