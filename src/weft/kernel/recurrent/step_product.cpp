#include "weft/kernel/recurrent/step_product.h"

namespace weft {

StepProduct<float>::StepProduct(const RecurrentMatrix<float>& b, std::int64_t k, std::int64_t n)
    : packed_(
          std::make_shared<PackedMatrix>(GemmOperand{b.data, b.row_step, b.column_step}, k, n)) {}

StepProduct<float>::StepProduct(const Array& weight) : quantised_(int8_weight(weight)) {
  if (quantised_ != nullptr) return;
  packed_ = packed_weight(weight);
  if (packed_ != nullptr) return;
  const std::int64_t k = weight.dim(1);
  packed_ =
      std::make_shared<PackedMatrix>(GemmOperand{weight.data<float>(), 1, k}, k, weight.dim(0));
}

void StepProduct<float>::run(std::int64_t rows, const float* a, const Sums<float>& sums) const {
  const GemmOutput out{sums.data, sums.step, sums.accumulate, sums.bias};
  if (quantised_ != nullptr) {
    gemm_int8_here(rows, a, quantised_->k(), *quantised_, out);
  } else {
    gemm_packed(rows, {a, packed_->k(), 1}, *packed_, out);
  }
}

void StepProduct<float>::run_shared(std::int64_t rows, const float* a,
                                    const Sums<float>& sums) const {
  const GemmOutput out{sums.data, sums.step, sums.accumulate, sums.bias};
  if (quantised_ != nullptr) {
    gemm_int8(rows, a, quantised_->k(), *quantised_, out);
  } else {
    gemm(rows, {a, packed_->k(), 1}, *packed_, out);
  }
}

void StepProduct<float>::run_columns(std::int64_t rows, const float* a, const ColumnRange& columns,
                                     const Sums<float>& sums) const {
  const Sums<float> to = sums.from_column(columns.first);
  gemm_packed_columns(rows, {a, packed_->k(), 1}, *packed_, columns.first, columns.count,
                      {to.data, to.step, to.accumulate, to.bias});
}

void StepProduct<double>::run_columns(std::int64_t rows, const double* a,
                                      const ColumnRange& columns, const Sums<double>& sums) const {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = columns.first; j < columns.first + columns.count; ++j) {
      double& to = sums.data[i * sums.step + j];
      double sum = sums.accumulate ? to : 0.0;
      for (std::int64_t k = 0; k < k_; ++k) {
        sum += a[i * k_ + k] * b_.data[k * b_.row_step + j * b_.column_step];
      }
      to = sum + (sums.bias != nullptr ? sums.bias[j] : 0.0);
    }
  }
}

}  // namespace weft
