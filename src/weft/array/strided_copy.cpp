#include "weft/array/strided_copy.h"

#include <cstring>
#include <type_traits>

namespace weft::internal {
namespace {

// The same elements with as few axes as possible: axes of size 1 go, neighbours that both views
// walk without a gap become one.
struct Walk {
  Shape shape;
  Strides from;
  Strides to;
};

Walk merge_axes(const Shape& shape, const Strides& from, const Strides& to) {
  Walk walk;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    const int last = walk.shape.size() - 1;
    if (last >= 0 && walk.from[last] == from[i] * shape[i] && walk.to[last] == to[i] * shape[i]) {
      walk.shape[last] *= shape[i];
      walk.from[last] = from[i];
      walk.to[last] = to[i];
      continue;
    }
    walk.shape.push_back(shape[i]);
    walk.from.push_back(from[i]);
    walk.to.push_back(to[i]);
  }
  if (walk.shape.empty()) {
    walk.shape.push_back(1);
    walk.from.push_back(1);
    walk.to.push_back(1);
  }
  return walk;
}

template <class From, class To>
void copy_row(const From* from, std::int64_t from_step, To* to, std::int64_t to_step,
              std::int64_t count) {
  if constexpr (std::is_same_v<From, To>) {
    if (from_step == 1 && to_step == 1) {
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(To));
      return;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) to[i * to_step] = static_cast<To>(from[i * from_step]);
}

template <class From, class To>
void copy_walk(const From* from, To* to, const Walk& walk) {
  const int rows = walk.shape.size() - 1;
  Dims index = Dims::filled(rows, 0);
  while (true) {
    copy_row(from, walk.from[rows], to, walk.to[rows], walk.shape[rows]);
    int axis = rows - 1;
    for (; axis >= 0; --axis) {
      from += walk.from[axis];
      to += walk.to[axis];
      if (++index[axis] < walk.shape[axis]) break;
      from -= walk.from[axis] * walk.shape[axis];
      to -= walk.to[axis] * walk.shape[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace

void copy_strided(const StridedView& from, const StridedView& to, const Shape& shape) {
  if (shape.num_elements() == 0) return;
  const Walk walk = merge_axes(shape, from.strides, to.strides);
  with_dtype(from.dtype, [&](auto from_zero) {
    with_dtype(to.dtype, [&](auto to_zero) {
      copy_walk(static_cast<const decltype(from_zero)*>(from.data),
                static_cast<decltype(to_zero)*>(to.data), walk);
    });
  });
}

}  // namespace weft::internal
