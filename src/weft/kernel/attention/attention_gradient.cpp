// The gradient of attention in f32 and bf16, block by block (attention.h has the method).
#include "weft/kernel/attention/attention_products.h"

namespace weft {
namespace {

using namespace attention_blocks;  // NOLINT(google-build-using-namespace)

// Scores and their gradients are 42 KiB each: a block lives in the second-level cache.
constexpr std::int64_t kGradientQueryBlock = 96;
constexpr std::int64_t kGradientKeyBlock = 96;
constexpr std::int64_t kGradientScoreStep = kGradientKeyBlock + kAttentionRoom;

template <class Products>
class TileGradient {
 public:
  using Value = typename Products::Value;
  using Problem = AttentionProblem<Value>;

  TileGradient(const Problem& problem, const AttentionGradients<Value>& out)
      : p_(problem),
        out_(out),
        memory_(words(p_.keys, p_.width)),
        products_(p_.run, p_.width, memory_.take<float>(Products::scratch_words(p_.width))),
        keys_(memory_.take<Element>(padded(p_.keys) * depth_)),
        values_(memory_.take<Element>(padded(p_.keys) * depth_)),
        key_depth_(memory_.take<Element>(Products::depth(p_.keys) * step_)),
        dk_(memory_.take<float>(p_.keys * step_)),
        dv_(memory_.take<float>(p_.keys * step_)),
        queries_(memory_.take<Element>(kGradientQueryBlock * row_step_)),
        dy_(memory_.take<Element>(kGradientQueryBlock * row_step_)),
        dq_(memory_.take<float>(kGradientQueryBlock * step_)),
        query_depth_(other_form(queries_, kQueryElements * step_)),
        dy_depth_(other_form(dy_, kQueryElements * step_)),
        scores_(memory_.take<float>(kGradientQueryBlock * kGradientScoreStep)),
        gradients_(memory_.take<float>(kGradientQueryBlock * kGradientScoreStep)),
        share_depth_(other_form(scores_, kQueryElements * kGradientScoreStep)),
        gradient_depth_(other_form(gradients_, kQueryElements * kGradientScoreStep)),
        gradient_rows_(other_form(gradients_, kGradientQueryBlock * kRowStep)),
        factors_(memory_.take<float>(Products::kDepth * kGradientScoreStep)) {}

  void kv_head(std::int64_t b, std::int64_t kv_head) {
    const Rows<Value> keys = rows_of(p_.k, b, kv_head, 0);
    products_.pack_panels(keys, p_.keys, keys_);
    products_.pack_panels(rows_of(p_.v, b, kv_head, 0), p_.keys, values_);
    products_.copy_depth(keys, p_.keys, key_depth_);
    std::fill_n(dk_, p_.keys * step_, 0.0F);
    std::fill_n(dv_, p_.keys * step_, 0.0F);
    for (std::int64_t g = 0; g < p_.group(); ++g) {
      for (std::int64_t i = 0; i < p_.queries; i += kGradientQueryBlock) {
        queries({b, kv_head * p_.group() + g, {i, std::min(kGradientQueryBlock, p_.queries - i)}});
      }
    }
    write(dk_, p_.keys, products_.key_gradient_scale(),
          {out_.dk.at(b, kv_head, 0), out_.dk.token_step});
    write(dv_, p_.keys, 1.0, {out_.dv.at(b, kv_head, 0), out_.dv.token_step});
  }

 private:
  using Element = typename Products::Element;
  // Elements of a block's queries as a depth, and of a row of the block's keys.
  static constexpr std::int64_t kQueryElements = kGradientQueryBlock / Products::kDepth;
  static constexpr std::int64_t kRowStep = kGradientScoreStep / Products::kDepth;
  using Target = typename Products::Target;
  struct Block {
    std::int64_t b;
    std::int64_t head;
    Range queries;
  };

  // All that the constructor takes.
  static std::int64_t words(std::int64_t keys, std::int64_t width) {
    const std::int64_t step = row_floats(width);
    const std::int64_t forms =
        Products::kOneForm
            ? 0
            : 2 * kQueryElements * (step + kGradientScoreStep) + kGradientQueryBlock * kRowStep;
    return Products::scratch_words(width) + 2 * padded(keys) * Products::depth(width) +
           Products::depth(keys) * step + 2 * keys * step + forms +
           kGradientQueryBlock * (step + 2 * Products::row_step(width) + 2 * kGradientScoreStep) +
           Products::kDepth * kGradientScoreStep;
  }

