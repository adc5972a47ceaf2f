// Attention in f32, block by block (attention.h has the method).
#include <cmath>

#include "weft/kernel/attention/attention_blocks.h"

namespace weft {
namespace {

using namespace attention_blocks;  // NOLINT(google-build-using-namespace)
using FloatProblem = AttentionProblem<float>;

// Scores of a block, 20 KiB, stay in the first-level cache with a panel of values, 12 KiB.
constexpr std::int64_t kForwardQueryBlock = 24;
constexpr std::int64_t kForwardKeyBlock = 192;
constexpr std::int64_t kForwardScoreStep = kForwardKeyBlock + kAttentionRoom;

// Queries of one head of values that read them in place, and of keys.
constexpr std::int64_t kInPlaceQueries = 6;
constexpr std::int64_t kInPlaceKeyQueries = 3;

class Forward {
 public:
  Forward(const FloatProblem& problem, const AttentionOutputs<float>& out)
      : p_(problem),
        out_(out),
        step_(row_floats(p_.width)),
        memory_(padded(p_.keys) * p_.width + (p_.keys + 2 * kForwardQueryBlock) * step_ +
                (kForwardQueryBlock + 1) * kForwardScoreStep),
        keys_(memory_.take(padded(p_.keys) * p_.width)),
        value_copy_(memory_.take(p_.keys * step_)),
        queries_(memory_.take(kForwardQueryBlock * step_)),
        sums_(memory_.take(kForwardQueryBlock * step_)),
        scores_(memory_.take(kForwardQueryBlock * kForwardScoreStep)),
        factors_(memory_.take(kForwardScoreStep)) {}

  void kv_head(std::int64_t b, std::int64_t kv_head) {
    read_keys(rows_of(p_.k, b, kv_head, 0));
    read_values(rows_of(p_.v, b, kv_head, 0));
    for (std::int64_t g = 0; g < p_.group(); ++g) {
      for (std::int64_t i = 0; i < p_.queries; i += kForwardQueryBlock) {
        const Block block{
            b, kv_head * p_.group() + g, {i, std::min(kForwardQueryBlock, p_.queries - i)}};
        queries(block);
      }
    }
  }

 private:
  struct Block {
    std::int64_t b;
    std::int64_t head;
    Range queries;
  };

  // A few queries read keys and values where they are if these are whole panels; for more of them
  // panels, or a copy in lines that spread over the cache, are worth their time.
  bool in_place(std::int64_t queries_max) const {
    return p_.width % kPanel == 0 && p_.queries * p_.group() <= queries_max;
  }

  void read_keys(const Rows& rows) {
    if (in_place(kInPlaceKeyQueries)) {
      key_rows_ = rows;
    } else {
      pack_transposed(rows, p_.keys, p_.width, keys_);
    }
  }

  void read_values(const Rows& rows) {
    if (in_place(kInPlaceQueries)) {
      values_ = rows;
      return;
    }
    copy_rows(rows, p_.keys, p_.width, 1.0F, value_copy_);
    values_ = {value_copy_, step_};
  }

  void queries(const Block& block) {
    const auto [first, rows] = block.queries;
    copy_rows(rows_of(p_.q, block.b, block.head, first), rows, p_.width,
              static_cast<float>(p_.run.scale * kLog2E), queries_);
    std::fill_n(sums_, rows * step_, 0.0F);
    std::fill_n(softmax_, rows, AttentionSoftmax{{}, -std::numeric_limits<float>::infinity()});
    const std::int64_t limit = p_.key_limit(first + rows - 1);
    for (std::int64_t j = 0; j < limit; j += kForwardKeyBlock) {
      const Range keys{j, std::min(kForwardKeyBlock, limit - j)};
      score(block.queries, keys);
      for (std::int64_t r = 0; r < rows; ++r) soften(block, r, keys);
      add_values(block.queries, keys);
    }
    for (std::int64_t r = 0; r < rows; ++r) write(block, r);
  }

  // Whole panels of the keys, against tiles of which some query may read them.
  void score(const Range& queries, const Range& keys) {
    if (key_rows_.data != nullptr) return score_in_place(queries, keys);
    std::int64_t k = 0;
    for (; queries.count == 1 && k + kGemmRowColumns <= keys.count; k += kGemmRowColumns) {
      gemm_.multiply_row({1, kGemmRowColumns, p_.width}, {queries_, step_, 1},
                         {keys_ + (keys.first + k) * p_.width, kPanel * p_.width},
                         {scores_ + k, kForwardScoreStep});
    }
    for (; k < keys.count; k += gemm_.columns) {
      const std::int64_t reader = std::clamp<std::int64_t>(
          p_.query_begin(keys.first + k) - queries.first, 0, queries.count);
      const std::int64_t row = reader / kTile * kTile;
      gemm_.multiply({queries.count - row, panels_of(gemm_, padded(keys.count) - k), p_.width},
                     {queries_ + row * step_, step_, 1},
                     transposed_panel(keys_, keys.first + k, p_.width),
                     {scores_ + row * kForwardScoreStep + k, kForwardScoreStep});
    }
  }

