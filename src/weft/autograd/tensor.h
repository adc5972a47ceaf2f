// Tensor: an Array with an optional history, along which backward() carries gradients.
//
// Where it stands: nn and op make Tensors; autograd/backward.h walks their history. A Tensor is a
// handle: copies share the value, the gradient and the history. The value of a Tensor must not be
// written while a graph that used it still waits for its backward: operations save what their
// gradients need by reference.
// Threads: handles may be copied on any thread; one graph belongs to one thread at a time.
// Fails: std::invalid_argument where a call needs a gradient and this Tensor takes none.
#pragma once

#include <cstdint>

#include "weft/array/array.h"
#include "weft/array/parameter_id.h"
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
  // The only value of a Tensor of one element.
  double item() const { return array_.item(); }

  bool requires_grad() const { return static_cast<bool>(node_); }
  // Whether this was made by the caller and not by an operation.
  bool is_leaf() const;
  // The same value without history.
  Tensor detach() const;

  // What backward() has accumulated in this leaf; undefined if nothing. Never blocked, never
  // shared with another gradient.
  const Array& grad() const;
  // Grad storage, if given, is filled with zeros; otherwise grad() becomes undefined.
  void zero_grad();
  // From now on gradients accumulate in `gradient` (contiguous, same shape and type), which is
  // shared, not copied, and keeps its present values. REQUIRES: a leaf.
  void set_grad_storage(Array gradient);
  // REQUIRES: a leaf.
  void set_parameter_id(ParameterId id);
  // kNoParameter unless set.
  ParameterId parameter_id() const;

 private:
  friend struct NodeAccess;
  Array array_;
  IntrusivePtr<Node> node_;
};

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

// Whether operations on this thread record history.
bool grad_enabled();

}  // namespace weft
