// ViewFamily: the history of memory that several tensors share. Only for autograd/*.cpp.
//
// Where it stands: the first view of a tensor with history founds the family of that tensor, its
// base, and joins it; views of views join too. A write in place through any member gives the base a
// new history: the previous one with the written part replaced. Each member is updated at its next
// use (bring_up_to_date) and then has the history of its part of the base.
// The nodes of members hold the family while they have handles; without handles nothing uses it.
// Threads: as the graph.
// Fails: std::invalid_argument if a member cannot follow, since it is the result of more than a
// view.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "weft/array/array.h"
#include "weft/autograd/node.h"
#include "weft/base/intrusive.h"

namespace weft {

class ViewFamily final : public RefCounted {
 public:
  // `base` has the history `current`.
  ViewFamily(const Array& base, IntrusivePtr<Node> current);
  static void destroy(ViewFamily* family) { const std::unique_ptr<ViewFamily> last(family); }

  // The position of the base, without its storage: histories may own that, and would own
  // themselves.
  const Array& base() const { return base_; }
  // Whether `array` is in the memory of the base; a copy of old values does not.
  bool holds(const Array& array) const { return array.storage()->id() == storage_id_; }
  const IntrusivePtr<Node>& current() const { return current_; }
  // Counts the histories that the base has had.
  std::uint64_t generation() const { return generation_; }
  void replace(IntrusivePtr<Node> current);

 private:
  Array base_;
  std::uint64_t storage_id_;
  IntrusivePtr<Node> current_;
  std::uint64_t generation_ = 0;
};

namespace internal {

// Gives `tensor` the present history of its memory if a write through another member has changed
// it. `name`: the caller, for the text of a refusal; with null it is left unchanged instead.
void bring_up_to_date(const Tensor& tensor, const char* name);
// Lets `node`, whose output is `output`, join the family of the input whose memory it shows.
void join_family(Node& node, const Array& output, std::span<const Tensor* const> inputs);
// Null if no other tensor can show the memory of `tensor`, whose history is no leaf's.
IntrusivePtr<ViewFamily> family_of(const Tensor& tensor);
// Gives the node of `tensor` the present history of the family.
void enter_family(const Tensor& tensor, const IntrusivePtr<ViewFamily>& family);
// Tensors without history, the first the base and the others its views, get one in which nothing
// has happened yet.
void found_family(std::span<const Tensor* const> members);
// `base`, whose history so far is `history` (null: none), with the part that `part` shows written:
// that has the history of `part` from now on.
Tensor with_part(const Array& base, const IntrusivePtr<Node>& history, const Tensor& part);

}  // namespace internal
}  // namespace weft
