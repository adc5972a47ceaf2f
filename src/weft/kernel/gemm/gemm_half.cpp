// The blocks are those of gemm.cpp, and so is the order of each sum.
#include "weft/kernel/gemm/gemm_half.h"

#include <algorithm>
#include <memory>

#include "weft/array/dtype/half_rows.h"
#include "weft/array/storage/storage.h"
#include "weft/kernel/gemm/gemm_blocks.h"
#include "weft/kernel/gemm/gemm_loops.h"

namespace weft {
namespace {

using gemm_blocks::kColumnsAtOnce;
using gemm_blocks::kRowsAtOnce;
using gemm_blocks::padded_columns;
// Rows of b that are widened before they are packed: with kColumnsAtOnce columns 64 KiB.
constexpr std::int64_t kStripRows = 32;

template <class Half>
using HalfWork = gemm_blocks::Work<HalfOperand<Half>, HalfOutput<Half>>;

// [rows, columns] of `from` in f32, in the operand's own order where that is dense along an axis.
template <class Half>
GemmOperand widen(const HalfOperand<Half>& from, std::int64_t rows, std::int64_t columns,
                  float* to) {
  if (from.row_step == 1 && from.column_step != 1) {
    for (std::int64_t j = 0; j < columns; ++j) {
      to_f32_row(from.data + j * from.column_step, to + j * rows, rows);
    }
    return {to, 1, rows};
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    const Half* const row = from.data + i * from.row_step;
    float* const wide = to + i * columns;
    if (from.column_step == 1) {
      to_f32_row(row, wide, columns);
    } else {
      for (std::int64_t j = 0; j < columns; ++j) wide[j] = row[j * from.column_step];
    }
  }
  return {to, columns, 1};
}

template <class Half>
HalfOperand<Half> half_block_of(const HalfOperand<Half>& operand, std::int64_t row,
                                std::int64_t column) {
  return {operand.data + row * operand.row_step + column * operand.column_step, operand.row_step,
          operand.column_step};
}

// What one thread works with, in one piece of memory.
struct Buffers {
  std::int64_t depth;       // most columns of a at once
  std::int64_t sum_rows;    // rows of `sums`: all where k takes several parts
  std::int64_t sum_stride;  // columns of `sums`
  std::shared_ptr<Storage> storage;
  float* panels;
  float* strip;  // of b, widened
  float* rows;   // of a, widened
  float* packed_rows;
  float* sums;
  float* bias;

