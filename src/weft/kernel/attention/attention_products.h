// How both passes of attention keep and multiply the rows of heads: FloatProducts as f32, and
// PairProducts as pairs of bf16 (gemm_pairs_loops.h).
//
// A product sums over elements; kDepth values of the depth are one element, and depth(n) elements
// are n values. Operands of a product are
//   rows    [count][row_step(width)]            the width is the depth
//   depth   [depth(count)][row_floats(width)]   the rows are the depth
//   panels  [16 rows][depth(width)]             the same as rows, as the columns of a product
// and shares and their gradients become rows, or a depth, when they are made of scores.
//
// For attention_forward.cpp and attention_gradient.cpp. Memory is the caller's. Threads: one at a
// time.
#pragma once

#include <cstdint>
#include <type_traits>

#include "weft/array/dtype/half.h"
#include "weft/kernel/attention/attention_blocks.h"
#include "weft/kernel/attention/attention_loops.h"
#include "weft/kernel/attention/attention_pairs_loops.h"
#include "weft/kernel/gemm/gemm_loops.h"
#include "weft/kernel/gemm/gemm_pairs_loops.h"

namespace weft::attention_blocks {

// Where the shares of kDepth queries and their gradients go.
template <class Element>
struct ShareTargets {
  Element* shares;     // as a depth
  Element* gradients;  // as a depth
  Element* rows;       // the gradients as rows, `row_step` apart
  std::int64_t row_step;
};

// Turns the scores of a query, for the keys from place.key on, into units of log 2, and adds the
// mask, which must be defined.
template <class T>
void add_mask(const AttentionProblem<T>& problem, const AttentionMask::Place& place, float* scores,
              AttentionScores& row) {
  for (std::int64_t j = 0; j < row.count; ++j) {
    const double added =
        problem.mask.at({place.batch, place.head, place.query, place.key + j}) * kLog2E;
    scores[j] = scores[j] * row.by + static_cast<float>(added);
  }
  row.by = 1.0F;
}

// What both kinds of products do alike, for heads of T.
template <class T>
class ProductRows {
 public:
  static std::int64_t scratch_words(std::int64_t width) { return kPanel * row_floats(width); }

  // `scratch`: scratch_words(width).
  ProductRows(const AttentionRun& run, std::int64_t width, float* scratch)
      : scale_(run.scale), width_(width), scratch_(scratch) {}

  // Rows of an output.
  struct Target {
    T* data;
    std::int64_t step;
  };
  // One for each row, or, with a step of 0, for all.
  struct Factors {
    const float* values;
    std::int64_t step;
  };
  // to[i] = rows[i] * by[i].
  void write(const Rows<float>& rows, std::int64_t count, const Factors& by,
             const Target& to) const;
  float dot(const T* a, const T* b) const;

 protected:
  // to[i] = rows[i] * by, and zeros up to `to_step`.
  void copy(const Rows<T>& rows, std::int64_t count, float by, float* to,
            std::int64_t to_step) const;
  const float* widened(const T* row, std::int64_t place) const;

  double scale_;
  std::int64_t width_;
  float* scratch_;
  const AttentionLoops& loops_ = attention_loops();
};

template <class T>
class FloatProducts : public ProductRows<T> {
 public:
  using Value = T;
  using Element = float;
  using Matrix = GemmOperand;
  using Panel = GemmPanel;
  static constexpr std::int64_t kDepth = 1;
  // Rows of f32 need no copy.
  static constexpr bool kInPlace = std::is_same_v<T, float>;
  // Shares take the place of scores, their gradients that of the gradients of shares, and the rows
  // of an operand are its depth as well.
  static constexpr bool kOneForm = true;
  static std::int64_t depth(std::int64_t count) { return count; }
  static std::int64_t row_step(std::int64_t width) { return row_floats(width); }

  using ProductRows<T>::ProductRows;

  // Queries are scaled when they are copied.
  float score_scale() const { return 1.0F; }
  double key_gradient_scale() const { return 1.0 / kLog2E; }

  std::int64_t columns() const { return gemm_.columns; }
  void multiply(const GemmSize& size, const Matrix& a, const Panel& b, const GemmOutput& c) const {
    gemm_.multiply(size, a, b, c);
  }
  void multiply_row(const GemmSize& size, const Matrix& a, const Panel& b,
                    const GemmOutput& c) const {
    gemm_.multiply_row(size, a, b, c);
  }

  void copy_queries(const Rows<T>& rows, std::int64_t count, float* to) const {
    this->copy(rows, count, static_cast<float>(this->scale_ * kLog2E), to, row_step(this->width_));
  }
  void copy_rows(const Rows<T>& rows, std::int64_t count, float* to) const {
    this->copy(rows, count, 1.0F, to, row_step(this->width_));
  }
  void copy_depth(const Rows<T>& rows, std::int64_t count, float* to) const {
    this->copy(rows, count, 1.0F, to, row_step(this->width_));
  }
  void pack_panels(const Rows<T>& rows, std::int64_t count, float* to) const;

  // The shares of scores that `row.scores` points to; AttentionLoops::soften() has the result.
  float soften(const AttentionScores& row, AttentionSoftmax& softmax, float* shares) const;
  void gradient(const AttentionGradientRow (&rows)[kDepth], const ShareTargets<float>& to) const;

 private:
  const GemmLoops& gemm_ = gemm_loops();
};

class PairProducts : public ProductRows<BFloat16> {
 public:
  using Value = BFloat16;
  using Element = std::uint32_t;
  using Matrix = PairsMatrix;
  using Panel = PairsPanel;
  static constexpr std::int64_t kDepth = 2;
  static constexpr bool kInPlace = false;
  static constexpr bool kOneForm = false;
  static std::int64_t depth(std::int64_t count) { return (count + 1) / 2; }
  static std::int64_t row_step(std::int64_t width) { return row_floats(depth(width)); }

  using ProductRows<BFloat16>::ProductRows;

  // Queries stay as they are: scaled ones would be rounded again.
  float score_scale() const { return static_cast<float>(scale_ * kLog2E); }
  double key_gradient_scale() const { return scale_; }

  std::int64_t columns() const { return gemm_.columns; }
  void multiply(const GemmSize& size, const Matrix& a, const Panel& b, const GemmOutput& c) const {
    gemm_.multiply_matrix(size, a, b, c);
  }

  void copy_queries(const Rows<BFloat16>& rows, std::int64_t count, Element* to) const {
    copy_rows(rows, count, to);
  }
  void copy_rows(const Rows<BFloat16>& rows, std::int64_t count, Element* to) const;
  void copy_depth(const Rows<BFloat16>& rows, std::int64_t count, Element* to) const;
  void pack_panels(const Rows<BFloat16>& rows, std::int64_t count, Element* to) const;

  float soften(const AttentionScores& row, AttentionSoftmax& softmax, Element* shares) const;
  void gradient(const AttentionGradientRow (&rows)[kDepth], const ShareTargets<Element>& to) const;

 private:
  const GemmPairsLoops& gemm_ = gemm_pairs_loops();
  const AttentionPairsLoops& pairs_ = attention_pairs_loops();
};

}  // namespace weft::attention_blocks
