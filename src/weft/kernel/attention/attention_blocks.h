// Code shared by both passes of attention in f32: rows of heads as operands of matrix products. For
// attention_forward.cpp and attention_gradient.cpp; attention.h has the method.
//
// Matrices of D columns are kept in whole panels of kPanel columns, padded with zeros, with an odd
// number of cache lines per row, so that a column spreads over all sets of a cache.
#pragma once

#include <algorithm>
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
struct Rows {
  const float* data;
  std::int64_t step;
};

inline Rows rows_of(const Heads<const float>& heads, std::int64_t b, std::int64_t head,
                    std::int64_t first) {
  return {heads.at(b, head, first), heads.token_step};
}

// Keys or queries [first, first + count) of a head.
struct Range {
  std::int64_t first;
  std::int64_t count;
};

// to[count][row_floats(width)] = rows * by.
void copy_rows(const Rows& rows, std::int64_t count, std::int64_t width, float by, float* to);

// The columns of `rows` as the k of a product: panels of 16 rows, [width][16] each.
void pack_transposed(const Rows& rows, std::int64_t count, std::int64_t width, float* packed);

// The columns of a product: all that are left, in whole panels, or as many as the loops take at
// once.
inline std::int64_t panels_of(const GemmLoops& gemm, std::int64_t left) {
  return std::min(gemm.columns, left);
}

// The panel of pack_transposed() that begins with row `first`, and the next one.
inline GemmPanel transposed_panel(const float* packed, std::int64_t first, std::int64_t width) {
  return {packed + first * width, kPanel, kPanel * width};
}

// Memory for one thread's blocks, in lines of the cache.
class Workspace {
 public:
  // `floats`: of all that will be taken, each a multiple of 16.
  explicit Workspace(std::int64_t floats)
      : storage_(Storage::allocate(static_cast<std::size_t>(floats) * sizeof(float))),
        next_(static_cast<float*>(storage_->data())) {}
  float* take(std::int64_t floats) {
    float* const result = next_;
    next_ += floats;
    return result;
  }

 private:
  std::shared_ptr<Storage> storage_;
  float* next_;
};

// Calls kv_head(b, kv_head) of a Solver for each key head; a thread has one Solver.
template <class Solver, class Out>
void solve(const AttentionProblem<float>& p, const Out& out) {
  if (p.width == 0 || p.batch * p.kv_heads == 0) return;
  parallel_for(p.batch * p.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    Solver solver(p, out);
    for (std::int64_t item = begin; item < end; ++item) {
      solver.kv_head(item / p.kv_heads, item % p.kv_heads);
    }
  });
}

}  // namespace weft::attention_blocks
