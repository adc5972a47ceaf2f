// The loops of rows.h, compiled once for each instruction set.
#if defined(WEFT_ISA_FEATURES) && defined(__x86_64__)
#include <immintrin.h>
#define WEFT_ROWS_AVX2 1
#endif

#include "weft/base/isa/loops_begin.inc"
#include "weft/kernel/core/rows.h"

namespace weft {
namespace {

#include "weft/kernel/core/rows_math.inc"

// F::of(operands...) or, where the operation has scalars, F::of(operands..., s, t).
template <class F, class T>
concept OneOperand = requires(T v) {
  F::of(v);
};
template <class F, class T>
concept TwoOperands = requires(T v) {
  F::of(v, v);
};

template <class F, class T>
inline auto call(T a, T s, T t) {
  if constexpr (OneOperand<F, T>) {
    return F::of(a);
  } else {
    return F::of(a, s, t);
  }
}
template <class F, class T>
inline auto call(T a, T b, T s, T t) {
  if constexpr (TwoOperands<F, T>) {
    return F::of(a, b);
  } else {
    return F::of(a, b, s, t);
  }
}

template <class F, class T>
concept HasNear = requires(T v) {
  F::fits(v);
  F::near(v);
};

// Parts in which all values fit go without branches.
template <class F>
void near_row(const float* x, float* y, std::int64_t count) {
  constexpr std::int64_t kPart = 32;
  std::int64_t i = 0;
  for (; i + kPart <= count; i += kPart) {
    int fitting = 0;
    for (std::int64_t j = i; j < i + kPart; ++j) fitting += F::fits(x[j]) ? 1 : 0;
    if (fitting == kPart) {
      for (std::int64_t j = i; j < i + kPart; ++j) y[j] = F::near(x[j]);
    } else {
      for (std::int64_t j = i; j < i + kPart; ++j) y[j] = F::of(x[j]);
    }
  }
  for (; i < count; ++i) y[i] = F::fits(x[i]) ? F::near(x[i]) : F::of(x[i]);
}

template <class F>
concept SideBySide = F::kSideBySide;

// What operations read beside y[i], so that it is fetched a page before.
template <class... T>
struct Fetched {
  static void at(std::int64_t) {}
};
template <class T, class... Rest>
struct Fetched<T, Rest...> : Fetched<Rest...> {
  explicit Fetched(const T* first, const Rest*... rest)
      : Fetched<Rest...>(rest...), values(first) {}
  void at(std::int64_t i) const {
    __builtin_prefetch(values + i);
    Fetched<Rest...>::at(i);
  }
  const T* values;
};

// y[i] = of(i), two runs at a time: the compiler puts the operations of one between those of the
// other, so that none waits for the last. Four of GELU would need the stack, and stores to it wait
// behind those of y whose lines come from memory: 10 ns for 16 values in place of 6.
template <class T, class Of, class... Reads>
__attribute__((noinline)) void side_by_side(T* y, std::int64_t count, const Of& of,
                                            const Fetched<Reads...>& fetched = {}) {
  constexpr std::int64_t kRun = 16;
  constexpr std::int64_t kRuns = 2;
  constexpr std::int64_t kPage = 4096 / sizeof(T);
  const std::int64_t end = __is_same(T, float) ? count - kRuns * kRun : -1;
  std::int64_t i = 0;
  for (; i <= end; i += kRuns * kRun) {
    if (i + kPage <= end) {
#pragma GCC unroll 4
      for (std::int64_t run = 0; run < kRuns; ++run) {
        fetched.at(i + kPage + run * kRun);
        __builtin_prefetch(y + i + kPage + run * kRun, 1);
      }
    }
#pragma omp simd
    for (std::int64_t j = i; j < i + kRun; ++j) {
      T values[kRuns];
#pragma GCC unroll 4
      for (std::int64_t run = 0; run < kRuns; ++run) values[run] = of(j + run * kRun);
#pragma GCC unroll 4
      for (std::int64_t run = 0; run < kRuns; ++run) y[j + run * kRun] = values[run];
    }
  }
  for (; i < count; ++i) y[i] = of(i);
}

template <class F, class T>
void unary_row(const RunOperand* operands, void* out, std::int64_t count, const double* scalars) {
  using Result = decltype(call<F, T>(T{}, T{}, T{}));
  const T* x = static_cast<const T*>(operands[0].data);
  const std::int64_t step = operands[0].step;
  Result* y = static_cast<Result*>(out);
  const T s = scalars == nullptr ? T{0} : static_cast<T>(scalars[0]);
  const T t = scalars == nullptr ? T{0} : static_cast<T>(scalars[1]);
  if constexpr (__is_same(T, float) && HasNear<F, T>) {
    if (step == 1) return near_row<F>(x, y, count);
  }
  if constexpr (__is_same(T, float) && SideBySide<F>) {
    if (step == 1)
      return side_by_side(
          y, count, [x](std::int64_t i) { return F::of(x[i]); }, Fetched<T>(x));
  }
  if (step == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = call<F, T>(x[i], s, t);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = call<F, T>(x[i * step], s, t);
  }
}

template <class F, class T>
void binary_row(const RunOperand* operands, void* out, std::int64_t count, const double* scalars) {
  using Result = decltype(call<F, T>(T{}, T{}, T{}, T{}));
  const RunOperand a = operands[0];
  const RunOperand b = operands[1];
  const T* x = static_cast<const T*>(a.data);
  const T* z = static_cast<const T*>(b.data);
  Result* y = static_cast<Result*>(out);
  const T s = scalars == nullptr ? T{0} : static_cast<T>(scalars[0]);
  const T t = scalars == nullptr ? T{0} : static_cast<T>(scalars[1]);
  if constexpr (__is_same(T, float) && SideBySide<F>) {
    if (a.step == 1 && b.step == 1) {
      return side_by_side(
          y, count, [x, z](std::int64_t i) { return F::of(x[i], z[i]); }, Fetched<T, T>(x, z));
    }
  }
  if (!SideBySide<F> && a.step == 1 && b.step == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = call<F, T>(x[i], z[i], s, t);
  } else if (!SideBySide<F> && a.step == 1 && b.step == 0) {
    const T value = *z;
    for (std::int64_t i = 0; i < count; ++i) y[i] = call<F, T>(x[i], value, s, t);
  } else if (a.step == 0 && b.step == 1) {  // such as the gradient of a sum
    const T value = *x;
    for (std::int64_t i = 0; i < count; ++i) y[i] = call<F, T>(value, z[i], s, t);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = call<F, T>(x[i * a.step], z[i * b.step], s, t);
    }
  }
}

// A stored value as f64. The 16-bit types are read as words: half.h must not be called from here.
struct StoredBF16 {
  std::uint16_t bits;
};
struct StoredF16 {
  std::uint16_t bits;
};
inline double wide(float x) { return static_cast<double>(x); }
inline double wide(double x) { return x; }
inline double wide(StoredBF16 x) {
  return static_cast<double>(__builtin_bit_cast(float, static_cast<std::uint32_t>(x.bits) << 16U));
}
inline double wide(StoredF16 x) {
  const std::uint32_t size = x.bits & 0x7FFFU;
  const std::uint32_t sign = static_cast<std::uint32_t>(x.bits & 0x8000U) << 16U;
  const float subnormal =
      static_cast<float>(static_cast<std::int32_t>(size)) * 5.9604644775390625e-8F;
  const std::uint32_t bias = size >= 0x7C00U ? 0x70000000U : 0x38000000U;
  const float normal = __builtin_bit_cast(float, (size << 13U) + bias);
  const float value = select(size < 0x400U, subnormal, normal);
  return static_cast<double>(
      __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, value)));
}

