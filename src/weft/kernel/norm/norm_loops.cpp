// The loops of norm_loops.h, compiled once for each instruction set.
#include "weft/kernel/norm/norm_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/core/bf16_lanes.inc"
#include "weft/kernel/core/fetch_ahead.inc"
#include "weft/kernel/norm/norm_lanes.inc"

// Lanes are added up to this many times in T before they go to f64.
constexpr std::int64_t kRun = 128;

inline std::int64_t smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Two sums over [0, n), of terms(i, first, second) for whole lanes and for single values.
struct TwoSums {
  double first = 0;
  double second = 0;
};
template <class T, class LaneTerms, class Terms>
inline TwoSums two_sums(std::int64_t n, LaneTerms lane_terms, Terms terms) {
  TwoSums sums;
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t begin = 0; begin < whole; begin += kRun * kLanes) {
    Lanes<T> first = {};
    Lanes<T> second = {};
    const std::int64_t end = smaller(whole, begin + kRun * kLanes);
    for (std::int64_t i = begin; i < end; i += kLanes) lane_terms(i, first, second);
    sums.first += sum_lanes<T>(first);
    sums.second += sum_lanes<T>(second);
  }
  for (std::int64_t i = whole; i < n; ++i) {
    T first = 0;
    T second = 0;
    terms(i, first, second);
    sums.first += double(first);
    sums.second += double(second);
  }
  return sums;
}

// Sums of x - origin and of its square.
template <class T>
inline TwoSums row_moments(const T* x, std::int64_t n, T origin) {
  return two_sums<T>(
      n,
      [&](std::int64_t i, Lanes<T>& first, Lanes<T>& second) {
        Lanes<T> v;
        load_lanes(x + i, v);
        v -= origin;
        first += v;
        second += v * v;
      },
      [&](std::int64_t i, T& first, T& second) {
        first = x[i] - origin;
        second = first * first;
      });
}

template <class T>
inline void write_row(const NormRows& work, const T* x, T* y, T mean, T inverse) {
  const T* const weight = static_cast<const T*>(work.weight);
  const T* const bias = static_cast<const T*>(work.bias);
  const std::int64_t whole = work.n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    Lanes<T> v;
    load_lanes(x + i, v);
    v = (v - mean) * inverse;
    Lanes<T> w;
    if (weight != nullptr) {
      load_lanes(weight + i, w);
      v *= w;
    }
    if (bias != nullptr) {
      load_lanes(bias + i, w);
      v += w;
    }
    store_lanes(y + i, v);
  }
  for (std::int64_t i = whole; i < work.n; ++i) {
    T v = (x[i] - mean) * inverse;
    if (weight != nullptr) v *= weight[i];
    if (bias != nullptr) v += bias[i];
    y[i] = v;
  }
}

template <class T>
void rows(const NormRows& given, std::int64_t begin, std::int64_t end) {
  const NormRows work = given;
  const double count = double(work.n);
  for (std::int64_t row = begin; row < end; ++row) {
    const T* const x = static_cast<const T*>(work.x) + row * work.n;
    double mean = 0;
    if (work.centered) {
      mean = row_moments(x, work.n, T{0}).first / count;
      if (work.mean != nullptr) work.mean[row] = mean;
    }
    const TwoSums moments = row_moments(x, work.n, T(mean));
    // The second term: what the rounding of the mean costs.
    const double rest = work.centered ? moments.first / count : 0.0;
    const double variance = moments.second / count - rest * rest;
    const double inverse = 1.0 / __builtin_sqrt((variance > 0 ? variance : 0.0) + work.eps);
    if (work.inverse != nullptr) work.inverse[row] = inverse;
    write_row(work, x, static_cast<T*>(work.y) + row * work.n, T(mean), T(inverse));
  }
}

