#include "weft/kernel/attention/rotary.h"

#include <cmath>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"

namespace weft {
namespace {

// Tokens that a thread takes at least.
constexpr std::int64_t kRotaryGrain = 16;

// cos and sin of the angles of one place.
template <class T>
struct Turns {
  Turns(const RotaryRun& run, std::int64_t place, std::int64_t half)
      : cos(static_cast<std::size_t>(half)), sin(static_cast<std::size_t>(half)) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(place) *
                           std::pow(run.base, -static_cast<double>(i) / static_cast<double>(half));
      cos[static_cast<std::size_t>(i)] = static_cast<T>(std::cos(angle));
      sin[static_cast<std::size_t>(i)] =
          static_cast<T>(run.inverse ? -std::sin(angle) : std::sin(angle));
    }
  }
  std::vector<T> cos;
  std::vector<T> sin;
};

template <class T>
void turn_row(const T* __restrict x, T* __restrict y, const Turns<T>& turns, std::int64_t half) {
  const T* const cos = turns.cos.data();
  const T* const sin = turns.sin.data();
  for (std::int64_t i = 0; i < half; ++i) {
    const T a = x[i];
    const T b = x[i + half];
    y[i] = a * cos[i] - b * sin[i];
    y[i + half] = b * cos[i] + a * sin[i];
  }
}

// All items and heads of a place share its turns.
template <class T>
void turn(const Array& x, Array& y, const RotaryRun& run) {
  const std::int64_t half = x.dim(3) / 2;
  const T* const from = x.data<T>();
  T* const to = y.data<T>();
  const Strides& steps = x.strides();
  const Strides& out_steps = y.strides();
  parallel_for(x.dim(1), kRotaryGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const Turns<T> turns(run, run.first_place + t, half);
      for (std::int64_t b = 0; b < x.dim(0); ++b) {
        for (std::int64_t head = 0; head < x.dim(2); ++head) {
          turn_row(from + b * steps[0] + t * steps[1] + head * steps[2],
                   to + b * out_steps[0] + t * out_steps[1] + head * out_steps[2], turns, half);
        }
      }
    }
  });
}

}  // namespace

Array rotary_turn(const Array& x, const RotaryRun& run) {
  const Array in =
      x.is_strided() && (x.dim(3) <= 1 || x.strides()[3] == 1) ? x : x.strided().contiguous();
  Array out = Array::empty(in.shape(), in.dtype(), in.device());
  launch("rotary", {&in}, {&out}, [run](LaunchArrays from, LaunchArrays to) {
    if (to[0].size() == 0) return;
    if (to[0].dtype() == DType::kF64) return turn<double>(from[0], to[0], run);
    turn<float>(from[0], to[0], run);
  });
  return out;
}

}  // namespace weft
