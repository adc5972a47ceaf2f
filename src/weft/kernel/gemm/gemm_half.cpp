// The blocks are those of gemm.cpp, and so is the order of each sum of widened values.
#include "weft/kernel/gemm/gemm_half.h"

#include <algorithm>
#include <memory>

#include "weft/array/dtype/half_rows.h"
#include "weft/array/storage/storage.h"
#include "weft/kernel/gemm/gemm_blocks.h"
#include "weft/kernel/gemm/gemm_half_packing.h"

namespace weft {
namespace {

// Columns of b packed at once: with 384 rows 768 KiB. The sums of all rows of a may be kept beside
// them, so more columns would cost more memory.
constexpr std::int64_t kHalfColumnsAtOnce = 512;
using gemm_blocks::kRowsAtOnce;
using gemm_blocks::padded_columns;

template <class Half>
using HalfWork = gemm_blocks::Work<HalfOperand<Half>, HalfOutput<Half>>;

// What one thread works with, in one piece of memory.
template <class Packing>
struct Buffers {
  std::int64_t depth;       // most columns of a at once
  std::int64_t sum_rows;    // rows of `sums`: all where k takes several parts
  std::int64_t sum_stride;  // columns of `sums`
  std::shared_ptr<Storage> storage;
  float* sums;
  float* bias;
  void* packed;

  explicit Buffers(const GemmSize& size)
      : depth(Packing::depth(size.k)),
        sum_rows(size.k > depth ? size.m : std::min(size.m, kRowsAtOnce)),
        sum_stride(std::min(padded_columns(size.n), kHalfColumnsAtOnce)) {
    const std::int64_t floats = sum_rows * sum_stride + kHalfColumnsAtOnce;
    const std::int64_t words = floats + Packing::words(depth, sum_stride);
    storage = Storage::allocate(static_cast<std::size_t>(words) * sizeof(float));
    sums = static_cast<float*>(storage->data());
    bias = sums + sum_rows * sum_stride;
    packed = bias + kHalfColumnsAtOnce;
  }
};

// Rows [i, i + rows) of one part of k: added to `sums`, and written to c after the last part.
struct HalfPart {
  std::int64_t k;
  std::int64_t depth;
  std::int64_t row;
  std::int64_t rows;
};

template <class Half, class Packing>
void multiply_part(const HalfWork<Half>& work, const HalfPart& part,
                   const Buffers<Packing>& buffers, Packing& packing) {
  const bool first = part.k == 0;
  const bool last = part.k + part.depth >= work.size.k;
  const std::int64_t place = buffers.sum_rows < work.size.m ? 0 : part.row;
  float* const sums = buffers.sums + place * buffers.sum_stride;
  Half* const target = work.c.data + part.row * work.c.row_step;
  for (std::int64_t i = 0; first && work.c.accumulate && i < part.rows; ++i) {
    to_f32_row(target + i * work.c.row_step, sums + i * buffers.sum_stride, work.size.n);
  }
  packing.pack_rows(half_block_of(work.a, part.row, part.k), part.rows, part.depth);
  for (std::int64_t j = 0; j < work.size.n; j += packing.columns()) {
    const GemmSize size{part.rows, std::min(packing.columns(), work.size.n - j), part.depth};
    const bool bias = last && work.c.bias != nullptr;
    packing.multiply(size, j,
                     {sums + j, buffers.sum_stride, work.c.accumulate || !first,
                      bias ? buffers.bias + j : nullptr, last && work.c.relu});
  }
  for (std::int64_t i = 0; last && i < part.rows; ++i) {
    from_f32_row(sums + i * buffers.sum_stride, target + i * work.c.row_step, work.size.n);
  }
}

template <class Packing>
void run_half_gemm(const HalfWork<typename Packing::Value>& work) {
  const Buffers<Packing> buffers(work.size);
  Packing packing(buffers.packed, buffers.depth, buffers.sum_stride);
  for (std::int64_t j = 0; j < work.size.n; j += kHalfColumnsAtOnce) {
    const auto part = work.columns(j, std::min(j + kHalfColumnsAtOnce, work.size.n));
    if (part.c.bias != nullptr) to_f32_row(part.c.bias, buffers.bias, part.size.n);
    for (std::int64_t k = 0; k < work.size.k || k == 0; k += buffers.depth) {
      const std::int64_t depth = std::min(buffers.depth, work.size.k - k);
      packing.pack_columns(half_block_of(part.b, k, 0), depth, part.size.n);
      for (std::int64_t i = 0; i < part.size.m; i += kRowsAtOnce) {
        multiply_part(part, {k, depth, i, std::min(kRowsAtOnce, part.size.m - i)}, buffers,
                      packing);
      }
    }
  }
}

}  // namespace

void gemm_half(const GemmSize& size, const HalfOperand<BFloat16>& a, const HalfOperand<BFloat16>& b,
               const HalfOutput<BFloat16>& c) {
  gemm_blocks::run_parts(HalfWork<BFloat16>{size, a, b, c},
                         gemm_pairs_loops().preferred ? run_half_gemm<PairsPacking>
                                                      : run_half_gemm<WidenedPacking<BFloat16>>);
}
void gemm_half(const GemmSize& size, const HalfOperand<Float16>& a, const HalfOperand<Float16>& b,
               const HalfOutput<Float16>& c) {
  gemm_blocks::run_parts(HalfWork<Float16>{size, a, b, c}, run_half_gemm<WidenedPacking<Float16>>);
}

}  // namespace weft
