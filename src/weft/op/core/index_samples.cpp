#include "weft/op/core/index_samples.h"

#include <utility>

#include "weft/base/rng.h"

namespace weft {

Array sample_indexes(const Shape& shape, std::int64_t below, std::uint64_t seed) {
  Array result = Array::empty(shape, DType::kI64);
  Rng rng(seed, 9);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    result.data<std::int64_t>()[i] =
        static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(below)));
  }
  return result;
}

Array sample_distinct_indexes(std::int64_t count, std::int64_t below, std::uint64_t seed) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(below));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  Rng rng(seed, 9);
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng.below(i)]);
  all.resize(static_cast<std::size_t>(count));
  return Array::from(all, {count});
}

void each_index(const Shape& shape,
                const std::function<void(const Dims& i, std::int64_t place)>& body) {
  for (std::int64_t place = 0; place < shape.num_elements(); ++place) {
    Dims at = Dims::filled(shape.size(), 0);
    std::int64_t rest = place;
    for (int axis = shape.size() - 1; axis >= 0; --axis) {
      at[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    body(at, place);
  }
}

std::int64_t row_major(const Dims& i, const Shape& shape) {
  std::int64_t place = 0;
  for (int axis = 0; axis < shape.size(); ++axis) place = place * shape[axis] + i[axis];
  return place;
}

}  // namespace weft
