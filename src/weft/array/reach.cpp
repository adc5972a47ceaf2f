#include "weft/array/reach.h"

namespace weft {

ByteRange byte_range(const Array& array) {
  if (array.size() == 0) return {};
  std::int64_t low = array.offset();
  std::int64_t high = array.offset();
  for (int axis = 0; axis < array.ndim(); ++axis) {
    const std::int64_t reach = (array.shape()[axis] - 1) * array.strides()[axis];
    (reach < 0 ? low : high) += reach;
  }
  const std::size_t each = size_of(array.dtype());
  return {static_cast<std::size_t>(low) * each, static_cast<std::size_t>(high + 1) * each};
}

}  // namespace weft