#include "weft/kernel/core/reduce_lanes.inc"

struct SumState {
  static constexpr double kStart = 0;
  static double join(double a, double b) { return a + b; }
  static double dense(const float* x, std::int64_t count) { return dense_sum(x, count); }
};
struct ProductState {
  static constexpr double kStart = 1;
  static double join(double a, double b) { return a * b; }
};
struct MinState {
  static constexpr double kStart = __builtin_inf();
  static double join(double a, double b) { return b < a || b != b ? b : a; }
  static double dense(const float* x, std::int64_t count) {
    return dense_extreme<SmallerLanes>(x, count, __builtin_inff());
  }
};
struct MaxState {
  static constexpr double kStart = -__builtin_inf();
  static double join(double a, double b) { return b > a || b != b ? b : a; }
  static double dense(const float* x, std::int64_t count) {
    return dense_extreme<LargerLanes>(x, count, -__builtin_inff());
  }
};
template <class S, class T>
concept HasDense = requires(const T* x) {
  S::dense(x, 0);
};

constexpr std::int64_t kBlock = 1024;

// At most kBlock values: kLanes sums side by side, joined as a tree, then the rest in order. Fewer
// than kLanes in order.
template <class S, class T>
double reduce_block(const T* x, std::int64_t step, std::int64_t count) {
  if (count < kLanes) {
    double state = S::kStart;
    for (std::int64_t i = 0; i < count; ++i) {
      state = S::join(state, wide(x[i * step]));
    }
    return state;
  }
  const std::int64_t whole = count - count % kLanes;
  if constexpr (HasDense<S, T>) {
    if (step == 1) {
      double state = S::dense(x, whole);
      for (std::int64_t i = whole; i < count; ++i) state = S::join(state, wide(x[i]));
      return state;
    }
  }
  double lanes[kLanes];
  for (double& lane : lanes) lane = S::kStart;
  if (step == 1) {
    for (std::int64_t i = 0; i < whole; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) {
        lanes[j] = S::join(lanes[j], wide(x[i + j]));
      }
    }
  } else {
    for (std::int64_t i = 0; i < whole; i += kLanes) {
      for (std::int64_t j = 0; j < kLanes; ++j) {
        lanes[j] = S::join(lanes[j], wide(x[(i + j) * step]));
      }
    }
  }
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t j = 0; j < width; ++j) lanes[j] = S::join(lanes[j], lanes[j + width]);
  }
  for (std::int64_t i = whole; i < count; ++i) {
    lanes[0] = S::join(lanes[0], wide(x[i * step]));
  }
  return lanes[0];
}

