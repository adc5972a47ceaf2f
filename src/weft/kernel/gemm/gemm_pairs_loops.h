// The inner loops of products of bf16 matrices in pairs: a value of f32 is as large as two of bf16,
// for two successive k, and some processors multiply and add both at once.
//
// For this folder. Tiles, panels and rows are those of gemm_loops.h with pairs in place of floats.
// Pair p of a column holds k = 2p in its lower half and k = 2p + 1, or zero, in its upper half. An
// element is summed pair by pair in f32; how a pair is rounded depends on the instruction set.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"
#include "weft/kernel/gemm/gemm_loops.h"

namespace weft {

// Element (i, j) of a matrix of bf16 is data[i * row_step + j * column_step].
struct PairsOperand {
  const std::uint16_t* data;
  std::int64_t row_step;
  std::int64_t column_step;
};

// A matrix whose elements are pairs: pair p of row i is data[i * row_step + p * column_step].
struct PairsMatrix {
  const std::uint32_t* data;
  std::int64_t row_step;
  std::int64_t column_step;
};

// As GemmPanel, without lines ahead.
struct PairsPanel {
  const std::uint32_t* data;
  std::int64_t step;
  std::int64_t next = 0;
  const std::uint32_t* ahead = nullptr;
};

struct GemmPairsLoops {
  // Whether the set has an instruction for this, or exists for tests. Otherwise products of widened
  // values are faster, and there are no loops here.
  bool preferred;
  // Columns that multiply() takes at most.
  std::int64_t columns;
  // Rows of a tile at most.
  std::int64_t rows;
  // Copies `depth` rows and `columns` <= kGemmPanel columns of `b` to packed[pairs][kGemmPanel],
  // zeros behind the last column.
  void (*pack)(const PairsOperand& b, std::int64_t depth, std::int64_t columns,
               std::uint32_t* packed);
  // Copies `rows` rows of `depth` values of `a` in the order in which tiles read them.
  void (*pack_rows)(const PairsOperand& a, std::int64_t rows, std::int64_t depth,
                    std::uint32_t* packed);
  // Such rows times the panel or panels, of which the first size.n columns count; size.k in pairs.
  void (*multiply)(const GemmSize& size, const std::uint32_t* rows, const PairsPanel& panel,
                   const GemmOutput& c);
  // The same product with rows that are not packed, of whole panels, without bias and activation.
  void (*multiply_matrix)(const GemmSize& size, const PairsMatrix& a, const PairsPanel& panel,
                          const GemmOutput& c);
  // As in GemmLoops; a group is 4 pairs.
  void (*multiply_tiles)(const GemmSize& size, const GemmTile<std::uint32_t>* tiles,
                         const PairsPanel& panel, const GemmOutput& c);
};

// gemm_pairs_loops(): the loops for this processor.
WEFT_DOT_LOOPS(GemmPairsLoops, gemm_pairs_loops)

}  // namespace weft
