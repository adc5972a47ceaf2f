#include "weft/code/chunk/least_squares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>

#include "weft/base/check.h"

namespace weft {
namespace {

// What is left of a column after the columns before it have been taken out, against the column
// itself: below this it is rounding.
constexpr double kIndependentMin = 1e-13;

double norm_from(const std::vector<double>& column, std::size_t first) {
  double sum = 0;
  for (std::size_t i = first; i < column.size(); ++i) sum += column[i] * column[i];
  return std::sqrt(sum);
}

// Reflects `target` in the plane whose normal is `normal`, which has zeros before `first`.
void reflect(const std::vector<double>& normal, std::size_t first, std::vector<double>& target) {
  double dot = 0;
  double square = 0;
  for (std::size_t i = first; i < normal.size(); ++i) {
    dot += normal[i] * target[i];
    square += normal[i] * normal[i];
  }
  const double factor = 2 * dot / square;
  for (std::size_t i = first; i < normal.size(); ++i) target[i] -= factor * normal[i];
}

}  // namespace

Result<std::vector<double>> solve_least_squares(std::vector<std::vector<double>> columns,
                                                std::vector<double> right) {
  const std::size_t count = columns.size();
  WEFT_CHECK(count <= right.size());
  std::vector<double> diagonal(count);
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double>& column = columns[k];
    WEFT_CHECK(column.size() == right.size());
    const double whole = norm_from(column, 0);
    const double rest = norm_from(column, k);
    if (!(rest > kIndependentMin * whole)) {
      return unavailable(fmt::format("column {} depends on those before it", k));
    }
    diagonal[k] = column[k] > 0 ? -rest : rest;
    std::vector<double> normal = column;
    std::fill(normal.begin(), normal.begin() + static_cast<std::ptrdiff_t>(k), 0.0);
    normal[k] -= diagonal[k];
    for (std::size_t j = k + 1; j < count; ++j) reflect(normal, k, columns[j]);
    reflect(normal, k, right);
  }
  std::vector<double> solution(count);
  for (std::size_t k = count; k-- > 0;) {
    double sum = right[k];
    for (std::size_t j = k + 1; j < count; ++j) sum -= columns[j][k] * solution[j];
    solution[k] = sum / diagonal[k];
  }
  return solution;
}

}  // namespace weft
