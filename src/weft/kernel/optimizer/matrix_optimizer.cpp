#include "weft/kernel/optimizer/matrix_optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "weft/base/check.h"
#include "weft/base/parallel.h"
#include "weft/kernel/optimizer/optimizer_loops.h"

namespace weft {
namespace {

constexpr std::int64_t kMatrixGrain = 32 * 1024;  // elements that are worth a second thread
constexpr std::int64_t kSumBlock = 4096;  // values a partial sum; fixes the order of the sum

template <class Value>
std::int64_t count_of(std::span<Value> values) {
  return static_cast<std::int64_t>(values.size());
}

// Rows that are worth a second thread.
std::int64_t row_grain(std::int64_t columns) {
  return std::max<std::int64_t>(1, kMatrixGrain / std::max<std::int64_t>(1, columns));
}

template <class Value>
double sum_of_squares(std::span<const Value> values) {
  const std::int64_t size = count_of(values);
  std::vector<double> sums(static_cast<std::size_t>((size + kSumBlock - 1) / kSumBlock));
  const OptimizerLoops<Value>& loops = optimizer_loops<Value>();
  parallel_for(static_cast<std::int64_t>(sums.size()), 8,
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   sums[static_cast<std::size_t>(i)] = loops.sum_of_squares(
                       values.data(), i * kSumBlock, std::min(size, (i + 1) * kSumBlock));
                 }
               });
  double sum = 0.0;
  for (const double part : sums) sum += part;
  return sum;
}

// moment = decay * moment + (1 - decay) * (sum / count + epsilon).
float moved(float moment, double decay, double mean_square, double epsilon) {
  return static_cast<float>(decay * static_cast<double>(moment) +
                            (1.0 - decay) * (mean_square + epsilon));
}

void move_moments(const AdafactorConstants& constants, const MatrixSize& size,
                  std::span<const float> gradients, const FactoredMoments& moments) {
  const OptimizerLoops<float>& loops = optimizer_loops<float>();
  const FactoredPass<float> pass{gradients.data(), nullptr, nullptr, size.columns};
  parallel_for(size.rows, row_grain(size.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double sum = loops.sum_of_squares(gradients.data() + i * size.columns, 0, size.columns);
      float& moment = moments.rows[static_cast<std::size_t>(i)];
      moment = moved(moment, constants.decay, sum / static_cast<double>(size.columns),
                     constants.epsilon);
    }
  });
  std::vector<double> sums(static_cast<std::size_t>(size.columns));
  parallel_for(size.columns, row_grain(size.rows), [&](std::int64_t begin, std::int64_t end) {
    loops.column_squares(pass, size.rows, sums.data(), begin, end);
    for (auto j = static_cast<std::size_t>(begin); j < static_cast<std::size_t>(end); ++j) {
      moments.columns[j] = moved(moments.columns[j], constants.decay,
                                 sums[j] / static_cast<double>(size.rows), constants.epsilon);
    }
  });
}

// What an update of this root mean square is divided by.
double clip_divisor(double root, double threshold) { return std::max(1.0, root / threshold); }

// out[m, n] = scale_product * a[m, k] b[k, n] + scale_c * out.
template <class Value>
struct Product {
  const Value* a;
  const Value* b;
  Value* out;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

template <class Value>
void multiply_matrices(const Product<Value>& product, double scale_product, double scale_c) {
  const OptimizerLoops<Value>& loops = optimizer_loops<Value>();
  const ProductPass<Value> pass{.a = product.a,
                                .b = product.b,
                                .c = product.out,
                                .n = product.n,
                                .k = product.k,
                                .scale_product = static_cast<Value>(scale_product),
                                .scale_c = static_cast<Value>(scale_c)};
  // Tiles of four rows may begin anywhere: a row's bits do not depend on its neighbours.
  parallel_for(product.m, 16,
               [&](std::int64_t begin, std::int64_t end) { loops.product(pass, begin, end); });
}

template <class Value>
void transpose(const Value* from, std::int64_t rows, std::int64_t columns, Value* to) {
  parallel_for(columns, row_grain(rows), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      for (std::int64_t i = 0; i < rows; ++i) to[j * rows + i] = from[i * columns + j];
    }
  });
}

// For rows <= columns; `x` [rows, columns] is replaced.
template <class Value>
void newton_schulz_wide(const MatrixSize& size, const NewtonSchulz& by, std::vector<Value>& x) {
  const std::int64_t rows = size.rows;
  const std::int64_t columns = size.columns;
  std::vector<Value> transposed(x.size());
  std::vector<Value> next(x.size());
  std::vector<Value> square(static_cast<std::size_t>(rows * rows));
  std::vector<Value> polynomial(square.size());
  const auto multiply = [](const Product<Value>& product, double scale, double scale_c) {
    multiply_matrices(product, scale, scale_c);
  };
  for (int step = 0; step < by.steps; ++step) {
    transpose(x.data(), rows, columns, transposed.data());
    multiply({x.data(), transposed.data(), square.data(), rows, rows, columns}, 1.0, 0.0);
    polynomial = square;
    multiply({square.data(), square.data(), polynomial.data(), rows, rows, rows}, by.c, by.b);
    next = x;
    multiply({polynomial.data(), x.data(), next.data(), rows, columns, rows}, 1.0, by.a);
    x.swap(next);
  }
}

}  // namespace

template <class Value>
double root_mean_square(StepInput<Value> values) {
  if (values.empty()) return 0.0;
  return std::sqrt(sum_of_squares<Value>(values) / static_cast<double>(values.size()));
}

