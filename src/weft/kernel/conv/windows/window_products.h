// Products of gathered windows: how rows of values and panels are packed and multiplied, in f32 and
// in pairs of bf16 (gemm/gemm_loops.h, gemm/gemm_pairs_loops.h).
//
// For this folder. Each has:
//   Value, Element           what rows and panels consist of
//   Operand                  a matrix of values in memory
//   depth(k)                 values of a window at once, whole groups of 8, of k alone
//   elements(depth)          of a column or row that is packed
//   pack(b, depth, columns, panels)
//   rows()                   of a tile at most
//   multiply_tiles(n, k, tiles, panels, c)         k in values
//   multiply_columns(size, a, packed, panels, c)   of a transposed matrix a, in memory for a copy
// Threads: pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "weft/kernel/conv/windows/windows.h"
#include "weft/kernel/gemm/gemm_blocks.h"
#include "weft/kernel/gemm/gemm_loops.h"
#include "weft/kernel/gemm/gemm_pairs_loops.h"

namespace weft::windows {

// Calls multiply(columns, panel, c) for the panels of a product in order; each fetches the next.
template <class Panel, class Element, class Multiply>
void for_each_panel(std::int64_t n, std::int64_t elements, std::int64_t columns,
                    const Element* panels, const GemmOutput& c, const Multiply& multiply) {
  for (std::int64_t j = 0; j < n; j += columns) {
    const std::int64_t count = std::min(columns, n - j);
    const std::int64_t end = j + count;
    GemmOutput out = c;
    out.data += c.block_step == 0 ? j : j / kLanes * c.block_step;
    if (out.bias != nullptr) out.bias += j;
    multiply(count,
             Panel{panels + j * elements, kGemmPanel, kGemmPanel * elements,
                   end < n ? panels + end * elements : nullptr},
             out);
  }
}

// Packs each panel of b by pack(first column, columns, place).
template <class Element, class Pack>
void pack_panels(std::int64_t elements, std::int64_t columns, Element* panels, const Pack& pack) {
  for (std::int64_t j = 0; j < columns; j += kGemmPanel) {
    pack(j, std::min(kGemmPanel, columns - j), panels + j * elements);
  }
}

struct FloatProducts {
  using Value = float;
  using Element = float;
  using Operand = GemmOperand;

  static std::int64_t depth(std::int64_t k) { return gemm_depth(k); }
  static std::int64_t elements(std::int64_t depth) { return depth; }

  static void pack(const Operand& b, std::int64_t depth, std::int64_t columns, float* panels) {
    pack_panels(depth, columns, panels, [&](std::int64_t j, std::int64_t count, float* to) {
      gemm_loops().pack({b.data + j * b.column_step, b.row_step, b.column_step}, depth, count, to);
    });
  }

  static std::int64_t rows() { return gemm_loops().rows; }

  static void multiply_tiles(std::int64_t n, std::int64_t k, std::span<const GemmTile<float>> tiles,
                             const float* panels, const GemmOutput& c) {
    const GemmLoops& inner = gemm_loops();
    const auto count = static_cast<std::int64_t>(tiles.size());
    for_each_panel<GemmPanel>(
        n, k, inner.columns, panels, c,
        [&](std::int64_t columns, const GemmPanel& panel, const GemmOutput& out) {
          inner.multiply_tiles({count, columns, k}, tiles.data(), panel, out);
        });
  }

  static void multiply_columns(const GemmSize& size, const Operand& a, float* packed,
                               const float* panels, const GemmOutput& c) {
    const GemmLoops& inner = gemm_loops();
    // Columns lie side by side as tiles read them: copies are worth it for many.
    constexpr std::int64_t kFewColumns = 128;
    const bool packs = size.n > kFewColumns;
    if (packs) inner.pack_rows(a, size.m, size.k, packed);
    for_each_panel<GemmPanel>(
        size.n, size.k, inner.columns, panels, c,
        [&](std::int64_t columns, const GemmPanel& panel, const GemmOutput& out) {
          const GemmSize part{size.m, columns, size.k};
          if (packs) {
            inner.multiply_packed(part, packed, panel, out);
          } else {
            inner.multiply(part, a, panel, out);
          }
        });
  }
};

struct PairsProducts {
  using Value = std::uint16_t;
  using Element = std::uint32_t;
  using Operand = PairsOperand;

  // As many bytes as in f32.
  static std::int64_t depth(std::int64_t k) { return 2 * gemm_depth((k + 1) / 2); }
  static std::int64_t elements(std::int64_t depth) { return (depth + 1) / 2; }

  static void pack(const Operand& b, std::int64_t depth, std::int64_t columns, Element* panels) {
    pack_panels(elements(depth), columns, panels,
                [&](std::int64_t j, std::int64_t count, Element* to) {
                  gemm_pairs_loops().pack({b.data + j * b.column_step, b.row_step, b.column_step},
                                          depth, count, to);
                });
  }

  static std::int64_t rows() { return gemm_pairs_loops().rows; }

  static void multiply_tiles(std::int64_t n, std::int64_t k,
                             std::span<const GemmTile<Element>> tiles, const Element* panels,
                             const GemmOutput& c) {
    const GemmPairsLoops& inner = gemm_pairs_loops();
    const auto count = static_cast<std::int64_t>(tiles.size());
    for_each_panel<PairsPanel>(
        n, elements(k), inner.columns, panels, c,
        [&](std::int64_t columns, const PairsPanel& panel, const GemmOutput& out) {
          inner.multiply_tiles({count, columns, elements(k)}, tiles.data(), panel, out);
        });
  }

  static void multiply_columns(const GemmSize& size, const Operand& a, Element* packed,
                               const Element* panels, const GemmOutput& c) {
    const GemmPairsLoops& inner = gemm_pairs_loops();
    inner.pack_rows(a, size.m, size.k, packed);
    for_each_panel<PairsPanel>(
        size.n, elements(size.k), inner.columns, panels, c,
        [&](std::int64_t columns, const PairsPanel& panel, const GemmOutput& out) {
          inner.multiply({size.m, columns, elements(size.k)}, packed, panel, out);
        });
  }
};

// Calls body of the products and the type of values in memory for arrays of `dtype`, f32 or bf16.
template <class Body>
void with_products(DType dtype, const Body& body) {
  if (dtype == DType::kF32) {
    body.template operator()<FloatProducts, float>();
  } else if (gemm_pairs_loops().preferred) {
    body.template operator()<PairsProducts, std::uint16_t>();
  } else {
    body.template operator()<FloatProducts, std::uint16_t>();
  }
}

}  // namespace weft::windows