  void score_in_place(const Range& queries, const Range& keys) {
    for (std::int64_t r = 0; r < queries.count; ++r) {
      loops_.scores(
          queries_ + r * step_,
          {key_rows_.data + keys.first * key_rows_.step, key_rows_.step, keys.count, p_.width},
          scores_ + r * kForwardScoreStep);
    }
  }

  // Row r of the scores becomes shares of the largest score so far.
  void soften(const Block& block, std::int64_t r, const Range& keys) {
    float* const row = scores_ + r * kForwardScoreStep;
    const std::int64_t i = block.queries.first + r;
    const std::int64_t count =
        std::clamp<std::int64_t>(p_.key_limit(i) - keys.first, 0, keys.count);
    if (count == 0) {
      std::fill_n(row, kTile, 0.0F);
      return;
    }
    if (p_.mask.defined()) {
      for (std::int64_t j = 0; j < count; ++j) {
        row[j] += static_cast<float>(p_.mask.at({block.b, block.head, i, keys.first + j}) * kLog2E);
      }
    }
    const float kept = loops_.soften(row, count, softmax_[r]);
    if (kept != 1.0F) loops_.scaled(sums_ + r * step_, sums_ + r * step_, step_, kept);
    if (p_.run.dropout > 0) {
      attention_dropout(p_.dropout, p_.row(block.b, block.head, i), keys.first, count, factors_);
      for (std::int64_t j = 0; j < count; ++j) row[j] *= factors_[j];
    }
  }

  void add_values(const Range& queries, const Range& keys) {
    const bool all = p_.key_limit(queries.first) >= keys.first + keys.count;
    const std::int64_t tile = all ? queries.count : kTile;
    for (std::int64_t d = 0; d < p_.width; d += gemm_.columns) {
      const std::int64_t columns = panels_of(gemm_, padded(p_.width) - d);
      const GemmPanel values{values_.data + keys.first * values_.step + d, values_.step, kPanel};
      for (std::int64_t r = 0; r < queries.count; r += tile) {
        const std::int64_t rows = std::min(tile, queries.count - r);
        const std::int64_t count = std::clamp<std::int64_t>(
            p_.key_limit(queries.first + r + rows - 1) - keys.first, 0, keys.count);
        gemm_.multiply({rows, columns, count},
                       {scores_ + r * kForwardScoreStep, kForwardScoreStep, 1}, values,
                       {sums_ + r * step_ + d, step_, true});
      }
    }
  }

  void write(const Block& block, std::int64_t r) {
    float total = 0.0F;
    for (const float part : softmax_[r].sums) total += part;
    const std::int64_t i = block.queries.first + r;
    loops_.scaled(sums_ + r * step_, out_.output.at(block.b, block.head, i), p_.width,
                  total == 0.0F ? 0.0F : 1.0F / total);
    if (out_.log_sums == nullptr) return;
    const double log_sum =
        (double{softmax_[r].largest} + double{std::log2(total)}) * (1.0 / kLog2E);
    out_.log_sums[p_.row(block.b, block.head, i)] =
        total == 0.0F ? std::numeric_limits<float>::infinity() : static_cast<float>(log_sum);
  }

  const FloatProblem& p_;
  const AttentionOutputs<float>& out_;
  const GemmLoops& gemm_ = gemm_loops();
  const AttentionLoops& loops_ = attention_loops();
  std::int64_t step_;
  Workspace memory_;
  float* keys_;        // transposed panels
  float* value_copy_;  // [keys][step]
  float* queries_;     // [queries][step], times scale log2 e
  float* sums_;        // [queries][step], of values times shares
  float* scores_;      // [queries][kScoreStep]
  float* factors_;
  AttentionSoftmax softmax_[kForwardQueryBlock] = {};
  Rows key_rows_ = {};  // of the current head where they are read in place, else null
  Rows values_ = {};    // of the current head: the copy or the originals
};

}  // namespace

void solve_attention(const AttentionProblem<float>& p, const AttentionOutputs<float>& out) {
  solve<Forward>(p, out);
}

}  // namespace weft
