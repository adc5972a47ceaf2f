#include "op/factorize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>

namespace weft::python {
namespace {

constexpr int kSweepsMax = 60;
constexpr double kTolerance = 1e-15;

// A matrix of a batch, row by row.
struct Matrix {
  double* data;
  std::int64_t rows;
  std::int64_t columns;
  double& operator()(std::int64_t i, std::int64_t j) const { return data[i * columns + j]; }
};

Matrix matrix_of(Array& batch, std::int64_t number) {
  const std::int64_t rows = batch.dim(1);
  const std::int64_t columns = batch.dim(2);
  return {batch.data<double>() + number * rows * columns, rows, columns};
}

[[noreturn]] void throw_matrix(const char* op, const std::string& what, std::int64_t number) {
  throw std::invalid_argument(std::string("[") + op + "] expected " + what + ", got matrix " +
                              std::to_string(number) + " of the batch");
}

void swap_rows(const Matrix& a, std::int64_t i, std::int64_t j) {
  if (i != j) std::swap_ranges(&a(i, 0), &a(i, 0) + a.columns, &a(j, 0));
}

// Row by row to an upper triangle, the same to `rhs` if it has rows; the sign of the exchanges, or
// 0 for a singular matrix.
int eliminate(const Matrix& a, const Matrix& rhs) {
  int sign = 1;
  for (std::int64_t k = 0; k < a.rows; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      if (std::fabs(a(i, k)) > std::fabs(a(pivot, k))) pivot = i;
    }
    if (a(pivot, k) == 0.0) return 0;
    if (pivot != k) sign = -sign;
    swap_rows(a, k, pivot);
    if (rhs.rows > 0) swap_rows(rhs, k, pivot);
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      const double factor = a(i, k) / a(k, k);
      if (factor == 0.0) continue;
      for (std::int64_t j = k; j < a.columns; ++j) a(i, j) -= factor * a(k, j);
      for (std::int64_t j = 0; j < rhs.columns; ++j) rhs(i, j) -= factor * rhs(k, j);
    }
  }
  return sign;
}

// rhs becomes the solution of the upper triangle a.
void substitute(const Matrix& a, const Matrix& rhs) {
  for (std::int64_t i = a.rows - 1; i >= 0; --i) {
    for (std::int64_t j = 0; j < rhs.columns; ++j) {
      double sum = rhs(i, j);
      for (std::int64_t k = i + 1; k < a.columns; ++k) sum -= a(i, k) * rhs(k, j);
      rhs(i, j) = sum / a(i, i);
    }
  }
}

// Applies the reflection 1 - 2 v v^T (v of length 1, from row `first` on) to the columns of a from
// `column` on.
void reflect(const Matrix& a, const std::vector<double>& v, std::int64_t first,
             std::int64_t column) {
  for (std::int64_t j = column; j < a.columns; ++j) {
    double dot = 0.0;
    for (std::int64_t i = first; i < a.rows; ++i) dot += v[static_cast<std::size_t>(i)] * a(i, j);
    for (std::int64_t i = first; i < a.rows; ++i) {
      a(i, j) -= 2.0 * dot * v[static_cast<std::size_t>(i)];
    }
  }
}

// The reflection that leaves nothing below the diagonal in column k; false if nothing is there.
bool reflection_of(const Matrix& a, std::int64_t k, std::vector<double>& v) {
  double below = 0.0;
  for (std::int64_t i = k + 1; i < a.rows; ++i) below += a(i, k) * a(i, k);
  if (below == 0.0) return false;
  std::fill(v.begin(), v.end(), 0.0);
  const double length = std::sqrt(below + a(k, k) * a(k, k));
  for (std::int64_t i = k; i < a.rows; ++i) v[static_cast<std::size_t>(i)] = a(i, k);
  v[static_cast<std::size_t>(k)] += std::copysign(length, a(k, k));
  double square = 0.0;
  for (const double each : v) square += each * each;
  for (double& each : v) each /= std::sqrt(square);
  return true;
}

// The cosine and the sine of the rotation that makes `off` vanish between the squares p and q.
struct Rotation {
  double cosine;
  double sine;
};
Rotation rotation_for(double p, double q, double off) {
  const double theta = (q - p) / (2.0 * off);
  const double tangent = std::copysign(1.0, theta) / (std::fabs(theta) + std::hypot(1.0, theta));
  const double cosine = 1.0 / std::hypot(1.0, tangent);
  return {cosine, tangent * cosine};
}

void rotate_columns(const Matrix& a, std::int64_t p, std::int64_t q, const Rotation& by) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    const double left = a(i, p);
    const double right = a(i, q);
    a(i, p) = by.cosine * left - by.sine * right;
    a(i, q) = by.sine * left + by.cosine * right;
  }
}

