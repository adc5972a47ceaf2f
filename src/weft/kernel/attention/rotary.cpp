#include "weft/kernel/attention/rotary.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/base/thread_safety.h"
#include "weft/kernel/attention/rotary_loops.h"

namespace weft {
namespace {

// Tokens that a thread takes at least.
constexpr std::int64_t kRotaryGrain = 16;
// Angles whose turns are kept: with heads of 128 values those of 16,384 places, in f32 8 MiB.
constexpr std::int64_t kAnglesKept = 1 << 20;

// cos and sin of the angles of places [first, first + places), `half` of each.
template <class T>
class Turns {
 public:
  Turns(double base, std::int64_t half, std::int64_t first, std::int64_t places)
      : base_(base), half_(half), first_(first), places_(places) {
    const auto size = static_cast<std::size_t>(half * places);
    cos_.reserve(size);
    sin_.reserve(size);
    std::vector<double> speeds;
    for (std::int64_t i = 0; i < half; ++i) {
      speeds.push_back(std::pow(base, -static_cast<double>(i) / static_cast<double>(half)));
    }
    for (std::int64_t place = first; place < first + places; ++place) {
      for (const double speed : speeds) {
        const double angle = static_cast<double>(place) * speed;
        cos_.push_back(static_cast<T>(std::cos(angle)));
        sin_.push_back(static_cast<T>(std::sin(angle)));
      }
    }
  }

  bool is_of(double base, std::int64_t half) const { return base_ == base && half_ == half; }
  std::int64_t places() const { return places_; }
  const T* cos(std::int64_t place) const { return cos_.data() + (place - first_) * half_; }
  const T* sin(std::int64_t place) const { return sin_.data() + (place - first_) * half_; }

 private:
  double base_;
  std::int64_t half_;
  std::int64_t first_;
  std::int64_t places_;
  std::vector<T> cos_;
  std::vector<T> sin_;
};

// The turns that calls have in common, for a few bases and sizes of a head.
template <class T>
class KeptTurns {
 public:
  std::shared_ptr<const Turns<T>> get(double base, std::int64_t half, std::int64_t first,
                                      std::int64_t places) {
    const std::int64_t most = kAnglesKept / half;
    if (first < 0 || first + places > most) {
      return std::make_shared<Turns<T>>(base, half, first, places);
    }
    const MutexLock lock(mutex_);
    const auto same = std::find_if(turns_.begin(), turns_.end(),
                                   [&](const auto& turns) { return turns->is_of(base, half); });
    if (same != turns_.end()) {
      if ((*same)->places() >= first + places) return *same;
      turns_.erase(same);
    } else if (turns_.size() == kKinds) {
      turns_.erase(turns_.begin());
    }
    // Twice as many as are asked for, so that a text that grows by a token seldom comes here.
    const std::int64_t kept = std::min(most, 2 * (first + places));
    turns_.push_back(std::make_shared<Turns<T>>(base, half, 0, kept));
    return turns_.back();
  }

 private:
  static constexpr std::size_t kKinds = 4;
  Mutex mutex_;
  std::vector<std::shared_ptr<const Turns<T>>> turns_ WEFT_GUARDED_BY(mutex_);
};

// By the angles, or the other way.
template <bool kInverse>
void turn_row(const double* __restrict x, double* __restrict y, const double* __restrict cos,
              const double* __restrict sin, std::int64_t half) {
  for (std::int64_t i = 0; i < half; ++i) {
    const double a = x[i];
    const double b = x[i + half];
    const double s = kInverse ? -sin[i] : sin[i];
    y[i] = a * cos[i] - b * s;
    y[i + half] = b * cos[i] + a * s;
  }
}

template <class T>
using TurnRow = void (*)(const T* x, T* y, const T* cos, const T* sin, std::int64_t half);
template <class T>
TurnRow<T> row_turner(bool inverse) {
  if constexpr (std::is_same_v<T, float>) {
    return inverse ? rotary_loops().turn_back : rotary_loops().turn;
  } else {
    return inverse ? turn_row<true> : turn_row<false>;
  }
}

// The first places of the items, least and largest.
std::pair<std::int64_t, std::int64_t> first_places(const RotaryRun& run) {
  if (run.row_places.empty()) return {run.first_place, run.first_place};
  const auto [least, largest] = std::minmax_element(run.row_places.begin(), run.row_places.end());
  return {*least, *largest};
}

// All items and heads of a place share its turns.
template <class T>
void turn(const Array& x, Array& y, const RotaryRun& run) {
  static KeptTurns<T> kept;
  const std::int64_t half = x.dim(3) / 2;
  const auto [least, largest] = first_places(run);
  const auto turns = kept.get(run.base, half, least, largest - least + x.dim(1));
  const TurnRow<T> row = row_turner<T>(run.inverse);
  const T* const from = x.data<T>();
  T* const to = y.data<T>();
  const Strides& steps = x.strides();
  const Strides& out_steps = y.strides();
  const std::int64_t texts = x.dim(0);
  const std::int64_t places = x.dim(1);
  const std::int64_t heads = x.dim(2);
  // In the order of memory: the turns of all places stay in a cache.
  parallel_for(texts * places, kRotaryGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t b = i / places;
      const std::int64_t t = i % places;
      const std::int64_t place =
          t +
          (run.row_places.empty() ? run.first_place : run.row_places[static_cast<std::size_t>(b)]);
      const T* const cos = turns->cos(place);
      const T* const sin = turns->sin(place);
      const T* x_row = from + b * steps[0] + t * steps[1];
      T* y_row = to + b * out_steps[0] + t * out_steps[1];
      for (std::int64_t head = 0; head < heads; ++head) {
        row(x_row, y_row, cos, sin, half);
        x_row += steps[2];
        y_row += out_steps[2];
      }
    }
  });
}

}  // namespace

Array rotary_turn(const Array& x, const RotaryRun& run) {
  WEFT_CHECK(run.row_places.empty() ||
             static_cast<std::int64_t>(run.row_places.size()) == x.dim(0));
  std::optional<Array> copy;
  const bool dense_heads = x.is_strided() && (x.dim(3) <= 1 || x.strides()[3] == 1);
  const Array& in = dense_heads ? x : contiguous_in(x, copy);
  Array out = Array::empty(in.shape(), in.dtype(), in.device());
  launch("rotary", {&in}, {&out}, [run](LaunchArrays from, LaunchArrays to) {
    if (to[0].size() == 0) return;
    if (to[0].dtype() == DType::kF64) return turn<double>(from[0], to[0], run);
    turn<float>(from[0], to[0], run);
  });
  return out;
}

}  // namespace weft
