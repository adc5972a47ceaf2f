#include "weft/kernel/optimizer/adafactor.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/parallel.h"
#include "weft/base/portable_math.h"
#include "weft/kernel/optimizer/matrix_optimizer.h"

namespace weft {
namespace {

constexpr std::int64_t kAdafactorGrain = 32 * 1024;  // elements that are worth a second thread

std::int64_t length_of(const auto& values) { return static_cast<std::int64_t>(values.size()); }

std::int64_t rows_worth_a_thread(std::int64_t columns) {
  return std::max<std::int64_t>(1, kAdafactorGrain / std::max<std::int64_t>(1, columns));
}

// The moment moved towards `square` by `share`.
template <class Value>
Value moved_towards(Value moment, double square, double share) {
  const auto before = static_cast<double>(moment);
  return static_cast<Value>(before + share * (square - before));
}

// The moments of one matrix, and its gradient divided by their roots.
template <class Value>
class FactoredMatrix {
 public:
  FactoredMatrix(const MatrixSize& size, const Value* gradients) : size_(size), g_(gradients) {}

  void move(double share, Value* rows, Value* columns) const {
    parallel_for(size_.rows, rows_worth_a_thread(size_.columns),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     double sum = 0.0;
                     for (std::int64_t j = 0; j < size_.columns; ++j) sum += square(i, j);
                     const double mean = sum / static_cast<double>(size_.columns);
                     rows[i] = moved_towards(rows[i], mean, share);
                   }
                 });
    std::vector<double> sums(static_cast<std::size_t>(size_.columns));
    parallel_for(size_.columns, rows_worth_a_thread(size_.rows),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = 0; i < size_.rows; ++i) {
                     for (std::int64_t j = begin; j < end; ++j) {
                       sums[static_cast<std::size_t>(j)] += square(i, j);
                     }
                   }
                 });
    for (std::int64_t j = 0; j < size_.columns; ++j) {
      const double mean = sums[static_cast<std::size_t>(j)] / static_cast<double>(size_.rows);
      columns[j] = moved_towards(columns[j], mean, share);
    }
  }

  void divide(double epsilon, const Value* rows, const Value* columns, Value* update) const {
    double row_mean = 0.0;
    for (std::int64_t i = 0; i < size_.rows; ++i) row_mean += static_cast<double>(rows[i]);
    row_mean = std::max(row_mean / static_cast<double>(size_.rows), epsilon);
    const double least = epsilon * epsilon;
    parallel_for(size_.rows, rows_worth_a_thread(size_.columns),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const double factor = static_cast<double>(rows[i]) / row_mean;
                     for (std::int64_t j = 0; j < size_.columns; ++j) {
                       const double estimate = factor * static_cast<double>(columns[j]);
                       update[at(i, j)] = static_cast<Value>(static_cast<double>(g_[at(i, j)]) /
                                                             std::sqrt(std::max(estimate, least)));
                     }
                   }
                 });
  }

 private:
  std::int64_t at(std::int64_t row, std::int64_t column) const {
    return row * size_.columns + column;
  }
  double square(std::int64_t row, std::int64_t column) const {
    const auto value = static_cast<double>(g_[at(row, column)]);
    return value * value;
  }

  MatrixSize size_;
  const Value* g_;
};

template <class Value>
void divide_matrices(const TorchAdafactorConstants& constants, const Shape& shape,
                     std::span<const Value> gradients, const AdafactorMoments<Value>& moments,
                     std::vector<Value>& update) {
  const MatrixSize size = {shape[shape.size() - 2], shape[shape.size() - 1]};
  const std::int64_t matrices = length_of(gradients) / (size.rows * size.columns);
  WEFT_CHECK(length_of(moments.rows) == matrices * size.rows);
  WEFT_CHECK(length_of(moments.columns) == matrices * size.columns);
  const double share = portable_pow(constants.step, constants.beta2_decay);
  for (std::int64_t m = 0; m < matrices; ++m) {
    const std::int64_t begin = m * size.rows * size.columns;
    Value* const rows = moments.rows.data() + m * size.rows;
    Value* const columns = moments.columns.data() + m * size.columns;
    const FactoredMatrix<Value> matrix(size, gradients.data() + begin);
    matrix.move(share, rows, columns);
    matrix.divide(constants.epsilon, rows, columns, update.data() + begin);
  }
}

template <class Value>
void divide_elements(const TorchAdafactorConstants& constants, std::span<const Value> gradients,
                     std::span<Value> moments, std::vector<Value>& update) {
  WEFT_CHECK(gradients.size() == moments.size());
  const double share = portable_pow(constants.step, constants.beta2_decay);
  const double least = constants.epsilon * constants.epsilon;
  for (std::size_t i = 0; i < update.size(); ++i) {
    const auto gradient = static_cast<double>(gradients[i]);
    moments[i] = moved_towards(moments[i], gradient * gradient, share);
    update[i] =
        static_cast<Value>(gradient / std::sqrt(std::max(static_cast<double>(moments[i]), least)));
  }
}

}  // namespace

Shape adafactor_row_shape(const Shape& shape) {
  Shape rows = shape;
  rows[rows.size() - 1] = 1;
  return rows;
}

Shape adafactor_column_shape(const Shape& shape) {
  Shape columns = shape;
  columns[columns.size() - 2] = 1;
  return columns;
}

template <class Value>
void torch_adafactor_step(const TorchAdafactorConstants& constants, const Shape& shape,
                          std::span<const Value> gradients, const AdafactorMoments<Value>& moments,
                          std::span<Value> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(shape.num_elements() == length_of(parameters));
  if (parameters.empty()) return;
  std::vector<Value> update(gradients.size());
  if (shape.size() < 2) {
    divide_elements(constants, gradients, moments.whole, update);
  } else {
    divide_matrices(constants, shape, gradients, moments, update);
  }
  const double rate = std::min(constants.learning_rate, 1.0 / std::sqrt(constants.step)) *
                      std::max(constants.scale_least, root_mean_square<Value>(parameters));
  const double divisor = std::max(1.0, root_mean_square<Value>(update) / constants.clip_threshold);
  blend<Value>(parameters, 1.0 - constants.learning_rate * constants.weight_decay, update,
               -rate / divisor, parameters);
}

template void torch_adafactor_step<float>(const TorchAdafactorConstants&, const Shape&,
                                          std::span<const float>, const AdafactorMoments<float>&,
                                          std::span<float>);
template void torch_adafactor_step<double>(const TorchAdafactorConstants&, const Shape&,
                                           std::span<const double>, const AdafactorMoments<double>&,
                                           std::span<double>);

}  // namespace weft