void adafactor_matrix_step(const AdafactorConstants& constants, const MatrixSize& size,
                           std::span<const float> gradients, const FactoredMoments& moments,
                           std::span<float> parameters) {
  WEFT_CHECK(count_of(gradients) == size.rows * size.columns);
  WEFT_CHECK(gradients.size() == parameters.size());
  WEFT_CHECK(count_of(moments.rows) == size.rows && count_of(moments.columns) == size.columns);
  if (gradients.empty()) return;
  move_moments(constants, size, gradients, moments);
  double row_mean = 0.0;
  for (const float moment : moments.rows) row_mean += static_cast<double>(moment);
  row_mean /= static_cast<double>(size.rows);
  // u = g / sqrt(row * column / row_mean).
  std::vector<float> row_factors(moments.rows.size());
  std::vector<float> column_factors(moments.columns.size());
  for (std::size_t i = 0; i < row_factors.size(); ++i) {
    row_factors[i] = static_cast<float>(std::sqrt(row_mean / static_cast<double>(moments.rows[i])));
  }
  for (std::size_t j = 0; j < column_factors.size(); ++j) {
    column_factors[j] =
        static_cast<float>(1.0 / std::sqrt(static_cast<double>(moments.columns[j])));
  }
  const OptimizerLoops<float>& loops = optimizer_loops<float>();
  const FactoredPass<float> pass{gradients.data(), row_factors.data(), column_factors.data(),
                                 size.columns};
  std::vector<double> squares(row_factors.size());
  parallel_for(size.rows, row_grain(size.columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      squares[static_cast<std::size_t>(i)] = loops.scaled_squares(pass, i);
    }
  });
  double sum = 0.0;
  for (const double part : squares) sum += part;
  const double root = std::sqrt(sum / static_cast<double>(gradients.size()));
  const double scale = constants.learning_rate / clip_divisor(root, constants.clip_threshold);
  for (float& factor : row_factors) {
    factor = static_cast<float>(static_cast<double>(factor) * scale);
  }
  const auto shrink = static_cast<float>(1.0 - constants.learning_rate * constants.weight_decay);
  parallel_for(size.rows, row_grain(size.columns), [&](std::int64_t begin, std::int64_t end) {
    loops.factored_update(pass, shrink, parameters.data(), begin, end);
  });
}

void adafactor_vector_step(const AdafactorConstants& constants, std::span<const float> gradients,
                           std::span<float> variance, std::span<float> parameters) {
  WEFT_CHECK(gradients.size() == parameters.size() && variance.size() == parameters.size());
  if (gradients.empty()) return;
  std::vector<float> update(gradients.size());
  for (std::size_t i = 0; i < update.size(); ++i) {
    const auto gradient = static_cast<double>(gradients[i]);
    variance[i] = moved(variance[i], constants.decay, gradient * gradient, constants.epsilon);
    update[i] = static_cast<float>(gradient / std::sqrt(static_cast<double>(variance[i])));
  }
  const double divisor = clip_divisor(root_mean_square(update), constants.clip_threshold);
  const auto scale = static_cast<float>(constants.learning_rate / divisor);
  const auto shrink = static_cast<float>(1.0 - constants.learning_rate * constants.weight_decay);
  for (std::size_t i = 0; i < update.size(); ++i) {
    parameters[i] = shrink * parameters[i] - scale * update[i];
  }
}

template <class Value>
void newton_schulz(const MatrixSize& size, const NewtonSchulz& polynomial,
                   StepOutput<Value> matrix) {
  WEFT_CHECK(count_of(matrix) == size.rows * size.columns);
  if (matrix.empty()) return;
  std::vector<Value> x(matrix.begin(), matrix.end());
  if (size.rows <= size.columns) {
    newton_schulz_wide(size, polynomial, x);
    std::copy(x.begin(), x.end(), matrix.begin());
    return;
  }
  transpose(matrix.data(), size.rows, size.columns, x.data());
  newton_schulz_wide({size.columns, size.rows}, polynomial, x);
  transpose(x.data(), size.columns, size.rows, matrix.data());
}

void orthogonalize(const MatrixSize& size, std::span<float> matrix) {
  constexpr double kTiny = 1e-7;
  const auto scale = static_cast<float>(1.0 / (std::sqrt(sum_of_squares<float>(matrix)) + kTiny));
  for (float& value : matrix) value *= scale;
  newton_schulz(size, {}, matrix);
}

template <class Value>
void blend(StepInput<Value> a, double first, StepInput<Value> b, double second,
           StepOutput<Value> out) {
  WEFT_CHECK(a.size() == out.size() && b.size() == out.size());
  const OptimizerLoops<Value>& loops = optimizer_loops<Value>();
  const BlendPass<Value> pass{a.data(), static_cast<Value>(first), b.data(),
                              static_cast<Value>(second), out.data()};
  parallel_for(count_of(out), kMatrixGrain,
               [&](std::int64_t begin, std::int64_t end) { loops.blend(pass, begin, end); });
}

#define WEFT_STEPS_OF(Value)                                                                     \
  template double root_mean_square<Value>(StepInput<Value>);                                     \
  template void newton_schulz<Value>(const MatrixSize&, const NewtonSchulz&, StepOutput<Value>); \
  template void blend<Value>(StepInput<Value>, double, StepInput<Value>, double, StepOutput<Value>);
WEFT_STEPS_OF(float)
WEFT_STEPS_OF(double)
#undef WEFT_STEPS_OF

}  // namespace weft
