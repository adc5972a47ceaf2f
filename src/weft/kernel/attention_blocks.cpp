// Attention in f32, block by block (attention.h has the method).
#include <cmath>
#include <vector>

#include "weft/array/storage.h"
#include "weft/base/parallel.h"
#include "weft/kernel/attention_problem.h"
#include "weft/kernel/cpu/attention_loops.h"
#include "weft/kernel/cpu/gemm_loops.h"

namespace weft {
namespace {

using Problem = AttentionProblem<float>;

// Of scores in forward: 24 KiB, which leave room in the first-level cache.
constexpr std::int64_t kQueryBlock = 24;
constexpr std::int64_t kKeyBlock = 256;
// Of the gradient: two panels of scores of 16 KiB each.
constexpr std::int64_t kGradientQueries = 256;
constexpr std::int64_t kPanel = kGemmPanel;

std::int64_t padded(std::int64_t count) { return (count + kPanel - 1) / kPanel * kPanel; }

// Rows of one head.
struct Rows {
  const float* data;
  std::int64_t step;
};

Rows rows_of(const Heads<const float>& heads, std::int64_t b, std::int64_t head) {
  return {heads.at(b, head, 0), heads.token_step};
}

// The columns of `rows` as the k of a product: panels of 16 rows, [width][16] each.
void pack_transposed(const Rows& rows, std::int64_t count, std::int64_t width, float* packed) {
  const GemmLoops& gemm = gemm_loops();
  for (std::int64_t j = 0; j < count; j += kPanel) {
    gemm.pack({rows.data + j * rows.step, 1, rows.step}, width, std::min(kPanel, count - j),
              packed + j * width);
  }
}

// The rows themselves as the k: panels of 16 columns, [count][16] each.
void pack_rows(const Rows& rows, std::int64_t count, std::int64_t width, float* packed) {
  const GemmLoops& gemm = gemm_loops();
  for (std::int64_t d = 0; d < width; d += kPanel) {
    gemm.pack({rows.data + d, rows.step, 1}, count, std::min(kPanel, width - d),
              packed + d * count);
  }
}

// out [m, width] (+)= a [m, k] times packed rows, of which `count` were packed, from row `first`.
struct PackedRows {
  const float* data;
  std::int64_t count;
  std::int64_t first;
};
void multiply_rows(const GemmSize& size, const GemmOperand& a, const PackedRows& b,
                   const GemmOutput& out) {
  const GemmLoops& gemm = gemm_loops();
  for (std::int64_t d = 0; d < size.n; d += kPanel) {
    GemmOutput to = out;
    to.data += d;
    gemm.multiply({size.m, std::min(kPanel, size.n - d), size.k}, a,
                  {b.data + d * b.count + b.first * kPanel, kPanel}, to);
  }
}

// Memory for one thread's blocks.
class Workspace {
 public:
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

class Forward {
 public:
  Forward(const Problem& problem, const AttentionOutputs<float>& out)
      : p_(problem),
        out_(out),
        memory_(padded(p_.keys) * p_.width + p_.keys * padded(p_.width) +
                kQueryBlock * (kKeyBlock + p_.width) + kKeyBlock),
        keys_(memory_.take(padded(p_.keys) * p_.width)),
        values_(memory_.take(p_.keys * padded(p_.width))),
        scores_(memory_.take(kQueryBlock * kKeyBlock)),
        sums_(memory_.take(kQueryBlock * p_.width)),
        factors_(memory_.take(kKeyBlock)) {}

  void kv_head(std::int64_t b, std::int64_t kv_head) {
    pack_transposed(rows_of(p_.k, b, kv_head), p_.keys, p_.width, keys_);
    pack_rows(rows_of(p_.v, b, kv_head), p_.keys, p_.width, values_);
    for (std::int64_t g = 0; g < p_.group(); ++g) {
      for (std::int64_t i = 0; i < p_.queries; i += kQueryBlock) {
        block(b, kv_head * p_.group() + g, i, std::min(kQueryBlock, p_.queries - i));
      }
    }
  }