  // Memory for the other form of what is at `form`, or that if it has one form.
  template <class T>
  Element* other_form(T* form, std::int64_t elements) {
    if constexpr (Products::kOneForm) return form;
    return memory_.take<Element>(elements);
  }

  void queries(const Block& block) {
    const auto [first, rows] = block.queries;
    const Rows<Value> queries = rows_of(p_.q, block.b, block.head, first);
    const Rows<Value> dy = rows_of(out_.dy, block.b, block.head, first);
    products_.copy_queries(queries, rows, queries_);
    products_.copy_rows(dy, rows, dy_);
    if constexpr (!Products::kOneForm) {
      products_.copy_depth(queries, rows, query_depth_);
      products_.copy_depth(dy, rows, dy_depth_);
    }
    const Rows<Value> output = rows_of(out_.output, block.b, block.head, first);
    for (std::int64_t r = 0; r < rows; ++r) {
      fetch_row(output, r, rows, p_.width);
      const std::int64_t row = p_.row(block.b, block.head, first + r);
      log_sums_[r] = static_cast<float>(double{out_.log_sums[row]} * kLog2E);
      dots_[r] = products_.dot(dy.data + r * dy.step, output.data + r * output.step);
    }
    std::fill_n(dq_, rows * step_, 0.0F);
    const std::int64_t limit = p_.key_limit(first + rows - 1);
    for (std::int64_t j = 0; j < limit; j += kGradientKeyBlock) {
      const Range keys{j, std::min(kGradientKeyBlock, limit - j)};
      score(block.queries, keys);
      for (std::int64_t r = 0; r < rows; r += Products::kDepth) soften(block, r, keys);
      add_query_gradients(block.queries, keys);
      add_key_gradients(block.queries, keys);
    }
    write(dq_, rows, p_.run.scale, {out_.dq.at(block.b, block.head, first), out_.dq.token_step});
  }

  // The first of `queries` that may read key j, from their first on.
  std::int64_t reader(const Range& queries, std::int64_t j) const {
    return std::clamp<std::int64_t>(p_.query_begin(j) - queries.first, 0, queries.count);
  }

  // Scores, and the gradients of shares, of whole panels of the keys.
  void score(const Range& queries, const Range& keys) {
    const std::int64_t columns = products_.columns();
    for (std::int64_t k = 0; k < keys.count; k += columns) {
      const std::int64_t row = reader(queries, keys.first + k) / kTile * kTile;
      const GemmSize size{queries.count - row, std::min(columns, padded(keys.count) - k), depth_};
      const std::int64_t from = row * row_step_;
      const std::int64_t panel = (keys.first + k) * depth_;
      const std::int64_t to = row * kGradientScoreStep + k;
      products_.multiply(size, {queries_ + from, row_step_, 1},
                         {keys_ + panel, kPanel, kPanel * depth_},
                         {scores_ + to, kGradientScoreStep});
      products_.multiply(size, {dy_ + from, row_step_, 1},
                         {values_ + panel, kPanel, kPanel * depth_},
                         {gradients_ + to, kGradientScoreStep});
    }
  }

  // Scores become shares, the gradients of the shares those of the scores.
  void soften(const Block& block, std::int64_t r, const Range& keys) {
    AttentionGradientRow rows[Products::kDepth];
    for (std::int64_t i = 0; i < Products::kDepth; ++i) read_scores(block, r, i, keys, rows[i]);
    const std::int64_t depth = r / Products::kDepth;
    products_.gradient(rows, {share_depth_ + depth * kGradientScoreStep,
                              gradient_depth_ + depth * kGradientScoreStep,
                              gradient_rows_ + r * kRowStep, kRowStep});
  }

  // Those of query r + place, as gradient() reads them; none behind the last query. Members are set
  // one by one: a copy of the whole would wait until they are written.
  void read_scores(const Block& block, std::int64_t r, std::int64_t place, const Range& keys,
                   AttentionGradientRow& to) {
    AttentionScores& row = to.row;
    float* const scores = scores_ + (r + place) * kGradientScoreStep;
    float* const gradients = gradients_ + (r + place) * kGradientScoreStep;
    const bool exists = r + place < block.queries.count;
    const std::int64_t i = block.queries.first + r + place;
    row.scores = scores;
    row.count = exists ? std::clamp<std::int64_t>(p_.key_limit(i) - keys.first, 0, keys.count) : 0;
    row.by = products_.score_scale();
    row.factors = nullptr;
    to.gradients = gradients;
    to.log_sum = exists ? log_sums_[r + place] : 0;
    to.dot = exists ? dots_[r + place] : 0;
    if (p_.mask.defined()) add_mask(p_, {block.b, block.head, i, keys.first}, scores, row);
    if (p_.run.dropout > 0 && row.count > 0) {
      float* const factors = factors_ + place * kGradientScoreStep;
      attention_dropout(p_.dropout, p_.row(block.b, block.head, i), keys.first, row.count, factors);
      for (std::int64_t j = 0; j < row.count; ++j) gradients[j] *= factors[j];
      row.factors = factors;
    }
  }

