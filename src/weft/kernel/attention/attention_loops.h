// AttentionLoops: what attention does to rows of scores between its matrix products, one build for
// each instruction set.
//
// For this folder. Scores are in units of log 2: they were multiplied by log2 e, so that shares are
// powers of 2. Rows have room for kAttentionRoom values behind the last one.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

inline constexpr std::int64_t kAttentionRoom = 16;
// Rows of a head are short and far apart, so the processor does not foresee them: how many rows
// ahead of their use they are fetched.
inline constexpr std::int64_t kAttentionRowsAhead = 6;

// The softmax of a query over the keys so far.
struct alignas(64) AttentionSoftmax {
  float sums[16];  // of 2^(score - largest), in as many parts as a register has lanes
  float largest;   // of the scores; -infinity before the first
};

// A row of scores of one query, and what turns it into gradients.
struct AttentionRow {
  float* scores;     // in: q k; out: the shares p = 2^(q k - log_sum)
  float* gradients;  // in: dp; out: p (dp - dot)
  float log_sum;     // in base 2
  float dot;
};

// Keys or values of one head, `step` values apart, read where they are.
struct HeadRows {
  const float* data;
  std::int64_t step;
  std::int64_t count;
  std::int64_t width;  // a multiple of 16
};

// Rows of a head that are copied. Those of the copy have `padded` values: `width`, multiplied by a
// factor, then zeros. Products give whole registers; of what those zeros give nothing is read, but
// without them it would come from memory that nobody wrote.
struct AttentionRows {
  std::int64_t step;  // from a row to the next, in values, as to_step in the copy
  std::int64_t to_step;
  std::int64_t count;
  std::int64_t width;
  std::int64_t padded;
  const float* factors;  // one for each row, or one for all
  std::int64_t factor_step;
};

struct AttentionLoops {
  // scores[j] = query key_j.
  void (*scores)(const float* query, const HeadRows& keys, float* scores);
  // sums += the sum of shares[j] value_j, to the bits of a product that accumulates.
  void (*add_values)(const float* shares, const HeadRows& values, float* sums);
  // scores = 2^(score - largest) of `count` > 0 scores, and zeros in the 8 places behind them. The
  // largest is that of all so far: returns what sums so far must be multiplied by, and does so with
  // those of `softmax`.
  float (*soften)(float* scores, std::int64_t count, AttentionSoftmax& softmax);
  // The gradient for `count` > 0 keys; the 8 values after them are set to zero.
  void (*gradient)(const AttentionRow& row, std::int64_t count);
  // x *= by.
  void (*scale)(float* x, std::int64_t count, float by);
  // Copies of rows; those in bf16 are rounded.
  void (*copy)(const float* from, const AttentionRows& rows, float* to);
  void (*widen)(const std::uint16_t* from, const AttentionRows& rows, float* to);
  void (*narrow)(const float* from, const AttentionRows& rows, std::uint16_t* to);
  float (*dot)(const float* a, const float* b, std::int64_t count);
};

// attention_loops(): the loops for this processor.
WEFT_LOOPS(AttentionLoops, attention_loops)

}  // namespace weft