  explicit Buffers(const GemmSize& size) {
    depth = gemm_depth(size.k);
    sum_rows = size.k > depth ? size.m : std::min(size.m, kRowsAtOnce);
    sum_stride = std::min(padded_columns(size.n), kColumnsAtOnce);
    const std::int64_t strip_floats = std::max(kStripRows * sum_stride, kGemmPanel * depth);
    const std::int64_t floats = depth * sum_stride + strip_floats + 2 * kRowsAtOnce * depth +
                                sum_rows * sum_stride + kColumnsAtOnce;
    storage = Storage::allocate(static_cast<std::size_t>(floats) * sizeof(float));
    panels = static_cast<float*>(storage->data());
    strip = panels + depth * sum_stride;
    rows = strip + strip_floats;
    packed_rows = rows + kRowsAtOnce * depth;
    sums = packed_rows + kRowsAtOnce * depth;
    bias = sums + sum_rows * sum_stride;
  }
};

template <class Half>
void pack_half_panels(const HalfOperand<Half>& b, std::int64_t depth, std::int64_t columns,
                      const Buffers& buffers) {
  const GemmLoops& inner = gemm_loops();
  const auto columns_at = [&](std::int64_t j) { return std::min(kGemmPanel, columns - j); };
  if (b.column_step != 1) {
    for (std::int64_t j = 0; j < columns; j += kGemmPanel) {
      const GemmOperand wide = widen(half_block_of(b, 0, j), depth, columns_at(j), buffers.strip);
      inner.pack(wide, depth, columns_at(j), buffers.panels + j * depth);
    }
    return;
  }
  for (std::int64_t k = 0; k < depth; k += kStripRows) {
    const std::int64_t count = std::min(kStripRows, depth - k);
    const GemmOperand wide = widen(half_block_of(b, k, 0), count, columns, buffers.strip);
    for (std::int64_t j = 0; j < columns; j += kGemmPanel) {
      inner.pack({wide.data + j, wide.row_step, 1}, count, columns_at(j),
                 buffers.panels + j * depth + k * kGemmPanel);
    }
  }
}

// Rows [i, i + rows) of one part of k: added to `sums`, and written to c after the last part.
struct HalfPart {
  std::int64_t k;
  std::int64_t depth;
  std::int64_t row;
  std::int64_t rows;
};

template <class Half>
void multiply_part(const HalfWork<Half>& work, const HalfPart& part, const Buffers& buffers) {
  const GemmLoops& inner = gemm_loops();
  const bool first = part.k == 0;
  const bool last = part.k + part.depth >= work.size.k;
  const std::int64_t place = buffers.sum_rows < work.size.m ? 0 : part.row;
  float* const sums = buffers.sums + place * buffers.sum_stride;
  Half* const target = work.c.data + part.row * work.c.row_step;
  for (std::int64_t i = 0; first && work.c.accumulate && i < part.rows; ++i) {
    to_f32_row(target + i * work.c.row_step, sums + i * buffers.sum_stride, work.size.n);
  }
  const GemmOperand a =
      widen(half_block_of(work.a, part.row, part.k), part.rows, part.depth, buffers.rows);
  const bool packs = a.column_step != 1 || inner.packs_rows;
  if (packs) inner.pack_rows(a, part.rows, part.depth, buffers.packed_rows);
  for (std::int64_t j = 0; j < work.size.n; j += inner.columns) {
    const GemmSize size{part.rows, std::min(inner.columns, work.size.n - j), part.depth};
    const GemmPanel panel{buffers.panels + j * part.depth, kGemmPanel, kGemmPanel * part.depth};
    const bool bias = last && work.c.bias != nullptr;
    const GemmOutput out{sums + j, buffers.sum_stride, work.c.accumulate || !first,
                         bias ? buffers.bias + j : nullptr, last && work.c.relu};
    if (packs) {
      inner.multiply_packed(size, buffers.packed_rows, panel, out);
    } else {
      inner.multiply(size, a, panel, out);
    }
  }
  for (std::int64_t i = 0; last && i < part.rows; ++i) {
    from_f32_row(sums + i * buffers.sum_stride, target + i * work.c.row_step, work.size.n);
  }
}

template <class Half>
void run_half_gemm(const HalfWork<Half>& work) {
  const Buffers buffers(work.size);
  for (std::int64_t j = 0; j < work.size.n; j += kColumnsAtOnce) {
    const HalfWork<Half> part = work.columns(j, std::min(j + kColumnsAtOnce, work.size.n));
    if (part.c.bias != nullptr) to_f32_row(part.c.bias, buffers.bias, part.size.n);
    for (std::int64_t k = 0; k < work.size.k || k == 0; k += buffers.depth) {
      const std::int64_t depth = std::min(buffers.depth, work.size.k - k);
      pack_half_panels(half_block_of(part.b, k, 0), depth, part.size.n, buffers);
      for (std::int64_t i = 0; i < part.size.m; i += kRowsAtOnce) {
        multiply_part(part, {k, depth, i, std::min(kRowsAtOnce, part.size.m - i)}, buffers);
      }
    }
  }
}

}  // namespace

void gemm_half(const GemmSize& size, const HalfOperand<BFloat16>& a, const HalfOperand<BFloat16>& b,
               const HalfOutput<BFloat16>& c) {
  gemm_blocks::run_parts(HalfWork<BFloat16>{size, a, b, c}, run_half_gemm<BFloat16>);
}
void gemm_half(const GemmSize& size, const HalfOperand<Float16>& a, const HalfOperand<Float16>& b,
               const HalfOutput<Float16>& c) {
  gemm_blocks::run_parts(HalfWork<Float16>{size, a, b, c}, run_half_gemm<Float16>);
}

}  // namespace weft