 private:
  // Queries [first, first + rows) of one head.
  void block(std::int64_t b, std::int64_t head, std::int64_t first, std::int64_t rows) {
    const std::int64_t limit = p_.key_limit(first + rows - 1);
    for (std::int64_t r = 0; r < rows; ++r) {
      largest_[r] = -std::numeric_limits<float>::infinity();
      totals_[r] = 0.0F;
    }
    std::fill_n(sums_, rows * p_.width, 0.0F);
    const Rows queries = rows_of(p_.q, b, head);
    for (std::int64_t j = 0; j < limit; j += kKeyBlock) {
      const std::int64_t count = std::min(kKeyBlock, limit - j);
      for (std::int64_t k = 0; k < count; k += kPanel) {
        gemm_.multiply({rows, kPanel, p_.width},
                       {queries.data + first * queries.step, queries.step, 1},
                       {keys_ + (j + k) * p_.width, kPanel}, {scores_ + k, kKeyBlock});
      }
      for (std::int64_t r = 0; r < rows; ++r) soften(b, head, first + r, r, {j, count});
      multiply_rows({rows, p_.width, count}, {scores_, kKeyBlock, 1}, {values_, p_.keys, j},
                    {sums_, p_.width, true});
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const float total = totals_[r];
      loops_.scaled(sums_ + r * p_.width, out_.output.at(b, head, first + r), p_.width,
                    total > 0 ? 1.0F / total : 0.0F);
      out_.log_sums[p_.row(b, head, first + r)] =
          total > 0 ? largest_[r] + std::log(total) : std::numeric_limits<float>::infinity();
    }
  }

  struct Keys {
    std::int64_t first;
    std::int64_t count;
  };

  // Row r of the scores becomes shares of the largest score so far.
  void soften(std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t r, const Keys& keys) {
    float* const row = scores_ + r * kKeyBlock;
    const std::int64_t count =
        std::clamp<std::int64_t>(p_.key_limit(i) - keys.first, 0, keys.count);
    std::fill(row + count, row + keys.count, 0.0F);
    if (count == 0) return;
    float scale = static_cast<float>(p_.run.scale);
    if (p_.mask.defined()) {
      for (std::int64_t j = 0; j < count; ++j) {
        row[j] = row[j] * scale + static_cast<float>(p_.mask.at({b, head, i, keys.first + j}));
      }
      scale = 1.0F;
    }
    // A negative scale turns the order around.
    const float top = scale >= 0 ? loops_.max(row, count) * scale : negative_max(row, count, scale);
    const float largest = std::max(top, largest_[r]);
    if (std::isinf(largest) && largest < 0) {
      std::fill_n(row, count, 0.0F);
      return;
    }
    const float kept = std::exp(largest_[r] - largest);
    const float sum = loops_.exp_sum(row, count, scale, largest);
    totals_[r] = totals_[r] * kept + sum;
    if (kept != 1.0F) loops_.scale(sums_ + r * p_.width, p_.width, kept);
    largest_[r] = largest;
    if (p_.run.dropout > 0) {
      attention_dropout(p_.dropout, p_.row(b, head, i), keys.first, count, factors_);
      for (std::int64_t j = 0; j < count; ++j) row[j] *= factors_[j];
    }
  }

  static float negative_max(const float* row, std::int64_t count, float scale) {
    float result = row[0] * scale;
    for (std::int64_t j = 1; j < count; ++j) result = std::max(result, row[j] * scale);
    return result;
  }

