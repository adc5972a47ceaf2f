// AttentionLoops: what attention does to blocks of scores between its matrix products, one build
// for each instruction set.
//
// For this folder.
#pragma once

#include <cstdint>

namespace weft {

// Scores of some queries against 16 keys, [rows][16], and what turns them into gradients.
struct AttentionPanel {
  float* scores;          // in: q k; out: the shares p = exp(scale q k - log_sum)
  float* gradients;       // in: dp; out: p (dp - dot) scale
  const float* log_sums;  // one a row
  const float* dots;      // one a row
  // Null or [rows][16]: added to the scaled scores.
  const float* bias;
  float scale;
};

struct AttentionLoops {
  // The largest of `count` > 0 values.
  float (*max)(const float* x, std::int64_t count);
  // x = exp(x * scale - shift); returns the sum, in one order for each count.
  float (*exp_sum)(float* x, std::int64_t count, float scale, float shift);
  // x *= by.
  void (*scale)(float* x, std::int64_t count, float by);
  // y = x * by.
  void (*scaled)(const float* x, float* y, std::int64_t count, float by);
  float (*dot)(const float* a, const float* b, std::int64_t count);
  // Of `rows` rows; all 16 keys.
  void (*panel)(const AttentionPanel& panel, std::int64_t rows);
};

extern const AttentionLoops kAttentionLoopsGeneric;
#if defined(__x86_64__)
extern const AttentionLoops kAttentionLoopsAvx2;
#endif

// The best for this processor.
const AttentionLoops& attention_loops();

}  // namespace weft
