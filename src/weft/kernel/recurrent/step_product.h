// StepProduct: a factor that a recurrent layer multiplies many times, with its state at every step
// or with the inputs of some steps.
//
// For this folder. f32, whose weight is packed or quantised once, and f64 in plain loops.
// Threads: any; constructors and run_shared() use the compute threads, the other calls the calling
// thread alone.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/array/array.h"
#include "weft/kernel/gemm/gemm.h"
#include "weft/kernel/gemm/int8.h"

namespace weft {

// A matrix in memory: element (i, j) is data[i * row_step + j * column_step].
template <class T>
struct RecurrentMatrix {
  const T* data;
  std::int64_t row_step;
  std::int64_t column_step;
};

// Rows of sums, `step` apart.
template <class T>
struct Sums {
  T* data;
  std::int64_t step;
  bool accumulate;
  const T* bias;

  Sums from_column(std::int64_t column) const {
    return {data + column, step, accumulate, bias != nullptr ? bias + column : nullptr};
  }
};

// Columns [first, first + count).
struct ColumnRange {
  std::int64_t first;
  std::int64_t count;
};

// The fixed factor b [k, n] of the products.
template <class T>
class StepProduct;

template <>
class StepProduct<float> {
 public:
  StepProduct(const RecurrentMatrix<float>& b, std::int64_t k, std::int64_t n);
  // b = weight^T for weight [n, k].
  explicit StepProduct(const Array& weight);

  // Sums of a [rows, k] times b.
  void run(std::int64_t rows, const float* a, const Sums<float>& sums) const;
  // The same bits, on the compute threads.
  void run_shared(std::int64_t rows, const float* a, const Sums<float>& sums) const;
  // The same bits in these columns of the sums. REQUIRES: has_columns(), and that columns.first is
  // a multiple of PackedMatrix::kPanel.
  void run_columns(std::int64_t rows, const float* a, const ColumnRange& columns,
                   const Sums<float>& sums) const;
  bool has_columns() const { return packed_ != nullptr; }

 private:
  std::shared_ptr<const Int8Matrix> quantised_;  // else packed_
  std::shared_ptr<const PackedMatrix> packed_;
};

template <>
class StepProduct<double> {
 public:
  StepProduct(const RecurrentMatrix<double>& b, std::int64_t k, std::int64_t n)
      : b_(b), k_(k), n_(n) {}
  explicit StepProduct(const Array& weight)
      : StepProduct({weight.data<double>(), 1, weight.dim(1)}, weight.dim(1), weight.dim(0)) {}

  void run(std::int64_t rows, const double* a, const Sums<double>& sums) const {
    run_columns(rows, a, {0, n_}, sums);
  }
  void run_shared(std::int64_t rows, const double* a, const Sums<double>& sums) const {
    run(rows, a, sums);
  }
  void run_columns(std::int64_t rows, const double* a, const ColumnRange& columns,
                   const Sums<double>& sums) const;
  bool has_columns() const { return true; }

 private:
  RecurrentMatrix<double> b_;
  std::int64_t k_;
  std::int64_t n_;
};

}  // namespace weft
