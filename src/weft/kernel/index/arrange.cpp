#include "weft/kernel/index/arrange.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"

namespace weft {
namespace {

constexpr std::int64_t kArrangeGrain = 8'192;

template <class T>
const T* values_of(const Array& array) {
  return static_cast<const T*>(array.raw_data());
}
template <class T>
T* writable_values(const Array& array) {
  return static_cast<T*>(array.raw_data());
}

template <class T>
void triangle_rows(const Array& x, const Array& y, Triangle side, std::int64_t diagonal) {
  const std::int64_t columns = x.shape().back();
  const std::int64_t rows = x.dim(-2);
  if (x.size() == 0) return;
  parallel_for(
      x.size() / columns, 1 + kArrangeGrain / columns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const T* const from = values_of<T>(x) + i * columns;
          T* const to = writable_values<T>(y) + i * columns;
          // The columns [0, split) lie below or on the lower side.
          const std::int64_t first = i % rows + diagonal + (side == Triangle::kUpper ? 0 : 1);
          const std::int64_t split = std::clamp<std::int64_t>(first, 0, columns);
          if (side == Triangle::kUpper) {
            std::fill_n(to, split, T{});
            std::copy(from + split, from + columns, to + split);
          } else {
            std::copy_n(from, split, to);
            std::fill(to + split, to + columns, T{});
          }
        }
      });
}

// windows [outer, count, inner, size] -> y [outer, length, inner].
struct Windows {
  std::int64_t count = 0;
  std::int64_t size = 0;
  std::int64_t inner = 1;
};

template <class T>
void fold_rows(const Array& windows, const Array& y, const Windows& of, const FoldShape& shape) {
  parallel_for(y.size(), 1 + 1024 / std::max<std::int64_t>(1, of.size),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t inner = i % of.inner;
                   const std::int64_t place = i / of.inner % shape.length;
                   const std::int64_t block = i / of.inner / shape.length;
                   // The windows that begin at or before the place and reach it.
                   const std::int64_t last = std::min(place / shape.step, of.count - 1);
                   const std::int64_t late = place - of.size + 1;
                   const std::int64_t first = late <= 0 ? 0 : (late + shape.step - 1) / shape.step;
                   T sum{};
                   for (std::int64_t w = first; w <= last; ++w) {
                     const std::int64_t at = (block * of.count + w) * of.inner + inner;
                     sum = static_cast<T>(
                         sum + values_of<T>(windows)[at * of.size + place - w * shape.step]);
                   }
                   writable_values<T>(y)[i] = sum;
                 }
               });
}

}  // namespace

Array triangle(const Array& x, Triangle side, std::int64_t diagonal) {
  const Array from = x.contiguous();
  Array y = Array::empty(x.shape(), x.dtype(), x.device());
  launch("triangle", {&from}, {&y}, [side, diagonal](LaunchArrays in, LaunchArrays out) {
    with_dtype(in[0].dtype(),
               [&](auto zero) { triangle_rows<decltype(zero)>(in[0], out[0], side, diagonal); });
  });
  return y;
}

Array fold_windows(const Array& windows, const FoldShape& shape) {
  if (is_half(windows.dtype())) {
    return fold_windows(windows.to(DType::kF32), shape).to(windows.dtype());
  }
  const Array from = windows.contiguous();
  Shape folded = from.shape();
  Windows of{from.shape()[shape.axis], from.shape().back()};
  folded.erase(folded.size() - 1);
  folded[shape.axis] = shape.length;
  for (int i = shape.axis + 1; i < folded.size(); ++i) of.inner *= folded[i];
  Array y = Array::empty(folded, from.dtype(), from.device());
  launch("fold", {&from}, {&y}, [shape, of](LaunchArrays in, LaunchArrays out) {
    with_dtype(in[0].dtype(),
               [&](auto zero) { fold_rows<decltype(zero)>(in[0], out[0], of, shape); });
  });
  return y;
}

Array masked_fill(const Array& x, const Array& mask, double value) {
  const Array from = x.contiguous();
  const Array chosen = mask.expand(x.shape()).contiguous();
  Array y = Array::empty(x.shape(), x.dtype(), x.device());
  launch("masked_fill", {&from, &chosen}, {&y}, [value](LaunchArrays in, LaunchArrays out) {
    with_dtype(in[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T filling = convert_value<T>(value);
      const bool* const where = values_of<bool>(in[1]);
      const T* const source = values_of<T>(in[0]);
      T* const to = writable_values<T>(out[0]);
      parallel_for(in[0].size(), kArrangeGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) to[i] = where[i] ? filling : source[i];
      });
    });
  });
  return y;
}

Array one_hot_rows(const Array& labels, std::int64_t classes, DType dtype) {
  const Array from = labels.contiguous();
  Shape shape = labels.shape();
  shape.push_back(classes);
  Array y = Array::empty(shape, dtype, labels.device());
  launch("one_hot", {&from}, {&y}, [classes](LaunchArrays in, LaunchArrays out) {
    with_dtype(out[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      T* const to = writable_values<T>(out[0]);
      std::fill_n(to, out[0].size(), T{});
      for (std::int64_t i = 0; i < in[0].size(); ++i) {
        const std::int64_t label = values_of<std::int64_t>(in[0])[i];
        if (label < 0 || label >= classes) {
          throw std::invalid_argument("[one_hot] expected labels in [0, " +
                                      std::to_string(classes) + "), got " + std::to_string(label));
        }
        to[i * classes + label] = convert_value<T>(1.0);
      }
    });
  });
  return y;
}

Array nonzero_elements(const char* name, const Array& x) {
  launch_host_read(name);
  const Array from = x.contiguous().to(Device::cpu());
  std::vector<std::int64_t> found;
  with_dtype(from.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* const values = values_of<T>(from);
    // Each place of a part is written, and kept only if it counts: no branch to be mispredicted.
    constexpr std::int64_t kPart = 256;
    std::array<std::int64_t, kPart> places;
    for (std::int64_t begin = 0; begin < from.size(); begin += kPart) {
      const std::int64_t end = std::min(from.size(), begin + kPart);
      std::size_t count = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        places[count] = i;
        count += convert_value<bool>(values[i]) ? 1 : 0;
      }
      found.insert(found.end(), places.data(), places.data() + count);
    }
  });
  return Array::from(found, {static_cast<std::int64_t>(found.size())}).to(x.device());
}

}  // namespace weft
