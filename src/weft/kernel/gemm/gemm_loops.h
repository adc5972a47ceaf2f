// The inner loops of gemm, one build for each instruction set.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"
#include "weft/kernel/gemm/gemm.h"

namespace weft {

// Columns of a panel of b and of a tile of c.
inline constexpr std::int64_t kGemmPanel = 16;

// Columns of the adjacent panels that one row is multiplied with at a time.
inline constexpr std::int64_t kGemmRowColumns = 4 * kGemmPanel;

// Memory that will be read after a product: runs of `length` bytes, of which the next one begins
// `step` bytes behind this one. Tiles fetch its lines into the second-level cache between their
// multiplications, `each` for a row.
struct GemmLinesAhead {
  static constexpr std::int64_t kLineBytes = 64;
  const char* next = nullptr;
  const char* end = nullptr;  // of the run that `next` is in
  std::int64_t length = 0;
  std::int64_t step = 0;
  std::int64_t runs = 0;  // with this one
  std::int64_t each = 0;
};

// A panel of columns of b: row k begins at data + k * step, and that of a second panel, where a
// product has more than kGemmPanel columns, `next` floats behind it. What will be read after them
// may be fetched meanwhile: as much of b as these, from `ahead` on, and other lines.
struct GemmPanel {
  const float* data;
  std::int64_t step;
  std::int64_t next = 0;
  const float* ahead = nullptr;
  GemmLinesAhead* lines_ahead = nullptr;
};

// Rows of a that lie in groups of 8 values: group g of row i begins at groups[g] + i * row_step.
template <class Element>
struct GemmTile {
  std::int64_t rows;  // as many as a tile has at most
  const Element* const* groups;
  std::int64_t row_step;
  std::int64_t place;  // of its first row in c, in floats
};

struct GemmLoops {
  // Columns that multiply() takes at most: one panel or two.
  std::int64_t columns;
  // Rows of a tile at most.
  std::int64_t rows;
  // Whether tiles are so high that their rows, if they are far apart, should be packed.
  bool packs_rows;
  // Copies rows [0, rows) and `columns` <= kGemmPanel columns of `b` to packed[rows][kGemmPanel],
  // zeros behind the last column.
  void (*pack)(const GemmOperand& b, std::int64_t rows, std::int64_t columns, float* packed);
  // All rows of a times the panel or panels, of which the first size.n columns count; all are read.
  void (*multiply)(const GemmSize& size, const GemmOperand& a, const GemmPanel& panel,
                   const GemmOutput& c);
  // One row of a times kGemmRowColumns columns in packed panels, which lie panel.step floats apart;
  // the same bits as multiply() of each.
  void (*multiply_row)(const GemmSize& size, const GemmOperand& a, const GemmPanel& panels,
                       const GemmOutput& c);
  // Copies `rows` rows of `depth` values of `a` in the order in which tiles read them, and the same
  // product with such rows.
  void (*pack_rows)(const GemmOperand& a, std::int64_t rows, std::int64_t depth, float* packed);
  void (*multiply_packed)(const GemmSize& size, const float* rows, const GemmPanel& panel,
                          const GemmOutput& c);
  // size.m tiles times the panel or panels, with size.k a multiple of 8. `c` is of the first row of
  // a tile whose place is 0.
  void (*multiply_tiles)(const GemmSize& size, const GemmTile<float>* tiles, const GemmPanel& panel,
                         const GemmOutput& c);
};

// gemm_loops(): the loops for this processor. Those with fused multiplications give the same bits,
// whatever their width: each element is summed over k in order.
WEFT_LOOPS(GemmLoops, gemm_loops)

}  // namespace weft
