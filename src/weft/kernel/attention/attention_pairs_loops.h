// AttentionPairsLoops: what attention in bf16 does between its products, where these are of pairs
// (gemm_pairs_loops.h).
//
// For this folder. There are loops for the instruction sets that prefer pairs; scores are f32 in
// any unit, and `by` turns them into units of log 2. Rows of results have room for kAttentionRoom
// values behind the last one of their last register, which become zeros.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"
#include "weft/kernel/attention/attention_loops.h"

namespace weft {

// The scores of one query.
struct AttentionScores {
  const float* scores;
  std::int64_t count;
  float by;
  const float* factors;  // of shares, for their dropout; null: 1
};

// The same, and the gradients of the shares.
struct AttentionGradientRow {
  AttentionScores row;
  const float* gradients;
  float log_sum;  // in base 2
  float dot;
};

// What two queries' scores become: shares p = 2^(score by - log_sum) times factors, and p (dp -
// dot).
struct AttentionPairs {
  std::uint32_t* shares;     // [keys], a pair of queries each
  std::uint32_t* gradients;  // [keys], likewise
  std::uint16_t* first;      // [keys], the gradients of the first query, and of the second
  std::uint16_t* second;
};

struct AttentionPairsLoops {
  // to[i] = the bits of first[i] and second[i]; `second` may be null, for zeros.
  void (*interleave)(const std::uint16_t* first, const std::uint16_t* second, std::int64_t count,
                     std::uint32_t* to);
  // As AttentionLoops::soften(), of `count` > 0 scores, which stay; shares are rounded once.
  float (*soften)(const AttentionScores& row, AttentionSoftmax& softmax, std::uint16_t* shares);
  // Either count may be 0.
  void (*gradient)(const AttentionGradientRow (&rows)[2], const AttentionPairs& to);
};

// attention_pairs_loops(): the loops for this processor.
WEFT_DOT_LOOPS(AttentionPairsLoops, attention_pairs_loops)

}  // namespace weft
