// Tensor: an Array with an optional history, along which backward() carries gradients.
//
// Where it stands: nn and op make Tensors; autograd/backward.h walks their history. A Tensor is a
// handle: copies share the value, the gradient and the history. Operations save what their
// gradients need by reference: a value that is written in place (op/in_place.h) while a graph still
// needs it makes the backward throw.
// Threads: handles may be copied on any thread; one graph belongs to one thread at a time.
// Fails: std::invalid_argument if a call needs a gradient and this Tensor takes none.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "weft/array/arena/parameter_id.h"
#include "weft/array/array.h"
#include "weft/autograd/hooks.h"
#include "weft/base/intrusive.h"

namespace weft {

class Node;
struct NodeAccess;

class Tensor {
 public:
  // Undefined: what an absent bias is.
  Tensor();
  // A leaf that shares `value`; with `requires_grad` (floating types only) it collects gradients.
  explicit Tensor(Array value, bool requires_grad = false);
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  ~Tensor();

  bool defined() const { return array_.defined(); }
  const Array& array() const { return array_; }
  const Shape& shape() const { return array_.shape(); }
  int ndim() const { return array_.ndim(); }
  // `axis` may be negative.
  std::int64_t dim(int axis) const { return array_.dim(axis); }
  std::int64_t size() const { return array_.size(); }
  DType dtype() const { return array_.dtype(); }
  Device device() const { return array_.device(); }
  // The only value of a Tensor of one element.
  double item() const { return array_.item(); }
  double at(std::initializer_list<std::int64_t> positions) const { return array_.at(positions); }

  bool requires_grad() const { return static_cast<bool>(node_); }
  // Whether this was made by the caller and not by an operation.
  bool is_leaf() const;
  // The same value without history.
  Tensor detach() const;

  // The gradient that backward() has accumulated in this leaf; undefined if there is none. It is
  // never blocked and never shared with another gradient. For an operation's output: the gradient
  // of the last backward after retain_grad(), read-only.
  const Array& grad() const;
  // The same; with a history if a backward with create_graph made it.
  Tensor grad_tensor() const;
  // Keeps the gradient of each later backward in grad(). REQUIRES: takes a gradient; it has no
  // effect on a leaf.
  void retain_grad();
  // Grad storage, if given, is filled with zeros; otherwise grad() becomes undefined.
  void zero_grad();
  // From now on gradients accumulate in `gradient` (contiguous, same shape and type), which is
  // shared, not copied, and keeps its present values. REQUIRES: a leaf.
  void set_grad_storage(Array gradient);
  // REQUIRES: a leaf.
  void set_parameter_id(ParameterId id);
  // kNoParameter unless set.
  ParameterId parameter_id() const;

  // Calls `hook` with the gradient of this tensor in each backward, when all its uses have been
  // summed and before it goes on or into grad(). See hooks.h. REQUIRES: takes a gradient.
  HookHandle register_hook(GradientHook hook) const;
  // Calls `hook` with grad() after each backward that wrote it. REQUIRES: a leaf.
  HookHandle register_post_accumulate_hook(AccumulatedHook hook) const;

 private:
  friend struct NodeAccess;
  // Throws for a tensor that takes no gradient, or that is no leaf if it has to be one.
  void require_gradient(const char* call, bool of_leaf) const;
  Array array_;
  // Brought up to date, also in a const Tensor, when a write through another handle has changed how
  // these values came about (view_family.h).
  mutable HandlePtr<Node> node_;
};

// The values alone, as array/print.h shows an Array.
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

// While one lives, operations on this thread record no history. Nests.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

// While one lives, operations on this thread record history, also inside a NoGrad. Nests.
class EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool before_;
};

// Whether operations on this thread record history.
bool grad_enabled();

}  // namespace weft
