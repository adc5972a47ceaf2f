#include "weft/kernel/gemm/gemm.h"

#include <algorithm>

#include "weft/array/storage/storage.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/kernel/gemm/gemm_blocks.h"
#include "weft/kernel/gemm/gemm_loops.h"

namespace weft {
namespace {

// A packed panel of b (24 KiB) stays in the first- or second-level cache while a's rows pass by.
constexpr std::int64_t kDepthMax = 384;
// Up to this depth, that of 28 by 28 pixels, a second part, which adds its sums to those of the
// first in memory, costs more than panels that come from the second level.
constexpr std::int64_t kDepthWhole = 784;
// Columns of b at once where rows are many. Panels are read in order, ahead of their use, so they
// may come from the third-level cache; rows, which are packed again for each block of columns, cost
// more.
constexpr std::int64_t kColumnsAtOnce = 1536;
// Rows from which on threads share those of a product with a single panel.
constexpr std::int64_t kRowsOfOnePanel = 48;
// Rows of a thread that reads all of a packed b: many enough that it does not wait for b.
constexpr std::int64_t kRowsOfThread = 32;
// Values that a thread packs at least.
constexpr std::int64_t kPackedGrain = 16 * 1024;
static_assert(PackedMatrix::kPanel == kGemmPanel);
using gemm_blocks::kRowsAtOnce;
using gemm_blocks::padded_columns;
using GemmWork = gemm_blocks::Work<GemmOperand, GemmOutput>;

std::shared_ptr<Storage> allocate_floats(std::int64_t count) {
  return Storage::allocate(static_cast<std::size_t>(count) * sizeof(float));
}

GemmOperand gemm_block_of(const GemmOperand& operand, std::int64_t row, std::int64_t column) {
  return {operand.data + row * operand.row_step + column * operand.column_step, operand.row_step,
          operand.column_step};
}

// Rows of b that are packed for all panels before the next ones, if they are far apart in memory.
constexpr std::int64_t kFarRows = 16;

void pack_float_panels(const GemmOperand& b, std::int64_t depth, std::int64_t columns,
                       float* packed) {
  const GemmLoops& inner = gemm_loops();
  const std::int64_t step = b.column_step == 1 ? kFarRows : depth;
  for (std::int64_t k = 0; k < depth; k += step) {
    for (std::int64_t j = 0; j < columns; j += kGemmPanel) {
      inner.pack(gemm_block_of(b, k, j), std::min(step, depth - k),
                 std::min(kGemmPanel, columns - j), packed + j * depth + k * kGemmPanel);
    }
  }
}

// Packed panels of b, and what is read after them; null: not known, or there already.
struct Panels {
  const float* data;
  const float* after;
  GemmLinesAhead* lines_after = nullptr;
};

// At most kRowsAtOnce rows of a, where they are or packed in `rows`, times panels of b; c already
// says what to do after this part of k.
void multiply_block(const GemmSize& size, const GemmOperand& a, const float* rows,
                    const Panels& panels, const GemmOutput& c) {
  const GemmLoops& inner = gemm_loops();
  const auto output_at = [&](std::int64_t j) {
    GemmOutput out = c;
    out.data += j;
    if (out.bias != nullptr) out.bias += j;
    return out;
  };
  std::int64_t j = 0;
  for (; size.m == 1 && rows == nullptr && j + kGemmRowColumns <= size.n; j += kGemmRowColumns) {
    inner.multiply_row({1, kGemmRowColumns, size.k}, a,
                       {panels.data + j * size.k, kGemmPanel * size.k}, output_at(j));
  }
  for (; j < size.n; j += inner.columns) {
    const GemmSize part{size.m, std::min(inner.columns, size.n - j), size.k};
    const std::int64_t end = j + part.n;
    const GemmPanel panel{panels.data + j * size.k, kGemmPanel, kGemmPanel * size.k,
                          end < size.n ? panels.data + end * size.k : panels.after,
                          panels.lines_after};
    if (rows != nullptr) {
      inner.multiply_packed(part, rows, panel, output_at(j));
    } else {
      inner.multiply(part, a, panel, output_at(j));
    }
  }
}

// All rows of a, which are packed in `row_buffer` unless it is null. Behind them lie so many more.
void multiply_panels(const GemmSize& size, const GemmOperand& a, const Panels& panels,
                     const GemmOutput& c, float* row_buffer, std::int64_t rows_behind) {
  for (std::int64_t i = 0; i < size.m; i += kRowsAtOnce) {
    const std::int64_t rows = std::min(kRowsAtOnce, size.m - i);
    const GemmOperand from = gemm_block_of(a, i, 0);
    if (row_buffer != nullptr) gemm_loops().pack_rows(from, rows, size.k, row_buffer);
    GemmOutput out = c;
    out.data += i * c.row_step;
    const float* const after = i + rows < size.m ? panels.data : panels.after;
    const GemmSize block{rows, size.n, size.k};
    GemmLinesAhead lines = gemm_blocks::lines_ahead(
        gemm_block_of(a, i + rows, 0), std::min(kRowsAtOnce, size.m - i - rows + rows_behind),
        block, gemm_loops().columns);
    multiply_block(block, from, row_buffer, {panels.data, after, &lines}, out);
  }
}

// What is left to do to c after columns [k, k + depth) of a.
GemmOutput output_of(const GemmOutput& c, std::int64_t k, std::int64_t depth, std::int64_t all) {
  GemmOutput out = c;
  out.accumulate = c.accumulate || k > 0;
  if (k + depth < all) {
    out.bias = nullptr;
    out.relu = false;
  }
  return out;
}

// Rows that lie close together are read where they are: a few broadcasts a line. A single row is
// one anyway. So are the columns of a transposed a, where a tile finds its rows side by side, and
// few rows, if few columns of b read them again.
bool packs_rows(const GemmSize& size, const GemmOperand& a) {
  constexpr std::int64_t kColumnsOfTransposed = 128;
  constexpr std::int64_t kColumnsOfFewRows = 512;
  const GemmLoops& inner = gemm_loops();
  std::int64_t columns = inner.columns;
  if (size.m <= kRowsAtOnce) columns = kColumnsOfFewRows;
  if (a.row_step == 1) columns = kColumnsOfTransposed;
  return size.m > 1 && (a.column_step != 1 || inner.packs_rows) && size.n > columns;
}

// Few rows use each panel once: it is multiplied as soon as it is packed, while it is in the
// caches.
void run_few_rows(const GemmWork& work) {
  constexpr std::int64_t kColumns = kGemmRowColumns;
  const std::int64_t step = gemm_depth(work.size.k);
  const bool packs = packs_rows(work.size, work.a);
  const std::int64_t floats = (kColumns + (packs ? work.size.m : 0)) * step;
  const auto buffer = allocate_floats(floats);
  auto* const panels = static_cast<float*>(buffer->data());
  float* const rows = packs ? panels + kColumns * step : nullptr;
  for (std::int64_t k = 0; k < work.size.k || k == 0; k += step) {
    const std::int64_t depth = std::min(step, work.size.k - k);
    const GemmOperand a = gemm_block_of(work.a, 0, k);
    if (packs) gemm_loops().pack_rows(a, work.size.m, depth, rows);
    for (std::int64_t j = 0; j < work.size.n; j += kColumns) {
      const GemmWork part = work.columns(j, std::min(j + kColumns, work.size.n));
      pack_float_panels(gemm_block_of(part.b, k, 0), depth, part.size.n, panels);
      multiply_block({part.size.m, part.size.n, depth}, a, rows, {panels, nullptr},
                     output_of(part.c, k, depth, work.size.k));
    }
  }
}

// Columns [k, k + depth) of a part's a times its packed b, on this thread.
void multiply_depth(const GemmWork& part, std::int64_t k, std::int64_t depth,
                    const Panels& panels) {
  std::shared_ptr<Storage> buffer;
  float* row_buffer = nullptr;
  if (packs_rows(part.size, part.a)) {
    buffer = allocate_floats(std::min(part.size.m, kRowsAtOnce) * depth);
    row_buffer = static_cast<float*>(buffer->data());
  }
  multiply_panels({part.size.m, part.size.n, depth}, gemm_block_of(part.a, 0, k), panels,
                  output_of(part.c, k, depth, part.size.k), row_buffer, part.rows_behind);
}

// Calls multiply(part, k, depth, panels) for parts of b, each packed by pack(b, depth, columns,
// panels) before.
template <class Pack, class Multiply>
void for_each_panel_block(const GemmWork& work, const Pack& pack, const Multiply& multiply) {
  const std::int64_t step = gemm_depth(work.size.k);
  const std::int64_t columns = std::min(padded_columns(work.size.n), kColumnsAtOnce);
  const auto buffer = allocate_floats(columns * step);
  auto* const panels = static_cast<float*>(buffer->data());
  for (std::int64_t j = 0; j < work.size.n; j += kColumnsAtOnce) {
    const GemmWork part = work.columns(j, std::min(j + kColumnsAtOnce, work.size.n));
    for (std::int64_t k = 0; k < work.size.k || k == 0; k += step) {
      const std::int64_t depth = std::min(step, work.size.k - k);
      pack(gemm_block_of(part.b, k, 0), depth, part.size.n, panels);
      multiply(part, k, depth, Panels{panels, nullptr});
    }
  }
}

// On this thread.
void run_gemm(const GemmWork& work) {
  if (work.size.m <= kRowsAtOnce) return run_few_rows(work);
  for_each_panel_block(work, pack_float_panels, multiply_depth);
}

// On the compute threads.
void pack_shared_panels(const GemmOperand& b, std::int64_t depth, std::int64_t columns,
                        float* panels) {
  const std::int64_t grain = 1 + kPackedGrain / (kGemmPanel * std::max<std::int64_t>(depth, 1));
  parallel_for(
      padded_columns(columns) / kGemmPanel, grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = begin * kGemmPanel;
        pack_float_panels(gemm_block_of(b, 0, first), depth,
                          std::min(end * kGemmPanel, columns) - first, panels + first * depth);
      });
}

// Threads that share the rows share the packing, too.
void run_shared_rows(const GemmWork& work) {
  for_each_panel_block(
      work, pack_shared_panels,
      [](const GemmWork& part, std::int64_t k, std::int64_t depth, const Panels& panels) {
        gemm_blocks::run_rows(
            part, [&](const GemmWork& rows) { multiply_depth(rows, k, depth, panels); });
      });
}

// A part of a product whose b is packed; its first column is `first` of b.
void run_packed(const GemmWork& work, const PackedMatrix& b, std::int64_t first) {
  const std::int64_t step = gemm_depth(b.k());
  for (std::int64_t j = 0; j < work.size.n; j += kColumnsAtOnce) {
    const GemmWork part = work.columns(j, std::min(j + kColumnsAtOnce, work.size.n));
    const float* block = b.data();
    for (std::int64_t k = 0; k < b.k() || k == 0; k += step) {
      const std::int64_t depth = std::min(step, b.k() - k);
      const float* const next = block + padded_columns(b.n()) * depth;
      const std::int64_t left = std::min(step, b.k() - k - depth);
      multiply_depth(part, k, depth,
                     {block + (first + j) * depth, left > 0 ? next + (first + j) * left : nullptr});
      block = next;
    }
  }
}

// Whether threads share the rows of such a product (gemm_blocks.h says when else they do). Then
// each reads all of b, and has its rows of a and of the result to itself, from layer to layer: that
// is worth it where b is not much larger than what otherwise changes cores.
bool shares_packed_rows(std::int64_t m, const PackedMatrix& b) {
  if (b.n() == 0) return false;
  if (b.n() <= kGemmPanel) return m >= kRowsOfOnePanel;
  return m >= kRowsOfThread * thread_count() && 2 * b.k() * b.n() <= 3 * m * (b.k() + b.n());
}

}  // namespace

