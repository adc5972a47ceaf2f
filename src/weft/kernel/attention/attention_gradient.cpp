// The gradient of attention in f32, block by block (attention.h has the method).
#include "weft/kernel/attention/attention_blocks.h"

namespace weft {
namespace {

using namespace attention_blocks;  // NOLINT(google-build-using-namespace)
using FloatProblem = AttentionProblem<float>;

// Scores and their gradients are 42 KiB each: a block lives in the second-level cache.
constexpr std::int64_t kGradientQueryBlock = 96;
constexpr std::int64_t kGradientKeyBlock = 96;
constexpr std::int64_t kGradientScoreStep = kGradientKeyBlock + kAttentionRoom;

class TileGradient {
 public:
  TileGradient(const FloatProblem& problem, const AttentionGradients<float>& out)
      : p_(problem),
        out_(out),
        step_(row_floats(p_.width)),
        memory_(2 * padded(p_.keys) * p_.width + 3 * (p_.keys + kGradientQueryBlock) * step_ +
                (2 * kGradientQueryBlock + 1) * kGradientScoreStep),
        keys_(memory_.take(padded(p_.keys) * p_.width)),
        values_(memory_.take(padded(p_.keys) * p_.width)),
        key_rows_(memory_.take(p_.keys * step_)),
        dk_(memory_.take(p_.keys * step_)),
        dv_(memory_.take(p_.keys * step_)),
        queries_(memory_.take(kGradientQueryBlock * step_)),
        dy_(memory_.take(kGradientQueryBlock * step_)),
        dq_(memory_.take(kGradientQueryBlock * step_)),
        scores_(memory_.take(kGradientQueryBlock * kGradientScoreStep)),
        gradients_(memory_.take(kGradientQueryBlock * kGradientScoreStep)),
        factors_(memory_.take(kGradientScoreStep)) {}

  void kv_head(std::int64_t b, std::int64_t kv_head) {
    const Rows keys = rows_of(p_.k, b, kv_head, 0);
    pack_transposed(keys, p_.keys, p_.width, keys_);
    pack_transposed(rows_of(p_.v, b, kv_head, 0), p_.keys, p_.width, values_);
    copy_rows(keys, p_.keys, p_.width, 1.0F, key_rows_);
    std::fill_n(dk_, p_.keys * step_, 0.0F);
    std::fill_n(dv_, p_.keys * step_, 0.0F);
    for (std::int64_t g = 0; g < p_.group(); ++g) {
      for (std::int64_t i = 0; i < p_.queries; i += kGradientQueryBlock) {
        queries({b, kv_head * p_.group() + g, {i, std::min(kGradientQueryBlock, p_.queries - i)}});
      }
    }
    // Queries were multiplied by scale log2 e.
    write({dk_, step_}, {0, p_.keys}, 1.0 / kLog2E, out_.dk.at(b, kv_head, 0), out_.dk.token_step);
    write({dv_, step_}, {0, p_.keys}, 1.0, out_.dv.at(b, kv_head, 0), out_.dv.token_step);
  }

 private:
  struct Block {
    std::int64_t b;
    std::int64_t head;
    Range queries;
  };

  void queries(const Block& block) {
    const auto [first, rows] = block.queries;
    copy_rows(rows_of(p_.q, block.b, block.head, first), rows, p_.width,
              static_cast<float>(p_.run.scale * kLog2E), queries_);
    copy_rows(rows_of(out_.dy, block.b, block.head, first), rows, p_.width, 1.0F, dy_);
    for (std::int64_t r = 0; r < rows; ++r) {
      dots_[r] =
          loops_.dot(dy_ + r * step_, out_.output.at(block.b, block.head, first + r), p_.width);
    }
    std::fill_n(dq_, rows * step_, 0.0F);
    const std::int64_t limit = p_.key_limit(first + rows - 1);
    for (std::int64_t j = 0; j < limit; j += kGradientKeyBlock) {
      const Range keys{j, std::min(kGradientKeyBlock, limit - j)};
      score(block.queries, keys);
      for (std::int64_t r = 0; r < rows; ++r) soften(block, r, keys);
      add_query_gradients(block.queries, keys);
      add_key_gradients(block.queries, keys);
    }
    write({dq_, step_}, {0, rows}, p_.run.scale, out_.dq.at(block.b, block.head, first),
          out_.dq.token_step);
  }

  // The first of `queries` that may read key j, from their first on.
  std::int64_t reader(const Range& queries, std::int64_t j) const {
    return std::clamp<std::int64_t>(p_.query_begin(j) - queries.first, 0, queries.count);
  }

  // Scores, and the gradients of shares, of whole panels of the keys.
  void score(const Range& queries, const Range& keys) {
    for (std::int64_t k = 0; k < keys.count; k += gemm_.columns) {
      const std::int64_t row = reader(queries, keys.first + k) / kTile * kTile;
      const GemmSize size{queries.count - row, panels_of(gemm_, padded(keys.count) - k), p_.width};
      const std::int64_t to = row * kGradientScoreStep + k;
      gemm_.multiply(size, {queries_ + row * step_, step_, 1},
                     transposed_panel(keys_, keys.first + k, p_.width),
                     {scores_ + to, kGradientScoreStep});
      gemm_.multiply(size, {dy_ + row * step_, step_, 1},
                     transposed_panel(values_, keys.first + k, p_.width),
                     {gradients_ + to, kGradientScoreStep});
    }
  }

