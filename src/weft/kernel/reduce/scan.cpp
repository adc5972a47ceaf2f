// Lines are made dense along the last axis by a copy if they are not, then walked one by one.
#include "weft/kernel/reduce/scan.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/rows.h"
#include "weft/kernel/reduce/reduce.h"

namespace weft {
namespace {

// Values a thread takes at least.
constexpr std::int64_t kScanGrain = 16'384;

template <class T>
using Running = std::conditional_t<kIsFloating<T>, double, std::uint64_t>;

template <class T>
Running<T> running(T value) {
  if constexpr (kIsFloating<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

// Calls part(begin, end) for parts of the lines of `length` in an array of `size` elements.
template <class Part>
void each_part(std::int64_t size, std::int64_t length, const Part& part) {
  if (size == 0) return;
  const std::int64_t grain = std::max<std::int64_t>(1, kScanGrain / length);
  parallel_for(size / length, grain, part);
}

// Calls line(begin element) for every line.
template <class Line>
void each_line(std::int64_t size, std::int64_t length, const Line& line) {
  each_part(size, length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) line(i * length);
  });
}

enum class Scan : std::uint8_t { kSum, kReverseSum, kProduct };

// kLines lines at a time, whose chains of additions run side by side.
template <Scan kScan, int kLines, class T, class Out>
void scan_lines_of(const T* x, Out* y, std::int64_t length) {
  std::array<Running<T>, kLines> states;
  states.fill(running(static_cast<T>(kScan == Scan::kProduct ? 1 : 0)));
  for (std::int64_t n = 0; n < length; ++n) {
    const std::int64_t i = kScan == Scan::kReverseSum ? length - 1 - n : n;
    for (int line = 0; line < kLines; ++line) {
      auto& state = states[static_cast<std::size_t>(line)];
      const auto value = running(x[line * length + i]);
      state = kScan == Scan::kProduct ? state * value : state + value;
      y[line * length + i] = static_cast<Out>(state);
    }
  }
}

template <Scan kScan, class T, class Out>
void scan_all_lines(const T* x, Out* y, std::int64_t size, std::int64_t length) {
  constexpr int kLines = 4;
  each_part(size, length, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t line = begin;
    for (; line + kLines <= end; line += kLines) {
      scan_lines_of<kScan, kLines>(x + line * length, y + line * length, length);
    }
    for (; line < end; ++line) {
      scan_lines_of<kScan, 1>(x + line * length, y + line * length, length);
    }
  });
}

void scan_lines(Scan scan, int axis, const Array& x, Array& out) {
  const Array lines = x.transpose(axis, -1).contiguous();
  // The result of transposed lines goes back by a copy.
  const bool direct = axis == x.ndim() - 1;
  Array result = direct ? out : Array::empty(lines.shape(), out.dtype(), out.device());
  const std::int64_t length = x.shape()[axis];
  with_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    using Out = std::conditional_t<kIsFloating<T>, T, std::int64_t>;
    const T* const from = lines.data<T>();
    Out* const to = result.data<Out>();
    switch (scan) {
      case Scan::kSum:
        return scan_all_lines<Scan::kSum>(from, to, x.size(), length);
      case Scan::kReverseSum:
        return scan_all_lines<Scan::kReverseSum>(from, to, x.size(), length);
      case Scan::kProduct:
        return scan_all_lines<Scan::kProduct>(from, to, x.size(), length);
    }
  });
  if (!direct) out.copy_from(result.transpose(axis, -1));
}

Array run_scan(const char* name, Scan scan, const Array& x, int axis) {
  const Array source = x.strided();
  Array out = Array::empty(x.shape(), is_floating(x.dtype()) ? x.dtype() : DType::kI64, x.device());
  launch(name, {&source}, {&out}, [scan, axis](LaunchArrays in, LaunchArrays outputs) {
    scan_lines(scan, axis, in[0], outputs[0]);
  });
  return out;
}

