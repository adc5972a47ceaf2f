// Attention in f32 and bf16, block by block (attention.h has the method).
#include <cmath>

#include "weft/kernel/attention/attention_products.h"

namespace weft {
namespace {

using namespace attention_blocks;  // NOLINT(google-build-using-namespace)

// Scores of a block, 20 KiB, stay in the first-level cache with a panel of values, 12 KiB.
constexpr std::int64_t kForwardQueryBlock = 24;
constexpr std::int64_t kForwardKeyBlock = 192;
constexpr std::int64_t kForwardScoreStep = kForwardKeyBlock + kAttentionRoom;

// Queries of one head of values that read them in place, and of keys.
constexpr std::int64_t kInPlaceQueries = 6;
constexpr std::int64_t kInPlaceKeyQueries = 3;

template <class Products>
class Forward {
 public:
  using Value = typename Products::Value;
  using Problem = AttentionProblem<Value>;

  Forward(const Problem& problem, const AttentionOutputs<Value>& out)
      : p_(problem),
        out_(out),
        memory_(words(p_.keys, p_.width)),
        products_(p_.run, p_.width, memory_.take<float>(Products::scratch_words(p_.width))),
        keys_(memory_.take<Element>(padded(p_.keys) * depth_)),
        value_copy_(memory_.take<Element>(Products::depth(p_.keys) * step_)),
        queries_(memory_.take<Element>(kForwardQueryBlock * query_step_)),
        sums_(memory_.take<float>(kForwardQueryBlock * step_)),
        scores_(memory_.take<float>(kForwardQueryBlock * kForwardScoreStep)),
        shares_(Products::kOneForm ? reinterpret_cast<Element*>(scores_)
                                   : memory_.take<Element>(kForwardQueryBlock * kShareStep)),
        factors_(memory_.take<float>(kForwardScoreStep)) {}

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
  using Element = typename Products::Element;
  static constexpr std::int64_t kShareStep = kForwardScoreStep / Products::kDepth;
  struct Block {
    std::int64_t b;
    std::int64_t head;
    Range queries;
  };
  // Rows of elements with their step.
  struct Values {
    const Element* data;
    std::int64_t step;
  };

  // All that the constructor takes.
  static std::int64_t words(std::int64_t keys, std::int64_t width) {
    const std::int64_t row = row_floats(width) + Products::row_step(width) + kForwardScoreStep;
    return Products::scratch_words(width) + padded(keys) * Products::depth(width) +
           Products::depth(keys) * row_floats(width) +
           kForwardQueryBlock * (row + (Products::kOneForm ? 0 : kShareStep)) + kForwardScoreStep;
  }

  // A few queries read keys and values where they are if these are whole panels; for more of them
  // panels, or a copy in lines that spread over the cache, are worth their time.
  bool in_place(std::int64_t queries_max) const {
    return p_.width % kPanel == 0 && p_.queries * p_.group() <= queries_max;
  }

  void read_keys(const Rows<Value>& rows) {
    if constexpr (Products::kInPlace) {
      if (in_place(kInPlaceKeyQueries)) {
        key_rows_ = rows;
        return;
      }
    }
    products_.pack_panels(rows, p_.keys, keys_);
  }

  void read_values(const Rows<Value>& rows) {
    if constexpr (Products::kInPlace) {
      values_in_place_ = in_place(kInPlaceQueries);
      if (values_in_place_) {
        values_ = {rows.data, rows.step};
        return;
      }
    }
    products_.copy_depth(rows, p_.keys, value_copy_);
    values_ = {value_copy_, step_};
  }

  void queries(const Block& block) {
    const auto [first, rows] = block.queries;
    products_.copy_queries(rows_of(p_.q, block.b, block.head, first), rows, queries_);
    std::fill_n(sums_, rows * step_, 0.0F);
    std::fill_n(softmax_, rows, AttentionSoftmax{{}, -std::numeric_limits<float>::infinity()});
    const std::int64_t limit = p_.key_limit(first + rows - 1);
    for (std::int64_t j = 0; j < limit; j += kForwardKeyBlock) {
      const Range keys{j, std::min(kForwardKeyBlock, limit - j)};
      score(block.queries, keys);
      for (std::int64_t r = 0; r < rows; ++r) soften(block, r, keys);
      add_values(block.queries, keys);
    }
    float inverses[kForwardQueryBlock];
    for (std::int64_t r = 0; r < rows; ++r) inverses[r] = finish(block, r);
    products_.write({sums_, step_}, rows, {inverses, 1},
                    {out_.output.at(block.b, block.head, first), out_.output.token_step});
  }

  // Whole panels of the keys, against tiles of which some query may read them.
  void score(const Range& queries, const Range& keys) {
    std::int64_t k = 0;
    if constexpr (Products::kInPlace) {
      if (key_rows_.data != nullptr) return score_in_place(queries, keys);
      for (; queries.count == 1 && k + kGemmRowColumns <= keys.count; k += kGemmRowColumns) {
        products_.multiply_row({1, kGemmRowColumns, depth_}, {queries_, query_step_, 1},
                               {keys_ + (keys.first + k) * depth_, kPanel * depth_},
                               {scores_ + k, kForwardScoreStep});
      }
    }
    const std::int64_t columns = products_.columns();
    for (; k < keys.count; k += columns) {
      const std::int64_t reader = std::clamp<std::int64_t>(
          p_.query_begin(keys.first + k) - queries.first, 0, queries.count);
      const std::int64_t row = reader / kTile * kTile;
      products_.multiply({queries.count - row, std::min(columns, padded(keys.count) - k), depth_},
                         {queries_ + row * query_step_, query_step_, 1},
                         {keys_ + (keys.first + k) * depth_, kPanel, kPanel * depth_},
                         {scores_ + row * kForwardScoreStep + k, kForwardScoreStep});
    }
  }

