// copy_strided: writes one strided view into another, converting the element type.
//
// For Array alone; both views have the shape given. Threads: runs on the caller's.
#pragma once

#include "weft/array/dtype/dtype.h"
#include "weft/array/shape/shape.h"

namespace weft::internal {

struct StridedView {
  void* data;  // the view's first element
  DType dtype;
  Strides strides;
};

void copy_strided(const StridedView& from, const StridedView& to, const Shape& shape);

}  // namespace weft::internal