  const Problem& p_;
  const AttentionOutputs<float>& out_;
  const GemmLoops& gemm_ = gemm_loops();
  const AttentionLoops& loops_ = attention_loops();
  Workspace memory_;
  float* keys_;
  float* values_;
  float* scores_;  // [queries][kKeyBlock]
  float* sums_;    // [queries][width]
  float* factors_;
  float largest_[kQueryBlock] = {};
  float totals_[kQueryBlock] = {};
};

class Backward {
 public:
  Backward(const Problem& problem, const AttentionGradients<float>& out)
      : p_(problem),
        out_(out),
        queries_max_(std::min(kGradientQueries, p_.queries)),
        memory_(2 * padded(p_.keys) * p_.width + (p_.keys + 2 * queries_max_) * padded(p_.width) +
                queries_max_ * (4 * kPanel + 1)),
        keys_(memory_.take(padded(p_.keys) * p_.width)),
        values_(memory_.take(padded(p_.keys) * p_.width)),
        key_rows_(memory_.take(p_.keys * padded(p_.width))),
        query_rows_(memory_.take(queries_max_ * padded(p_.width))),
        gradient_rows_(memory_.take(queries_max_ * padded(p_.width))),
        scores_(memory_.take(queries_max_ * kPanel)),
        gradients_(memory_.take(queries_max_ * kPanel)),
        bias_(memory_.take(queries_max_ * kPanel)),
        factors_(memory_.take(queries_max_ * kPanel)),
        dots_(memory_.take(queries_max_)) {}

  void kv_head(std::int64_t b, std::int64_t kv_head) {
    pack_transposed(rows_of(p_.k, b, kv_head), p_.keys, p_.width, keys_);
    pack_transposed(rows_of(p_.v, b, kv_head), p_.keys, p_.width, values_);
    pack_rows(rows_of(p_.k, b, kv_head), p_.keys, p_.width, key_rows_);
    bool first = true;
    for (std::int64_t g = 0; g < p_.group(); ++g) {
      for (std::int64_t i = 0; i < p_.queries; i += kGradientQueries) {
        const Block block{
            b,    kv_head * p_.group() + g, kv_head, i, std::min(kGradientQueries, p_.queries - i),
            first};
        queries(block);
        first = false;
      }
    }
  }

 private:
  // Queries [begin, begin + count) of one head.
  struct Block {
    std::int64_t b;
    std::int64_t head;
    std::int64_t kv_head;
    std::int64_t begin;
    std::int64_t count;
    bool first;  // of those that share a key head: its gradients start here

    std::int64_t end() const { return begin + count; }
  };

  void queries(const Block& block) {
    const Rows q = rows_of(p_.q, block.b, block.head);
    const Rows dy = rows_of(out_.dy, block.b, block.head);
    pack_rows({q.data + block.begin * q.step, q.step}, block.count, p_.width, query_rows_);
    pack_rows({dy.data + block.begin * dy.step, dy.step}, block.count, p_.width, gradient_rows_);
    for (std::int64_t i = 0; i < block.count; ++i) {
      dots_[i] = loops_.dot(dy.data + (block.begin + i) * dy.step,
                            out_.output.at(block.b, block.head, block.begin + i), p_.width);
    }
    if (p_.keys == 0) clear_queries(block, block.end());
    for (std::int64_t j = 0; j < p_.keys; j += kPanel) panel(block, j);
  }

  // All queries of the block against keys [j, j + 16).
  void panel(const Block& block, std::int64_t j) {
    const std::int64_t keys = std::min(kPanel, p_.keys - j);
    const std::int64_t begin = std::clamp(p_.query_begin(j), block.begin, block.end());
    const std::int64_t rows = block.end() - begin;
    const Rows q = rows_of(p_.q, block.b, block.head);
    const Rows dy = rows_of(out_.dy, block.b, block.head);
    gemm_.multiply({rows, kPanel, p_.width}, {q.data + begin * q.step, q.step, 1},
                   {keys_ + j * p_.width, kPanel}, {scores_, kPanel});
    gemm_.multiply({rows, kPanel, p_.width}, {dy.data + begin * dy.step, dy.step, 1},
                   {values_ + j * p_.width, kPanel}, {gradients_, kPanel});
    soften(block, {begin, rows}, j);
    const std::int64_t row_step = out_.dq.token_step;
    float* const dq = out_.dq.at(block.b, block.head, begin);
    multiply_rows({rows, p_.width, keys}, {gradients_, kPanel, 1}, {key_rows_, p_.keys, j},
                  {dq, row_step, j > 0});
    if (j == 0) clear_queries(block, begin);
    const std::int64_t first = begin - block.begin;
    multiply_rows({keys, p_.width, rows}, {gradients_, 1, kPanel},
                  {query_rows_, block.count, first},
                  {out_.dk.at(block.b, block.kv_head, j), out_.dk.token_step, !block.first});
    multiply_rows({keys, p_.width, rows}, {scores_, 1, kPanel},
                  {gradient_rows_, block.count, first},
                  {out_.dv.at(block.b, block.kv_head, j), out_.dv.token_step, !block.first});
  }