// One row's parts of the sums and the gradient of x.
template <class T, bool kWeight>
inline void row_gradient(const NormRowsGradient& work, std::int64_t row) {
  const std::int64_t n = work.n;
  const T* const x = static_cast<const T*>(work.x) + row * n;
  const T* const dy = static_cast<const T*>(work.dy) + row * n;
  const T* const weight = static_cast<const T*>(work.weight);
  const T mean = work.centered ? T(work.mean[row]) : T{0};
  const T inverse = T(work.inverse[row]);
  const TwoSums sums = two_sums<T>(
      n,
      [&](std::int64_t i, Lanes<T>& first, Lanes<T>& second) {
        Lanes<T> g;
        Lanes<T> v;
        load_lanes(dy + i, g);
        load_lanes(x + i, v);
        if constexpr (kWeight) {
          Lanes<T> w;
          load_lanes(weight + i, w);
          g *= w;
        }
        first += g;
        second += g * ((v - mean) * inverse);
      },
      [&](std::int64_t i, T& first, T& second) {
        first = kWeight ? dy[i] * weight[i] : dy[i];
        second = first * ((x[i] - mean) * inverse);
      });
  const T share = work.centered ? T(sums.first / double(n)) : T{0};
  const T product = T(sums.second / double(n));
  T* const dx = work.dx != nullptr ? static_cast<T*>(work.dx) + row * n : nullptr;
  T* const weight_sums = static_cast<T*>(work.weight_sums);
  T* const bias_sums = static_cast<T*>(work.bias_sums);
  const std::int64_t whole = n / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
    Lanes<T> g;
    Lanes<T> v;
    Lanes<T> sum;
    load_lanes(dy + i, g);
    load_lanes(x + i, v);
    v = (v - mean) * inverse;
    if (weight_sums != nullptr) {
      load_lanes(weight_sums + i, sum);
      store_lanes(weight_sums + i, sum + g * v);
    }
    if (bias_sums != nullptr) {
      load_lanes(bias_sums + i, sum);
      store_lanes(bias_sums + i, sum + g);
    }
    if (dx == nullptr) continue;
    if constexpr (kWeight) {
      load_lanes(weight + i, sum);
      g *= sum;
    }
    store_lanes(dx + i, ((g - share) - v * product) * inverse);
  }
  for (std::int64_t i = whole; i < n; ++i) {
    const T v = (x[i] - mean) * inverse;
    if (weight_sums != nullptr) weight_sums[i] += dy[i] * v;
    if (bias_sums != nullptr) bias_sums[i] += dy[i];
    const T g = kWeight ? dy[i] * weight[i] : dy[i];
    if (dx != nullptr) dx[i] = ((g - share) - v * product) * inverse;
  }
}

template <class T>
void rows_gradient(const NormRowsGradient& given, std::int64_t begin, std::int64_t end) {
  const NormRowsGradient work = given;
  for (std::int64_t row = begin; row < end; ++row) {
    if (work.weight != nullptr) {
      row_gradient<T, true>(work, row);
    } else {
      row_gradient<T, false>(work, row);
    }
  }
}

// A value of each lane. With one lane, all are that of the only channel.
template <class T, bool kEight>
inline Lanes<T> per_lane(const double* values) {
  Lanes<T> result;
  for (int i = 0; i < 8; ++i) result[i] = T(values[kEight ? i : 0]);
  return result;
}

// The values that are reached a page after others: behind them in their plane for those before
// `split`, in the next image's plane for the rest. `step` is that of 8 values, in elements.
struct NormAhead {
  NormAhead(const NormPlanes& planes, std::int64_t step, std::int64_t whole, std::size_t bytes) {
    const std::int64_t page = kPageBytes / (kLanes * std::int64_t(bytes));
    const std::int64_t count = smaller(whole, page);
    split = whole - count;
    within = count * step;
    beyond = planes.images > 1 ? planes.image_step - split * step : within;
  }
  std::int64_t split;  // how many times 8 values
  std::int64_t within;
  std::int64_t beyond;
};

// Calls body(offset of 8 values of type S, offset of those a page later) over the whole planes and
// edge(offset) for single values.
template <class S, bool kEight, class Body, class Edge>
inline void for_each_value(const NormPlanes& given, Body body, Edge edge) {
  const NormPlanes planes = given;
  const std::int64_t step = kEight ? planes.pixel_step : kLanes;
  const std::int64_t whole = kEight ? planes.pixels : planes.pixels / kLanes;
  const NormAhead ahead(planes, step, whole, sizeof(S));
  for (std::int64_t image = 0; image < planes.images; ++image) {
    std::int64_t at = image * planes.image_step;
    std::int64_t i = 0;
    for (; i < ahead.split; ++i, at += step) body(at, at + ahead.within);
    for (; i < whole; ++i, at += step) body(at, at + ahead.beyond);
    if constexpr (!kEight) {
      for (i = whole * kLanes; i < planes.pixels; ++i, ++at) edge(at);
    }
  }
}

