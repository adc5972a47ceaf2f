#include "weft/kernel/attention/attention_blocks.h"

namespace weft::attention_blocks {
void copy_rows(const Rows& rows, std::int64_t count, std::int64_t width, float by, float* to) {
  const AttentionLoops& loops = attention_loops();
  const std::int64_t step = row_floats(width);
  for (std::int64_t i = 0; i < count; ++i) {
    loops.scaled(rows.data + i * rows.step, to, width, by);
    std::fill(to + width, to + step, 0.0F);
    to += step;
  }
}

void pack_transposed(const Rows& rows, std::int64_t count, std::int64_t width, float* packed) {
  const GemmLoops& gemm = gemm_loops();
  for (std::int64_t j = 0; j < count; j += kPanel) {
    gemm.pack({rows.data + j * rows.step, 1, rows.step}, width, std::min(kPanel, count - j),
              packed + j * width);
  }
}

}  // namespace weft::attention_blocks
