// Code shared by both passes of attention, block by block. For attention_forward.cpp,
// attention_gradient.cpp and their products; attention.h has the method.
//
// Matrices of D columns are kept in whole panels of kPanel columns, padded with zeros, with an odd
// number of cache lines per row, so that a column spreads over all sets of a cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "weft/array/storage/storage.h"
#include "weft/base/parallel.h"
#include "weft/kernel/attention/attention_loops.h"
#include "weft/kernel/attention/attention_problem.h"
#include "weft/kernel/gemm/gemm_loops.h"

namespace weft::attention_blocks {

inline constexpr std::int64_t kPanel = kGemmPanel;
// Queries (for the gradients of keys: keys) that share a tile of a product where not all pairs are
// read: one of them is read with at most kTile - 1 more than another.
inline constexpr std::int64_t kTile = 6;
// Scores are multiplied by this, so that shares are powers of 2.
inline constexpr double kLog2E = 1.4426950408889634;

inline std::int64_t padded(std::int64_t count) { return (count + kPanel - 1) / kPanel * kPanel; }
// The padded size of a row of `columns` columns.
inline std::int64_t row_floats(std::int64_t columns) {
  return (padded(columns) / kPanel | 1) * kPanel;
}

// Rows of one head.
template <class T>
struct Rows {
  const T* data;
  std::int64_t step;
};

template <class T>
Rows<T> rows_of(const Heads<const T>& heads, std::int64_t b, std::int64_t head,
                std::int64_t first) {
  return {heads.at(b, head, first), heads.token_step};
}

// Fetches row i + kAttentionRowsAhead of `count`, which will be read soon.
template <class T>
void fetch_row(const Rows<T>& rows, std::int64_t i, std::int64_t count, std::int64_t width) {
  if (i + kAttentionRowsAhead >= count) return;
  const T* const row = rows.data + (i + kAttentionRowsAhead) * rows.step;
  constexpr std::int64_t kLine = 64 / sizeof(T);
  for (std::int64_t d = 0; d < width; d += kLine) __builtin_prefetch(row + d);
}

// Keys or queries [first, first + count) of a head.
struct Range {
  std::int64_t first;
  std::int64_t count;
};

// Memory for one thread's blocks, in lines of the cache.
class Workspace {
 public:
  // `words`, of 32 bits: of all that will be taken.
  explicit Workspace(std::int64_t words)
      : storage_(Storage::allocate(static_cast<std::size_t>(words) * sizeof(float))),
        next_(static_cast<std::byte*>(storage_->data())) {}
  // Element: of 32 bits.
  template <class Element>
  Element* take(std::int64_t words) {
    static_assert(sizeof(Element) == sizeof(float));
    auto* const result = reinterpret_cast<Element*>(next_);
    next_ += static_cast<std::size_t>(words) * sizeof(float);
    return result;
  }

 private:
  std::shared_ptr<Storage> storage_;
  std::byte* next_;
};

// A thread takes at most so many key heads at once, times the grain, and makes its blocks anew for
// each such piece.
inline constexpr std::int64_t kHeadsAtOnce = 8;

// Calls kv_head(b, kv_head) of a Solver for each key head.
template <class Solver, class Problem, class Out>
void solve(const Problem& p, const Out& out) {
  if (p.width == 0 || p.batch * p.kv_heads == 0) return;
  const std::int64_t products = p.group() * p.queries * p.keys * p.width;
  const Pieces pieces{attention_grain(products), kHeadsAtOnce};
  parallel_pieces(p.batch * p.kv_heads, pieces, [&](std::int64_t begin, std::int64_t end) {
    Solver solver(p, out);
    for (std::int64_t item = begin; item < end; ++item) {
      solver.kv_head(item / p.kv_heads, item % p.kv_heads);
    }
  });
}

}  // namespace weft::attention_blocks