// Adds lanes to sums: each to its own, or all to the first.
template <class T, bool kEight>
inline void add_lanes(const Lanes<T>& value, double* sums) {
  if constexpr (kEight) {
    for (int i = 0; i < 8; ++i) sums[i] += double(value[i]);
  } else {
    sums[0] += sum_lanes<T>(value);
  }
}

// Sums over the planes of body(offset, offset of what comes a page later, first, second), which
// adds 8 values of type S to 8 lanes.
template <class T, class S, bool kEight, class Body, class Edge>
inline void plane_sums(const NormPlanes& given, NormSums& sums, Body body, Edge edge) {
  const NormPlanes planes = given;
  for (int i = 0; i < 8; ++i) {
    sums.first[i] = 0;
    sums.second[i] = 0;
  }
  const std::int64_t step = kEight ? planes.pixel_step : kLanes;
  const std::int64_t whole = kEight ? planes.pixels : planes.pixels / kLanes;
  const NormAhead ahead(planes, step, whole, sizeof(S));
  Lanes<T> first = {};
  Lanes<T> second = {};
  std::int64_t left = kRun;
  for (std::int64_t image = 0; image < planes.images; ++image) {
    std::int64_t at = image * planes.image_step;
    for (std::int64_t i = 0; i < whole;) {
      const bool before = i < ahead.split;
      const std::int64_t fetched = before ? ahead.within : ahead.beyond;
      const std::int64_t end = smaller(before ? ahead.split : whole, i + left);
      left -= end - i;
      for (; i < end; ++i, at += step) body(at, at + fetched, first, second);
      if (left > 0) continue;
      add_lanes<T, kEight>(first, sums.first);
      add_lanes<T, kEight>(second, sums.second);
      first = Lanes<T>{};
      second = Lanes<T>{};
      left = kRun;
    }
    for (std::int64_t i = whole * kLanes; !kEight && i < planes.pixels; ++i, ++at) {
      T a = 0;
      T b = 0;
      edge(at, a, b);
      sums.first[0] += double(a);
      sums.second[0] += double(b);
    }
  }
  add_lanes<T, kEight>(first, sums.first);
  add_lanes<T, kEight>(second, sums.second);
}

// In what follows planes hold values of type S, which are computed with as T.
template <class T, bool kEight, class S>
void moments(const void* data, const NormPlanes& planes, const double* origin, NormSums& sums) {
  const S* const x = static_cast<const S*>(data);
  const Lanes<T> from = per_lane<T, kEight>(origin);
  plane_sums<T, S, kEight>(
      planes, sums,
      [&](std::int64_t at, std::int64_t later, Lanes<T>& first, Lanes<T>& second) {
        Lanes<T> v;
        load_lanes(x + at, v);
        __builtin_prefetch(x + later);
        v -= from;
        first += v;
        second += v * v;
      },
      [&](std::int64_t at, T& first, T& second) {
        first = value_at(x + at) - from[0];
        second = first * first;
      });
}

template <class T, bool kEight, bool kRelu, class S>
inline void apply_planes(const S* x, S* y, const NormPlanes& planes, const NormAffine& affine) {
  const Lanes<T> from = per_lane<T, kEight>(affine.origin);
  const Lanes<T> scale = per_lane<T, kEight>(affine.scale);
  const Lanes<T> shift = per_lane<T, kEight>(affine.shift);
  const Lanes<T> zero = {};
  for_each_value<S, kEight>(
      planes,
      [&](std::int64_t at, std::int64_t later) {
        Lanes<T> v;
        load_lanes(x + at, v);
        __builtin_prefetch(x + later);
        __builtin_prefetch(y + later, 1);
        v = (v - from) * scale + shift;
        if constexpr (kRelu) v = v < zero ? zero : v;  // NaN stays NaN
        store_lanes(y + at, v);
      },
      [&](std::int64_t at) {
        const T v = (value_at(x + at) - from[0]) * scale[0] + shift[0];
        put_value(y + at, kRelu && v < 0 ? T{0} : v);
      });
}

template <class T, bool kEight, class S>
void apply(const void* x, void* y, const NormPlanes& planes, const NormAffine& affine) {
  if (affine.relu) {
    apply_planes<T, kEight, true>(static_cast<const S*>(x), static_cast<S*>(y), planes, affine);
  } else {
    apply_planes<T, kEight, false>(static_cast<const S*>(x), static_cast<S*>(y), planes, affine);
  }
}