void set_identity(const Matrix& a) {
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) a(i, j) = i == j ? 1.0 : 0.0;
  }
}

// One sweep over all pairs; whether any was rotated.
bool sweep_symmetric(const Matrix& a, const Matrix& vectors) {
  bool rotated = false;
  for (std::int64_t p = 0; p < a.rows; ++p) {
    for (std::int64_t q = p + 1; q < a.rows; ++q) {
      const double off = a(p, q);
      if (std::fabs(off) <= kTolerance * std::sqrt(std::fabs(a(p, p) * a(q, q))) ||
          std::fabs(off) < 1e-300) {
        continue;
      }
      rotated = true;
      const Rotation by = rotation_for(a(p, p), a(q, q), off);
      rotate_columns(a, p, q, by);
      for (std::int64_t j = 0; j < a.columns; ++j) {
        const double upper = a(p, j);
        const double lower = a(q, j);
        a(p, j) = by.cosine * upper - by.sine * lower;
        a(q, j) = by.sine * upper + by.cosine * lower;
      }
      rotate_columns(vectors, p, q, by);
    }
  }
  return rotated;
}

bool sweep_columns(const Matrix& u, const Matrix& v) {
  bool rotated = false;
  for (std::int64_t p = 0; p < u.columns; ++p) {
    for (std::int64_t q = p + 1; q < u.columns; ++q) {
      double left = 0.0;
      double right = 0.0;
      double both = 0.0;
      for (std::int64_t i = 0; i < u.rows; ++i) {
        left += u(i, p) * u(i, p);
        right += u(i, q) * u(i, q);
        both += u(i, p) * u(i, q);
      }
      if (std::fabs(both) <= kTolerance * std::sqrt(left * right) || both == 0.0) continue;
      rotated = true;
      const Rotation by = rotation_for(left, right, both);
      rotate_columns(u, p, q, by);
      rotate_columns(v, p, q, by);
    }
  }
  return rotated;
}

// `columns` in the order of `places`.
void reorder_columns(const Matrix& a, const std::vector<std::int64_t>& places) {
  std::vector<double> row(static_cast<std::size_t>(a.columns));
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = a(i, places[j]);
    std::copy(row.begin(), row.end(), &a(i, 0));
  }
}

std::vector<std::int64_t> order_of(const std::vector<double>& values, bool descending) {
  std::vector<std::int64_t> places(values.size());
  std::iota(places.begin(), places.end(), std::int64_t{0});
  std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
    const double left = values[static_cast<std::size_t>(a)];
    const double right = values[static_cast<std::size_t>(b)];
    return descending ? left > right : left < right;
  });
  return places;
}

}  // namespace

Array solve_systems(const Array& a, const Array& rhs) {
  Array left = a.clone();
  Array right = rhs.clone();
  for (std::int64_t b = 0; b < left.dim(0); ++b) {
    const Matrix upper = matrix_of(left, b);
    const Matrix solution = matrix_of(right, b);
    if (eliminate(upper, solution) == 0) throw_matrix("solve", "matrices with an inverse", b);
    substitute(upper, solution);
  }
  return right;
}

std::vector<Array> lu_of(const Array& a) {
  Array parts = a.clone();
  const std::int64_t steps = std::min(a.dim(1), a.dim(2));
  Array exchanges = Array::empty(Shape{a.dim(0), steps}, DType::kI64);
  for (std::int64_t b = 0; b < parts.dim(0); ++b) {
    const Matrix lu = matrix_of(parts, b);
    for (std::int64_t k = 0; k < steps; ++k) {
      std::int64_t pivot = k;
      for (std::int64_t i = k + 1; i < lu.rows; ++i) {
        if (std::fabs(lu(i, k)) > std::fabs(lu(pivot, k))) pivot = i;
      }
      exchanges.data<std::int64_t>()[b * steps + k] = pivot;
      swap_rows(lu, k, pivot);
      if (lu(k, k) == 0.0) continue;  // nothing to eliminate below it
      for (std::int64_t i = k + 1; i < lu.rows; ++i) {
        const double factor = lu(i, k) /= lu(k, k);
        for (std::int64_t j = k + 1; j < lu.columns; ++j) lu(i, j) -= factor * lu(k, j);
      }
    }
  }
  return {parts, exchanges};
}

