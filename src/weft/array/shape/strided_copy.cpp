#include "weft/array/shape/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "weft/array/dtype/half_rows.h"

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

// Steps in elements.
using CopyRow = void (*)(const void* from, std::int64_t from_step, void* to, std::int64_t to_step,
                         std::int64_t count);

// Where one side has a dense f32 row and the other a dense 16-bit one, vectors do it.
template <class From, class To>
bool copy_dense(const From* from, To* to, std::int64_t count) {
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(To));
    return true;
  } else if constexpr (kIsHalf<From> && std::is_same_v<To, float>) {
    to_f32_row(from, to, count);
    return true;
  } else if constexpr (std::is_same_v<From, float> && kIsHalf<To>) {
    from_f32_row(from, to, count);
    return true;
  } else {
    return false;
  }
}

template <class From, class To>
void copy_row(const void* from, std::int64_t from_step, void* to, std::int64_t to_step,
              std::int64_t count) {
  const From* const source = static_cast<const From*>(from);
  To* const target = static_cast<To*>(to);
  if (from_step == 1 && to_step == 1 && copy_dense(source, target, count)) return;
  for (std::int64_t i = 0; i < count; ++i) {
    target[i * to_step] = convert_value<To>(source[i * from_step]);
  }
}

CopyRow copy_row_of(DType from, DType to) {
  return with_dtype(from, [&](auto from_zero) {
    return with_dtype(to, [](auto to_zero) -> CopyRow {
      return copy_row<decltype(from_zero), decltype(to_zero)>;
    });
  });
}

struct Rows {
  CopyRow copy;
  std::int64_t from_item;
  std::int64_t to_item;
};

void copy_walk(const std::uint8_t* from, std::uint8_t* to, const Walk& walk, const Rows& rows) {
  const int outer = walk.shape.size() - 1;
  Dims index = Dims::filled(outer, 0);
  while (true) {
    rows.copy(from, walk.from[outer], to, walk.to[outer], walk.shape[outer]);
    int axis = outer - 1;
    for (; axis >= 0; --axis) {
      from += walk.from[axis] * rows.from_item;
      to += walk.to[axis] * rows.to_item;
      if (++index[axis] < walk.shape[axis]) break;
      from -= walk.from[axis] * walk.shape[axis] * rows.from_item;
      to -= walk.to[axis] * walk.shape[axis] * rows.to_item;
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace

void copy_strided(const StridedView& from, const StridedView& to, const Shape& shape) {
  if (shape.num_elements() == 0) return;
  const Walk walk = merge_axes(shape, from.strides, to.strides);
  const Rows rows{copy_row_of(from.dtype, to.dtype), static_cast<std::int64_t>(size_of(from.dtype)),
                  static_cast<std::int64_t>(size_of(to.dtype))};
  copy_walk(static_cast<const std::uint8_t*>(from.data), static_cast<std::uint8_t*>(to.data), walk,
            rows);
}

}  // namespace weft::internal