template <class T, bool kEight, bool kRelu, class S>
inline void product_planes(const S* dy, const S* x, const NormPlanes& planes,
                           const NormAffine& affine, NormSums& sums) {
  const Lanes<T> from = per_lane<T, kEight>(affine.origin);
  const Lanes<T> scale = per_lane<T, kEight>(affine.scale);
  const Lanes<T> shift = per_lane<T, kEight>(affine.shift);
  const Lanes<T> zero = {};
  plane_sums<T, S, kEight>(
      planes, sums,
      [&](std::int64_t at, std::int64_t later, Lanes<T>& first, Lanes<T>& second) {
        Lanes<T> v;
        Lanes<T> g;
        load_lanes(x + at, v);
        load_lanes(dy + at, g);
        __builtin_prefetch(x + later);
        __builtin_prefetch(dy + later);
        v -= from;
        if constexpr (kRelu) g = v * scale + shift > zero ? g : zero;
        first += g;
        second += g * v;
      },
      [&](std::int64_t at, T& first, T& second) {
        const T v = value_at(x + at) - from[0];
        first = kRelu && !(v * scale[0] + shift[0] > 0) ? T{0} : value_at(dy + at);
        second = first * v;
      });
}

template <class T, bool kEight, class S>
void products(const void* dy, const void* x, const NormPlanes& planes, const NormAffine& affine,
              NormSums& sums) {
  const S* const g = static_cast<const S*>(dy);
  const S* const v = static_cast<const S*>(x);
  if (affine.relu) {
    product_planes<T, kEight, true>(g, v, planes, affine, sums);
  } else {
    product_planes<T, kEight, false>(g, v, planes, affine, sums);
  }
}

template <class T, bool kEight, bool kRelu, class S>
inline void gradient_planes(const S* dy, const S* x, S* dx, const NormPlanes& planes,
                            const NormAffine& affine, const NormLoops::Planes::Mix& mix) {
  const Lanes<T> a = per_lane<T, kEight>(mix.a);
  const Lanes<T> b = per_lane<T, kEight>(mix.b);
  const Lanes<T> c = per_lane<T, kEight>(mix.c);
  const Lanes<T> from = per_lane<T, kEight>(affine.origin);
  const Lanes<T> scale = per_lane<T, kEight>(affine.scale);
  const Lanes<T> shift = per_lane<T, kEight>(affine.shift);
  const Lanes<T> zero = {};
  for_each_value<S, kEight>(
      planes,
      [&](std::int64_t at, std::int64_t later) {
        Lanes<T> v;
        Lanes<T> g;
        load_lanes(x + at, v);
        load_lanes(dy + at, g);
        __builtin_prefetch(x + later);
        __builtin_prefetch(dy + later);
        v -= from;
        if constexpr (kRelu) g = v * scale + shift > zero ? g : zero;
        __builtin_prefetch(dx + later, 1);
        store_lanes(dx + at, a * g + (b * v + c));
      },
      [&](std::int64_t at) {
        const T v = value_at(x + at) - from[0];
        const T g = kRelu && !(v * scale[0] + shift[0] > 0) ? T{0} : value_at(dy + at);
        put_value(dx + at, a[0] * g + (b[0] * v + c[0]));
      });
}

template <class T, bool kEight, class S>
void gradient(const void* dy, const void* x, void* dx, const NormPlanes& planes,
              const NormAffine& affine, const NormLoops::Planes::Mix& mix) {
  const S* const g = static_cast<const S*>(dy);
  const S* const v = static_cast<const S*>(x);
  if (affine.relu) {
    gradient_planes<T, kEight, true>(g, v, static_cast<S*>(dx), planes, affine, mix);
  } else {
    gradient_planes<T, kEight, false>(g, v, static_cast<S*>(dx), planes, affine, mix);
  }
}

template <class T, bool kEight, class S>
constexpr NormLoops::Planes plane_loops() {
  return {moments<T, kEight, S>, apply<T, kEight, S>, products<T, kEight, S>,
          gradient<T, kEight, S>};
}

template <class T>
constexpr NormLoops all_norm_loops() {
  return {rows<T>, rows_gradient<T>, plane_loops<T, false, T>(), plane_loops<T, true, T>()};
}

}  // namespace

extern const NormBuild WEFT_LOOPS_NAME(norm_build) = {
    all_norm_loops<float>(),
    all_norm_loops<double>(),
    {nullptr, nullptr, plane_loops<float, false, Half>(), plane_loops<float, true, Half>()}};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