  // Rows [keys.first, keys.first + keys.count) of keys or values that are read in place.
  HeadRows head_rows(const Element* data, std::int64_t step, const Range& keys) const {
    return {data + keys.first * step, step, keys.count, p_.width};
  }

  void score_in_place(const Range& queries, const Range& keys) {
    const HeadRows rows = head_rows(key_rows_.data, key_rows_.step, keys);
    for (std::int64_t r = 0; r < queries.count; ++r) {
      loops_.scores(queries_ + r * query_step_, rows, scores_ + r * kForwardScoreStep);
    }
  }

  // Row r of the scores becomes shares of the largest score so far.
  void soften(const Block& block, std::int64_t r, const Range& keys) {
    float* const scores = scores_ + r * kForwardScoreStep;
    Element* const shares = shares_ + r * kShareStep;
    const std::int64_t i = block.queries.first + r;
    AttentionScores row{scores,
                        std::clamp<std::int64_t>(p_.key_limit(i) - keys.first, 0, keys.count),
                        products_.score_scale(), nullptr};
    if (row.count == 0) {
      std::fill_n(shares, kTile, Element{});
      return;
    }
    if (p_.mask.defined()) add_mask(p_, {block.b, block.head, i, keys.first}, scores, row);
    if (p_.run.dropout > 0) {
      attention_dropout(p_.dropout, p_.row(block.b, block.head, i), keys.first, row.count,
                        factors_);
      row.factors = factors_;
    }
    const float kept = products_.soften(row, softmax_[r], shares);
    if (kept != 1.0F) loops_.scale(sums_ + r * step_, step_, kept);
  }

  void add_values(const Range& queries, const Range& keys) {
    if constexpr (Products::kInPlace) {
      if (values_in_place_ && queries.count == 1) {
        return loops_.add_values(shares_, head_rows(values_.data, values_.step, keys), sums_);
      }
    }
    const bool all = p_.key_limit(queries.first) >= keys.first + keys.count;
    const std::int64_t tile = all ? queries.count : kTile;
    const std::int64_t panels = products_.columns();
    for (std::int64_t d = 0; d < p_.width; d += panels) {
      const std::int64_t columns = std::min(panels, padded(p_.width) - d);
      const Element* const values = values_.data + Products::depth(keys.first) * values_.step + d;
      for (std::int64_t r = 0; r < queries.count; r += tile) {
        const std::int64_t rows = std::min(tile, queries.count - r);
        const std::int64_t count = std::clamp<std::int64_t>(
            p_.key_limit(queries.first + r + rows - 1) - keys.first, 0, keys.count);
        products_.multiply({rows, columns, Products::depth(count)},
                           {shares_ + r * kShareStep, kShareStep, 1},
                           {values, values_.step, kPanel}, {sums_ + r * step_ + d, step_, true});
      }
    }
  }

  // What row r of the sums is multiplied by in the end; the logarithm of its sum is written.
  float finish(const Block& block, std::int64_t r) {
    float total = 0.0F;
    for (const float part : softmax_[r].sums) total += part;
    if (out_.log_sums != nullptr) {
      const double log_sum =
          (double{softmax_[r].largest} + double{std::log2(total)}) * (1.0 / kLog2E);
      out_.log_sums[p_.row(block.b, block.head, block.queries.first + r)] =
          total == 0.0F ? std::numeric_limits<float>::infinity() : static_cast<float>(log_sum);
    }
    return total == 0.0F ? 0.0F : 1.0F / total;
  }

  const Problem& p_;
  const AttentionOutputs<Value>& out_;
  const AttentionLoops& loops_ = attention_loops();
  std::int64_t depth_ = Products::depth(p_.width);  // of products with rows
  std::int64_t query_step_ = Products::row_step(p_.width);
  std::int64_t step_ = row_floats(p_.width);
  Workspace memory_;
  Products products_;
  Element* keys_;        // panels
  Element* value_copy_;  // a depth
  Element* queries_;     // rows
  float* sums_;          // [queries][step], of values times shares
  float* scores_;        // [queries][kForwardScoreStep]
  Element* shares_;      // rows
  float* factors_;
  AttentionSoftmax softmax_[kForwardQueryBlock] = {};
  Rows<Value> key_rows_ = {};     // of the current head where they are read in place, else null
  Values values_ = {};            // of the current head: the copy or the originals
  bool values_in_place_ = false;  // whether values_ are the originals
};

}  // namespace

void solve_attention(const AttentionProblem<float>& p, const AttentionOutputs<float>& out) {
  solve<Forward<FloatProducts<float>>>(p, out);
}

void solve_attention(const AttentionProblem<BFloat16>& p, const AttentionOutputs<BFloat16>& out) {
  if (gemm_pairs_loops().preferred) return solve<Forward<PairProducts>>(p, out);
  solve<Forward<FloatProducts<BFloat16>>>(p, out);
}

}  // namespace weft