// IMPLEMENTATION: with z the first zero, d y_j / d x_i is y_j / x_i before z; at z it is the
// product of the others up to j, which is not 0 until the second zero; after z it is 0.
template <class T>
void product_gradient_line(const T* x, const T* dy, T* dx, std::int64_t length) {
  const auto value = [](T v) { return static_cast<double>(v); };
  std::vector<double> y(static_cast<std::size_t>(length));
  std::int64_t zero = 0;
  double product = 1;
  for (; zero < length && value(x[zero]) != 0.0; ++zero) {
    product *= value(x[zero]);
    y[static_cast<std::size_t>(zero)] = product;
  }
  if (zero < length) {
    double sum = value(dy[zero]) * product;
    for (std::int64_t j = zero + 1; j < length && product != 0.0; ++j) {
      product *= value(x[j]);
      sum += value(dy[j]) * product;
    }
    dx[zero] = static_cast<T>(sum);
    for (std::int64_t j = zero + 1; j < length; ++j) dx[j] = static_cast<T>(0.0F);
  }
  double tail = 0;  // the sum of dy_j y_j over j >= i
  for (std::int64_t i = zero - 1; i >= 0; --i) {
    tail += value(dy[i]) * y[static_cast<std::size_t>(i)];
    dx[i] = static_cast<T>(tail / value(x[i]));
  }
}

// The first place of the extreme of a line, or of the first NaN.
template <class T>
std::int64_t extreme_of_line(Extreme extreme, const T* x, std::int64_t length) {
  if constexpr (kIsFloating<T>) {
    const std::size_t loop =
        static_cast<std::size_t>(extreme == Extreme::kMax ? ReduceOp::kMax : ReduceOp::kMin);
    const double best = row_kernels().reduce_row[loop][stored_index(dtype_of<T>())](x, 1, length);
    const bool has_nan = best != best;
    for (std::int64_t i = 0; i < length; ++i) {
      const auto value = static_cast<double>(x[i]);
      if (has_nan ? value != value : value == best) return i;
    }
    return 0;
  } else {
    std::int64_t best = 0;
    for (std::int64_t i = 1; i < length; ++i) {
      if (extreme == Extreme::kMax ? x[i] > x[best] : x[i] < x[best]) best = i;
    }
    return best;
  }
}

}  // namespace

Array cumulative_sum(const Array& x, int axis, bool reverse) {
  return run_scan("cumsum", reverse ? Scan::kReverseSum : Scan::kSum, x, axis);
}

Array cumulative_product(const Array& x, int axis) {
  return run_scan("cumprod", Scan::kProduct, x, axis);
}

Array cumulative_product_gradient(const Array& x, const Array& dy, int axis) {
  const Array source = x.strided();
  const Array gradient = dy.strided();
  Array out = Array::empty(x.shape(), x.dtype(), x.device());
  const auto body = [axis](LaunchArrays in, LaunchArrays outputs) {
    const Array values = in[0].transpose(axis, -1).contiguous();
    const Array dy_lines = in[1].transpose(axis, -1).contiguous();
    Array dx_lines = Array::empty(values.shape(), values.dtype(), values.device());
    const std::int64_t length = in[0].shape()[axis];
    with_floating_dtype(values.dtype(), [&](auto zero) {
      using T = decltype(zero);
      each_line(values.size(), length, [&](std::int64_t at) {
        product_gradient_line(values.data<T>() + at, dy_lines.data<T>() + at,
                              dx_lines.data<T>() + at, length);
      });
    });
    outputs[0].copy_from(dx_lines.transpose(axis, -1));
  };
  launch("cumprod_gradient", {&source, &gradient}, {&out}, body);
  return out;
}

Array extreme_index(Extreme extreme, const Array& x, int axis, bool keepdims) {
  const Array source = x.strided();
  Shape kept = x.shape();
  kept[axis] = 1;
  Array out = Array::empty(kept, DType::kI64, x.device());
  if (x.shape()[axis] == 0 && out.size() > 0) {
    throw std::invalid_argument(std::string(extreme == Extreme::kMax ? "[argmax]" : "[argmin]") +
                                " expected at least one value to reduce, got shape " +
                                to_string(x.shape()));
  }
  const auto body = [extreme, axis](LaunchArrays in, LaunchArrays outputs) {
    const Array lines = in[0].transpose(axis, -1).contiguous();
    const std::int64_t length = in[0].shape()[axis];
    Shape places_shape = lines.shape();
    places_shape[places_shape.size() - 1] = 1;
    Array places = Array::empty(places_shape, DType::kI64);
    with_dtype(lines.dtype(), [&](auto zero) {
      using T = decltype(zero);
      each_line(lines.size(), length, [&](std::int64_t at) {
        places.data<std::int64_t>()[at / length] =
            extreme_of_line(extreme, lines.data<T>() + at, length);
      });
    });
    outputs[0].copy_from(places.transpose(axis, -1));
  };
  launch(extreme == Extreme::kMax ? "argmax" : "argmin", {&source}, {&out}, body);
  if (keepdims) return out;
  return out.squeeze(axis);
}

}  // namespace weft