// Pairwise over blocks; the depth is the logarithm of count / kBlock.
template <class S, class T>
__attribute__((noinline)) double reduce_run(const T* x, std::int64_t step, std::int64_t count) {
  if (count <= kBlock) return reduce_block<S, T>(x, step, count);
  const std::int64_t half = (count / 2 + kBlock - 1) / kBlock * kBlock;
  return S::join(reduce_run<S, T>(x, step, half),
                 reduce_run<S, T>(x + half * step, step, count - half));
}

template <class S, class T>
double reduce_row(const void* x, std::int64_t step, std::int64_t count) {
  return reduce_run<S, T>(static_cast<const T*>(x), step, count);
}

// Calls add(state[i], value, i) for one row after the other. With kRowsAtOnce above 1 so many rows
// go through a register that holds the state: to load and to store it for each value would take
// longer than to read the value.
template <int kRowsAtOnce, class T, class Add>
inline void for_each_column(const StridedRows& given, double* __restrict state, std::int64_t count,
                            const Add& add) {
  const StridedRows rows = given;
  const T* __restrict row = static_cast<const T*>(rows.x);
  std::int64_t left = rows.rows;
  if constexpr (kRowsAtOnce > 1) {
    for (; rows.step == 1 && left >= kRowsAtOnce; left -= kRowsAtOnce) {
      for (std::int64_t i = 0; i < count; ++i) {
        double value = state[i];
#pragma GCC unroll 8
        for (std::int64_t r = 0; r < kRowsAtOnce; ++r) {
          value = add(value, wide(row[r * rows.row_step + i]), i);
        }
        state[i] = value;
      }
      row += kRowsAtOnce * rows.row_step;
    }
  }
  for (; left > 0; --left, row += rows.row_step) {
    if (rows.step == 1) {
      for (std::int64_t i = 0; i < count; ++i) state[i] = add(state[i], wide(row[i]), i);
    } else {
      for (std::int64_t i = 0; i < count; ++i) {
        state[i] = add(state[i], wide(row[i * rows.step]), i);
      }
    }
  }
}

// Only sums of f32 are worth the code.
template <class T>
constexpr int kRowsOfSums = __is_same(T, float) ? 8 : 1;

template <class S, class T>
void reduce_columns(const StridedRows& rows, double* state, std::int64_t count) {
  constexpr int kRows = __is_same(S, SumState) ? kRowsOfSums<T> : 1;
  for_each_column<kRows, T>(rows, state, count, [](double before, double value, std::int64_t) {
    return S::join(before, value);
  });
}

