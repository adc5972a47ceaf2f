// How an operation that writes into the memory of a tensor changes histories. This is the one place
// that decides it; docs/autograd.md has the rules.
//
//   check_written("add_", x);                          // refuses what must not be written
//   Tensor y = record_write(x, "add_", x.array(), {&x, &other}, vjp, tensor_vjp);
//   ... write the values ...
//   set_written(x, std::move(y), "add_");
//
// Threads: as record(). Fails: std::invalid_argument "[op] expected ..., got ...".
#pragma once

#include <span>

#include "weft/autograd/tensor.h"

namespace weft {

// Whether two elements of `array` may share memory.
bool overlaps(const Array& array);

// Throws unless `op` may write `x`: leaves that take a gradient and views of them are written under
// NoGrad only, memory where elements overlap never.
void check_written(const char* op, const Tensor& x);
// Throws if `x`, which has no history, is about to get that of `written` while others hold its
// memory: they would show the values and not the gradient. `holders`: of the storage, the caller's.
void check_sole(const char* op, const Tensor& x, const Tensor& written, long holders);

// Before something with a gradient is written into one of `members`, a tensor and views of it: lets
// them share a history if they have none and no one else holds their memory. Else it changes
// nothing, and the write is refused.
void share_history(std::span<const Tensor* const> members);

// `writer`, a literal, has written all of `x`; `written` is what record_write() gave for it. Other
// tensors that show the memory have its history from now on. Without recording histories stay.
void set_written(Tensor& x, Tensor written, const char* writer);
// The same for a part of x's memory, which is that of `part`.
void set_part_written(Tensor& x, const Tensor& part, const char* writer);

// Gives `tensor` the history that writes through other handles have given its memory. Operations
// call it themselves. `name`: the caller, for the text of a refusal; with null nothing is refused
// yet.
void update_history(const Tensor& tensor, const char* name);
// After it `result`, which may show the memory of an input, is not written in place, nor follows
// writes of the input: what made it is not just a view.
void forbid_following(const Tensor& result);
// Whether both show memory whose histories change together.
bool shares_history(const Tensor& a, const Tensor& b);
// `value` with the history of `tensor`: the same values in other memory.
Tensor with_history_of(const Tensor& tensor, Array value);

}  // namespace weft