std::vector<Array> log_determinants(const Array& a) {
  Array left = a.clone();
  Array signs = Array::empty(Shape{a.dim(0)}, DType::kF64);
  Array logs = Array::empty(Shape{a.dim(0)}, DType::kF64);
  for (std::int64_t b = 0; b < left.dim(0); ++b) {
    const Matrix upper = matrix_of(left, b);
    double sign = eliminate(upper, {nullptr, 0, 0});
    double log = sign == 0.0 ? -INFINITY : 0.0;
    for (std::int64_t i = 0; sign != 0.0 && i < upper.rows; ++i) {
      if (upper(i, i) < 0.0) sign = -sign;
      log += std::log(std::fabs(upper(i, i)));
    }
    signs.data<double>()[b] = sign;
    logs.data<double>()[b] = log;
  }
  return {signs, logs};
}

Array cholesky_of(const Array& a) {
  Array result = a.clone();
  for (std::int64_t b = 0; b < result.dim(0); ++b) {
    const Matrix l = matrix_of(result, b);
    for (std::int64_t j = 0; j < l.rows; ++j) {
      for (std::int64_t i = j; i < l.rows; ++i) {
        double sum = l(i, j);
        for (std::int64_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
        if (i == j && !(sum > 0.0)) throw_matrix("cholesky", "positive definite matrices", b);
        l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
      }
      for (std::int64_t k = j + 1; k < l.columns; ++k) l(j, k) = 0.0;
    }
  }
  return result;
}

std::vector<Array> qr_of(const Array& a, bool complete) {
  const std::int64_t rows = a.dim(1);
  const std::int64_t inner = complete ? rows : std::min(rows, a.dim(2));
  Array work = a.clone();
  Array turned = Array::empty(Shape{a.dim(0), rows, rows}, DType::kF64);
  std::vector<double> v(static_cast<std::size_t>(rows));
  for (std::int64_t b = 0; b < work.dim(0); ++b) {
    const Matrix r = matrix_of(work, b);
    const Matrix q = matrix_of(turned, b);  // transposed
    set_identity(q);
    for (std::int64_t k = 0; k < std::min(r.rows, r.columns); ++k) {
      if (!reflection_of(r, k, v)) continue;
      reflect(r, v, k, k);
      reflect(q, v, k, 0);
      for (std::int64_t i = k + 1; i < r.rows; ++i) r(i, k) = 0.0;
    }
  }
  return {turned.transpose(1, 2).slice(2, 0, inner).contiguous(),
          work.slice(1, 0, inner).contiguous()};
}

std::vector<Array> eigen_of_symmetric(const Array& a) {
  const std::int64_t n = a.dim(1);
  Array work = a.clone();
  Array values = Array::empty(Shape{a.dim(0), n}, DType::kF64);
  Array vectors = Array::empty(a.shape(), DType::kF64);
  for (std::int64_t b = 0; b < work.dim(0); ++b) {
    const Matrix matrix = matrix_of(work, b);
    const Matrix columns = matrix_of(vectors, b);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = i + 1; j < n; ++j) matrix(i, j) = matrix(j, i);
    }
    set_identity(columns);
    for (int sweep = 0; sweep < kSweepsMax && sweep_symmetric(matrix, columns); ++sweep) {
    }
    std::vector<double> found;
    for (std::int64_t i = 0; i < n; ++i) found.push_back(matrix(i, i));
    const std::vector<std::int64_t> order = order_of(found, false);
    reorder_columns(columns, order);
    for (std::int64_t i = 0; i < n; ++i) {
      values.data<double>()[b * n + i] =
          found[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
    }
  }
  return {values, vectors};
}

std::vector<Array> singular_values_of(const Array& a) {
  const std::int64_t n = a.dim(2);
  Array left = a.clone();
  Array values = Array::empty(Shape{a.dim(0), n}, DType::kF64);
  Array right = Array::empty(Shape{a.dim(0), n, n}, DType::kF64);
  for (std::int64_t b = 0; b < left.dim(0); ++b) {
    const Matrix u = matrix_of(left, b);
    const Matrix v = matrix_of(right, b);
    set_identity(v);
    for (int sweep = 0; sweep < kSweepsMax && sweep_columns(u, v); ++sweep) {
    }
    std::vector<double> lengths;
    for (std::int64_t j = 0; j < n; ++j) {
      double square = 0.0;
      for (std::int64_t i = 0; i < u.rows; ++i) square += u(i, j) * u(i, j);
      lengths.push_back(std::sqrt(square));
      for (std::int64_t i = 0; lengths.back() > 0.0 && i < u.rows; ++i) u(i, j) /= lengths.back();
    }
    const std::vector<std::int64_t> order = order_of(lengths, true);
    reorder_columns(u, order);
    reorder_columns(v, order);
    for (std::int64_t j = 0; j < n; ++j) {
      values.data<double>()[b * n + j] =
          lengths[static_cast<std::size_t>(order[static_cast<std::size_t>(j)])];
    }
  }
  return {left, values, right};
}

}  // namespace weft::python