template <class T>
double deviation_block(const T* x, std::int64_t step, double shift, std::int64_t count) {
  double lanes[kLanes];
  for (double& lane : lanes) lane = 0;
  const std::int64_t whole = count - count % kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) {
      const double d = wide(x[(i + j) * step]) - shift;
      lanes[j] = lanes[j] + d * d;
    }
  }
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::int64_t j = 0; j < width; ++j) lanes[j] = lanes[j] + lanes[j + width];
  }
  for (std::int64_t i = whole; i < count; ++i) {
    const double d = wide(x[i * step]) - shift;
    lanes[0] = lanes[0] + d * d;
  }
  return lanes[0];
}

template <class T>
double deviation_run(const T* x, std::int64_t step, double shift, std::int64_t count) {
  if (count <= kBlock) {
    return step == 1 ? deviation_block<T>(x, 1, shift, count)
                     : deviation_block<T>(x, step, shift, count);
  }
  const std::int64_t half = (count / 2 + kBlock - 1) / kBlock * kBlock;
  return deviation_run<T>(x, step, shift, half) +
         deviation_run<T>(x + half * step, step, shift, count - half);
}

template <class T>
double deviation_row(const void* x, std::int64_t step, double shift, std::int64_t count) {
  return deviation_run<T>(static_cast<const T*>(x), step, shift, count);
}

template <class T>
void deviation_columns(const StridedRows& rows, const double* __restrict shifts, double* state,
                       std::int64_t count) {
  for_each_column<kRowsOfSums<T>, T>(rows, state, count,
                                     [shifts](double before, double value, std::int64_t i) {
                                       const double d = value - shifts[i];
                                       return before + d * d;
                                     });
}

template <class T>
void exp_row(const void* x, double shift, void* out, std::int64_t count) {
  const T* value = static_cast<const T*>(x);
  T* y = static_cast<T*>(out);
  const T by = static_cast<T>(shift);
  side_by_side(y, count, [value, by](std::int64_t i) { return exp_of(value[i] - by); });
}

template <class T>
void affine_row(const void* x, Affine affine, void* out, std::int64_t count) {
  const T* value = static_cast<const T*>(x);
  T* y = static_cast<T*>(out);
  const T scale = static_cast<T>(affine.scale);
  const T shift = static_cast<T>(affine.shift);
  for (std::int64_t i = 0; i < count; ++i) y[i] = value[i] * scale + shift;
}

#include "weft/kernel/core/random_loops.inc"
#include "weft/kernel/core/softmax_lanes.inc"

#define WEFT_UNARY_ENTRY(Name) {unary_row<Name, float>, unary_row<Name, double>},
#define WEFT_BINARY_ENTRY(Name) {binary_row<Name, float>, binary_row<Name, double>},
#define WEFT_STORED(function) \
  { function<float>, function<double>, function<StoredBF16>, function<StoredF16> }
#define WEFT_REDUCE(function, State)                                              \
  {                                                                               \
    function<State, float>, function<State, double>, function<State, StoredBF16>, \
        function<State, StoredF16>                                                \
  }
#define WEFT_REDUCTIONS(function)                                              \
  {                                                                            \
    {                                                                          \
      WEFT_REDUCE(function, SumState), WEFT_REDUCE(function, MaxState),        \
          WEFT_REDUCE(function, MinState), WEFT_REDUCE(function, ProductState) \
    }                                                                          \
  }
#define WEFT_ROW_KERNELS                                                                          \
  {                                                                                               \
    {{WEFT_UNARY_OPS(WEFT_UNARY_ENTRY)}}, {{WEFT_BINARY_OPS(WEFT_BINARY_ENTRY)}},                 \
        WEFT_REDUCTIONS(reduce_row), WEFT_REDUCTIONS(reduce_columns), WEFT_STORED(deviation_row), \
        WEFT_STORED(deviation_columns), {dropout_row<float>, dropout_row<double>}, random_words,  \
        normal_row, {exp_row<float>, exp_row<double>}, {affine_row<float>, affine_row<double>},   \
        {softmax_rows<float>, softmax_rows<double>},                                              \
        {log_softmax_rows<float>, log_softmax_rows<double>},                                      \
        {softmax_gradient_rows<float>, softmax_gradient_rows<double>}, {                          \
      log_softmax_gradient_rows<float>, log_softmax_gradient_rows<double>                         \
    }                                                                                             \
  }

}  // namespace

extern const RowKernels WEFT_LOOPS_NAME(row_kernels) = WEFT_ROW_KERNELS;

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
