// Walk: the steps of a recurrent layer in the order of a run, for both directions of its
// computation.
//
// For this folder. Pure: a value, and functions of values.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/array/array.h"
#include "weft/kernel/recurrent/recurrent.h"

namespace weft {

// Rows of the batch that a thread takes at least: fewer make slow products.
constexpr std::int64_t kRecurrentRowGrain = 6;

template <class T>
const T* recurrent_values(const Array& array) {
  return array.defined() ? array.data<T>() : nullptr;
}

// The sizes of a run and where a step finds its rows.
struct Walk {
  RecurrentRun run;
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t width;

  std::int64_t gates() const { return gate_count(run.cell) * width; }
  // The time of step `index` in the order of the run.
  std::int64_t time_at(std::int64_t index) const { return run.reverse ? steps - 1 - index : index; }
  // Where the state before and after time t lies.
  std::int64_t before(std::int64_t t) const { return run.reverse ? t + 1 : t; }
  std::int64_t after(std::int64_t t) const { return run.reverse ? t : t + 1; }
  std::int64_t row(std::int64_t t, std::int64_t n) const { return t * batch + n; }
};

inline Walk walk_of(const Array& hidden, const RecurrentRun& run) {
  return {run, hidden.dim(0) - 1, hidden.dim(1), hidden.dim(2)};
}

inline bool lives(const std::int64_t* lengths, std::int64_t n, std::int64_t t) {
  return lengths == nullptr || t < lengths[n];
}

template <class T>
void copy_or_zero(const Array& from, T* to, std::int64_t count) {
  if (from.defined()) {
    std::copy_n(from.data<T>(), count, to);
  } else {
    std::fill_n(to, count, T{0});
  }
}

inline double product_flops(std::int64_t m, std::int64_t n, std::int64_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}
// The operations of the products of all steps with `columns` values in each row.
inline double recurrent_flops(const Walk& walk, std::int64_t columns) {
  return product_flops(walk.steps * walk.batch, walk.gates(), columns);
}

}  // namespace weft
