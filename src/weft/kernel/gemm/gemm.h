// gemm: c = a b for f32 matrices in memory, with a layer's bias and activation in the same pass.
//
// For this folder. Element (i, j) is a sum over k in one fixed order that depends on k's extent
// alone: the same bits for any thread count and any m and n.
// IMPLEMENTATION: Goto, van de Geijn, "Anatomy of high-performance matrix multiplication", ACM
// TOMS 34(3), 2008: panels of b and blocks of a are packed, tiles of c stay in registers.
// Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/array/array.h"
#include "weft/array/storage/storage.h"

namespace weft {

// Element (i, j) is data[i * row_step + j * column_step].
struct GemmOperand {
  const float* data;
  std::int64_t row_step;
  std::int64_t column_step;
};

struct GemmSize {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

// Rows are dense, or their columns lie in blocks of 8. The product comes first, then the requested
// steps in this order.
struct GemmOutput {
  float* data;
  std::int64_t row_step;
  bool accumulate = false;      // add to the existing values
  const float* bias = nullptr;  // one value a column
  bool relu = false;
  // Not 0: blocks of columns lie so many floats apart. For gemm_loops.h alone; then columns are
  // whole blocks.
  std::int64_t block_step = 0;
};

// Parts of k that are summed apart, all but the last of this size; of k alone.
std::int64_t gemm_depth(std::int64_t k);

void gemm(const GemmSize& size, const GemmOperand& a, const GemmOperand& b, const GemmOutput& c);

// A b [k, n] that is packed once and used for many products.
class PackedMatrix {
 public:
  // Columns lie together in so many.
  static constexpr std::int64_t kPanel = 16;

  // On the compute threads.
  PackedMatrix(const GemmOperand& b, std::int64_t k, std::int64_t n);
  std::int64_t k() const { return k_; }
  std::int64_t n() const { return n_; }
  const float* data() const { return static_cast<const float*>(storage_->data()); }

 private:
  std::int64_t k_;
  std::int64_t n_;
  std::shared_ptr<Storage> storage_;
};

// The same bits as gemm() of this b, on the compute threads.
void gemm(std::int64_t m, const GemmOperand& a, const PackedMatrix& b, const GemmOutput& c);

// The same bits as gemm with this b. On the calling thread alone, for loops whose threads own rows.
void gemm_packed(std::int64_t m, const GemmOperand& a, const PackedMatrix& b, const GemmOutput& c);
// Columns [first, first + count) of that product: c and its bias begin there. REQUIRES: first is a
// multiple of PackedMatrix::kPanel.
void gemm_packed_columns(std::int64_t m, const GemmOperand& a, const PackedMatrix& b,
                         std::int64_t first, std::int64_t count, const GemmOutput& c);

// A weight f32 [n, k] as the factor b [k, n] = weight^T, packed and kept (core/prepared_weights.h);
// null where nothing is kept.
std::shared_ptr<const PackedMatrix> packed_weight(const Array& weight);

}  // namespace weft
