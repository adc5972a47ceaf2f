#include "weft/kernel/cpu/gemm.h"

#include <algorithm>

#include "weft/array/storage.h"
#include "weft/base/parallel.h"
#include "weft/kernel/cpu/gemm_loops.h"
#include "weft/kernel/cpu/isa.h"

namespace weft {
namespace {

// A packed panel of b (16 KiB) stays in the first-level cache while a's rows pass by.
constexpr std::int64_t kDepthMax = 256;
// Columns packed at once: with kDepthMax rows 128 KiB.
constexpr std::int64_t kColumnsAtOnce = 128;
// Below this many multiply-adds a thread is not worth waking.
constexpr std::int64_t kGrainProducts = 64 * 1024;

struct Work {
  GemmSize size;
  GemmOperand a;
  GemmOperand b;
  GemmOutput c;
};

Work columns_of(const Work& work, std::int64_t begin, std::int64_t end) {
  Work part = work;
  part.size.n = end - begin;
  part.b.data += begin * work.b.column_step;
  part.c.data += begin;
  if (work.c.bias != nullptr) part.c.bias += begin;
  return part;
}

Work rows_of(const Work& work, std::int64_t begin, std::int64_t end) {
  Work part = work;
  part.size.m = end - begin;
  part.a.data += begin * work.a.row_step;
  part.c.data += begin * work.c.row_step;
  return part;
}

// One block of at most kColumnsAtOnce columns.
void run_block(const Work& work, float* packed) {
  const GemmLoops& inner = gemm_loops();
  for (std::int64_t k = 0; k < work.size.k || k == 0; k += kDepthMax) {
    const std::int64_t depth = std::min(kDepthMax, work.size.k - k);
    const bool last = k + depth >= work.size.k;
    for (std::int64_t j = 0; j < work.size.n; j += kGemmPanel) {
      const std::int64_t width = std::min(kGemmPanel, work.size.n - j);
      float* const panel = packed + j * depth;
      inner.pack({work.b.data + k * work.b.row_step + j * work.b.column_step, work.b.row_step,
                  work.b.column_step},
                 depth, width, panel);
      GemmOutput out = work.c;
      out.data += j;
      out.accumulate = work.c.accumulate || k > 0;
      out.bias = last && work.c.bias != nullptr ? work.c.bias + j : nullptr;
      out.relu = last && work.c.relu;
      inner.multiply({work.size.m, width, depth},
                     {work.a.data + k * work.a.column_step, work.a.row_step, work.a.column_step},
                     {panel, kGemmPanel}, out);
    }
  }
}

void run(const Work& work) {
  const std::int64_t columns = std::min(work.size.n + kGemmPanel, kColumnsAtOnce);
  const std::int64_t floats = columns * std::clamp<std::int64_t>(work.size.k, 1, kDepthMax);
  const auto buffer = Storage::allocate(static_cast<std::size_t>(floats) * sizeof(float));
  for (std::int64_t j = 0; j < work.size.n; j += kColumnsAtOnce) {
    run_block(columns_of(work, j, std::min(j + kColumnsAtOnce, work.size.n)),
              static_cast<float*>(buffer->data()));
  }
}

}  // namespace

const GemmLoops& gemm_loops() {
#if defined(__x86_64__)
  if (use_avx2()) return kGemmLoopsAvx2;
#endif
  return kGemmLoopsGeneric;
}

void gemm(const GemmSize& size, const GemmOperand& a, const GemmOperand& b, const GemmOutput& c) {
  if (size.m == 0 || size.n == 0) return;
  const Work work{size, a, b, c};
  const std::int64_t panels = (size.n + kGemmPanel - 1) / kGemmPanel;
  const std::int64_t depth = std::max<std::int64_t>(size.k, 1);
  if (panels >= 2 * thread_count() || panels * kGemmPanel >= size.m) {
    const std::int64_t grain = 1 + kGrainProducts / (kGemmPanel * depth * size.m);
    parallel_for(panels, grain, [&](std::int64_t begin, std::int64_t end) {
      run(columns_of(work, begin * kGemmPanel, std::min(end * kGemmPanel, size.n)));
    });
    return;
  }
  const std::int64_t grain = 6 + kGrainProducts / (size.n * depth);
  parallel_for(size.m, grain,
               [&](std::int64_t begin, std::int64_t end) { run(rows_of(work, begin, end)); });
}

}  // namespace weft