std::int64_t gemm_depth(std::int64_t k) {
  const std::int64_t blocks =
      k <= kDepthWhole ? 1 : std::max<std::int64_t>(1, (k + kDepthMax - 1) / kDepthMax);
  return std::max<std::int64_t>(1, ((k + blocks - 1) / blocks + 7) / 8 * 8);
}

void gemm(const GemmSize& size, const GemmOperand& a, const GemmOperand& b, const GemmOutput& c) {
  const GemmWork work{size, a, b, c};
  if (gemm_blocks::shares_rows(size) && size.n > 0) return run_shared_rows(work);
  gemm_blocks::run_parts(work, run_gemm);
}

void gemm(std::int64_t m, const GemmOperand& a, const PackedMatrix& b, const GemmOutput& c) {
  // The second operand counts columns: the distance of a part's from this one is its first.
  const GemmWork work{{m, b.n(), b.k()}, a, {b.data(), 0, 1}, c};
  const auto run = [&](const GemmWork& part) { run_packed(part, b, part.b.data - b.data()); };
  if (shares_packed_rows(m, b)) return gemm_blocks::run_rows(work, run);
  gemm_blocks::run_parts(work, run);
}

std::shared_ptr<const PackedMatrix> packed_weight(const Array& weight) {
  const std::int64_t k = weight.dim(1);
  return PreparedWeights::get<PackedMatrix>(weight, WeightForm::kPackedPanels, [&] {
    return std::make_shared<PackedMatrix>(GemmOperand{weight.data<float>(), 1, k}, k,
                                          weight.dim(0));
  });
}

PackedMatrix::PackedMatrix(const GemmOperand& b, std::int64_t k, std::int64_t n)
    : k_(k), n_(n), storage_(allocate_floats(padded_columns(n) * k)) {
  auto* packed = static_cast<float*>(storage_->data());
  const std::int64_t step = gemm_depth(k);
  for (std::int64_t row = 0; row < k; row += step) {
    const std::int64_t depth = std::min(step, k - row);
    pack_shared_panels(gemm_block_of(b, row, 0), depth, n, packed);
    packed += padded_columns(n) * depth;
  }
}

void gemm_packed(std::int64_t m, const GemmOperand& a, const PackedMatrix& b, const GemmOutput& c) {
  gemm_packed_columns(m, a, b, 0, b.n(), c);
}

void gemm_packed_columns(std::int64_t m, const GemmOperand& a, const PackedMatrix& b,
                         std::int64_t first, std::int64_t count, const GemmOutput& c) {
  if (m == 0 || count == 0) return;
  run_packed({{m, count, b.k()}, a, {b.data() + first, 0, 1}, c}, b, first);
}

}  // namespace weft