  // Scores become shares, the gradients of the shares those of the scores.
  void soften(const Block& block, std::int64_t r, const Range& keys) {
    float* const scores = scores_ + r * kGradientScoreStep;
    float* const gradients = gradients_ + r * kGradientScoreStep;
    const std::int64_t i = block.queries.first + r;
    const std::int64_t count =
        std::clamp<std::int64_t>(p_.key_limit(i) - keys.first, 0, keys.count);
    if (count == 0) {
      std::fill_n(scores, kTile, 0.0F);
      std::fill_n(gradients, kTile, 0.0F);
      return;
    }
    if (p_.mask.defined()) {
      for (std::int64_t j = 0; j < count; ++j) {
        scores[j] +=
            static_cast<float>(p_.mask.at({block.b, block.head, i, keys.first + j}) * kLog2E);
      }
    }
    const std::int64_t row = p_.row(block.b, block.head, i);
    const bool drops = p_.run.dropout > 0;
    if (drops) {
      attention_dropout(p_.dropout, row, keys.first, count, factors_);
      for (std::int64_t j = 0; j < count; ++j) gradients[j] *= factors_[j];
    }
    const auto log_sum = static_cast<float>(double{out_.log_sums[row]} * kLog2E);
    loops_.gradient({scores, gradients, log_sum, dots_[r]}, count);
    if (drops) {
      for (std::int64_t j = 0; j < count; ++j) scores[j] *= factors_[j];
    }
  }

  void add_query_gradients(const Range& queries, const Range& keys) {
    const std::int64_t tile = reads_all(queries, keys) ? queries.count : kTile;
    for (std::int64_t d = 0; d < p_.width; d += gemm_.columns) {
      const std::int64_t columns = panels_of(gemm_, padded(p_.width) - d);
      const GemmPanel rows{key_rows_ + keys.first * step_ + d, step_, kPanel};
      for (std::int64_t r = 0; r < queries.count; r += tile) {
        const std::int64_t m = std::min(tile, queries.count - r);
        const std::int64_t count = std::clamp<std::int64_t>(
            p_.key_limit(queries.first + r + m - 1) - keys.first, 0, keys.count);
        gemm_.multiply({m, columns, count},
                       {gradients_ + r * kGradientScoreStep, kGradientScoreStep, 1}, rows,
                       {dq_ + r * step_ + d, step_, true});
      }
    }
  }

  void add_key_gradients(const Range& queries, const Range& keys) {
    const std::int64_t tile = reads_all(queries, keys) ? keys.count : kTile;
    for (std::int64_t d = 0; d < p_.width; d += gemm_.columns) {
      const std::int64_t columns = panels_of(gemm_, padded(p_.width) - d);
      for (std::int64_t k = 0; k < keys.count; k += tile) {
        const std::int64_t row = reader(queries, keys.first + k);
        const GemmSize size{std::min(tile, keys.count - k), columns, queries.count - row};
        const std::int64_t from = row * kGradientScoreStep + k;
        const std::int64_t to = (keys.first + k) * step_ + d;
        gemm_.multiply(size, {gradients_ + from, 1, kGradientScoreStep},
                       {queries_ + row * step_ + d, step_, kPanel}, {dk_ + to, step_, true});
        gemm_.multiply(size, {scores_ + from, 1, kGradientScoreStep},
                       {dy_ + row * step_ + d, step_, kPanel}, {dv_ + to, step_, true});
      }
    }
  }

  bool reads_all(const Range& queries, const Range& keys) const {
    return p_.key_limit(queries.first) >= keys.first + keys.count;
  }

  void write(const Rows& rows, const Range& range, double by, float* to, std::int64_t step) {
    for (std::int64_t i = range.first; i < range.first + range.count; ++i) {
      loops_.scaled(rows.data + i * rows.step, to + i * step, p_.width, static_cast<float>(by));
    }
  }

  const FloatProblem& p_;
  const AttentionGradients<float>& out_;
  const GemmLoops& gemm_ = gemm_loops();
  const AttentionLoops& loops_ = attention_loops();
  std::int64_t step_;
  Workspace memory_;
  float* keys_;      // transposed panels
  float* values_;    // transposed panels
  float* key_rows_;  // [keys][step], as the next two
  float* dk_;
  float* dv_;
  float* queries_;  // [queries][step], as the next two; times scale log2 e
  float* dy_;
  float* dq_;
  float* scores_;     // [queries][kScoreStep]
  float* gradients_;  // [queries][kScoreStep]
  float* factors_;
  float dots_[kGradientQueryBlock] = {};  // dy . output
};

}  // namespace

void solve_attention_gradient(const AttentionProblem<float>& p,
                              const AttentionGradients<float>& out) {
  solve<TileGradient>(p, out);
}

}  // namespace weft