  void add_query_gradients(const Range& queries, const Range& keys) {
    const std::int64_t tile = reads_all(queries, keys) ? queries.count : kTile;
    const std::int64_t panels = products_.columns();
    for (std::int64_t d = 0; d < p_.width; d += panels) {
      const std::int64_t columns = std::min(panels, padded(p_.width) - d);
      const Element* const rows = key_depth_ + Products::depth(keys.first) * step_ + d;
      for (std::int64_t r = 0; r < queries.count; r += tile) {
        const std::int64_t m = std::min(tile, queries.count - r);
        const std::int64_t count = std::clamp<std::int64_t>(
            p_.key_limit(queries.first + r + m - 1) - keys.first, 0, keys.count);
        products_.multiply({m, columns, Products::depth(count)},
                           {gradient_rows_ + r * kRowStep, kRowStep, 1}, {rows, step_, kPanel},
                           {dq_ + r * step_ + d, step_, true});
      }
    }
  }

  void add_key_gradients(const Range& queries, const Range& keys) {
    const std::int64_t tile = reads_all(queries, keys) ? keys.count : kTile;
    const std::int64_t panels = products_.columns();
    for (std::int64_t d = 0; d < p_.width; d += panels) {
      const std::int64_t columns = std::min(panels, padded(p_.width) - d);
      for (std::int64_t k = 0; k < keys.count; k += tile) {
        // Queries before the first reader have shares of zero.
        const std::int64_t row = reader(queries, keys.first + k) / Products::kDepth;
        const GemmSize size{std::min(tile, keys.count - k), columns,
                            Products::depth(queries.count) - row};
        const std::int64_t from = row * kGradientScoreStep + k;
        const std::int64_t depth = row * step_ + d;
        const std::int64_t to = (keys.first + k) * step_ + d;
        products_.multiply(size, {gradient_depth_ + from, 1, kGradientScoreStep},
                           {query_depth_ + depth, step_, kPanel}, {dk_ + to, step_, true});
        products_.multiply(size, {share_depth_ + from, 1, kGradientScoreStep},
                           {dy_depth_ + depth, step_, kPanel}, {dv_ + to, step_, true});
      }
    }
  }

  bool reads_all(const Range& queries, const Range& keys) const {
    return p_.key_limit(queries.first) >= keys.first + keys.count;
  }

  void write(const float* rows, std::int64_t count, double by, const Target& to) {
    const auto factor = static_cast<float>(by);
    products_.write({rows, step_}, count, {&factor, 0}, to);
  }

  const Problem& p_;
  const AttentionGradients<Value>& out_;
  std::int64_t depth_ = Products::depth(p_.width);  // of products with rows
  std::int64_t row_step_ = Products::row_step(p_.width);
  std::int64_t step_ = row_floats(p_.width);
  Workspace memory_;
  Products products_;
  Element* keys_;       // panels
  Element* values_;     // panels
  Element* key_depth_;  // a depth
  float* dk_;           // [keys][step]
  float* dv_;           // [keys][step]
  Element* queries_;    // rows
  Element* dy_;         // rows
  float* dq_;           // [queries][step]
  Element* query_depth_;
  Element* dy_depth_;
  float* scores_;     // [queries][kGradientScoreStep]
  float* gradients_;  // [queries][kGradientScoreStep]
  Element* share_depth_;
  Element* gradient_depth_;
  Element* gradient_rows_;  // [queries][kRowStep]
  float* factors_;
  float log_sums_[kGradientQueryBlock] = {};  // in base 2
  float dots_[kGradientQueryBlock] = {};      // dy . output
};

}  // namespace

void solve_attention_gradient(const AttentionProblem<float>& p,
                              const AttentionGradients<float>& out) {
  solve<TileGradient<FloatProducts<float>>>(p, out);
}

void solve_attention_gradient(const AttentionProblem<BFloat16>& p,
                              const AttentionGradients<BFloat16>& out) {
  if (gemm_pairs_loops().preferred) return solve<TileGradient<PairProducts>>(p, out);
  solve<TileGradient<FloatProducts<BFloat16>>>(p, out);
}

}  // namespace weft