  // Queries before `begin` read no key at all.
  void clear_queries(const Block& block, std::int64_t begin) {
    for (std::int64_t i = block.begin; i < begin; ++i) {
      std::fill_n(out_.dq.at(block.b, block.head, i), p_.width, 0.0F);
    }
  }

  struct Queries {
    std::int64_t begin;
    std::int64_t count;
  };

  // Scores become shares, the gradients of the shares those of the scores.
  void soften(const Block& block, const Queries& queries, std::int64_t j) {
    const bool drops = p_.run.dropout > 0;
    const std::int64_t keys = std::min(kPanel, p_.keys - j);
    if (p_.mask.defined()) read_mask(block, queries, j, keys);
    if (drops) {
      for (std::int64_t r = 0; r < queries.count; ++r) {
        attention_dropout(p_.dropout, p_.row(block.b, block.head, queries.begin + r), j, kPanel,
                          factors_ + r * kPanel);
      }
      multiply(gradients_, queries.count * kPanel);
    }
    loops_.panel({scores_, gradients_, out_.log_sums + p_.row(block.b, block.head, queries.begin),
                  dots_ + queries.begin - block.begin, p_.mask.defined() ? bias_ : nullptr,
                  static_cast<float>(p_.run.scale)},
                 queries.count);
    if (drops) multiply(scores_, queries.count * kPanel);
    for (std::int64_t r = 0; p_.run.causal && r < queries.count; ++r) {
      const std::int64_t limit = p_.key_limit(queries.begin + r) - j;
      if (limit >= kPanel) break;
      const std::int64_t read = std::max<std::int64_t>(limit, 0);
      std::fill_n(scores_ + r * kPanel + read, kPanel - read, 0.0F);
      std::fill_n(gradients_ + r * kPanel + read, kPanel - read, 0.0F);
    }
  }

  void multiply(float* values, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) values[i] *= factors_[i];
  }

  void read_mask(const Block& block, const Queries& queries, std::int64_t j, std::int64_t keys) {
    for (std::int64_t r = 0; r < queries.count; ++r) {
      for (std::int64_t c = 0; c < kPanel; ++c) {
        bias_[r * kPanel + c] =
            c < keys
                ? static_cast<float>(p_.mask.at({block.b, block.head, queries.begin + r, j + c}))
                : 0.0F;
      }
    }
  }

  const Problem& p_;
  const AttentionGradients<float>& out_;
  const GemmLoops& gemm_ = gemm_loops();
  const AttentionLoops& loops_ = attention_loops();
  std::int64_t queries_max_;
  Workspace memory_;
  float* keys_;           // transposed panels
  float* values_;         // transposed panels
  float* key_rows_;       // panels of columns, as the next two
  float* query_rows_;     // of a block of queries
  float* gradient_rows_;  // dy of a block of queries
  float* scores_;         // [queries][16], as the next three
  float* gradients_;
  float* bias_;
  float* factors_;
  float* dots_;  // dy . output
};

template <class Solver, class Out>
void solve(const Problem& p, const Out& out) {
  if (p.width == 0 || p.batch * p.kv_heads == 0) return;
  parallel_for(p.batch * p.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    Solver solver(p, out);
    for (std::int64_t item = begin; item < end; ++item) {
      solver.kv_head(item / p.kv_heads, item % p.kv_heads);
    }
  });
}

}  // namespace

void solve_attention(const AttentionProblem<float>& p, const AttentionOutputs<float>& out) {
  solve<Forward>(p, out);
}

void solve_attention_gradient(const AttentionProblem<float>& p,
                              const AttentionGradients<float>& out) {
  solve<Backward>(p, out);
}

}  // namespace weft
