// Cyclic code: worker i sums the chunks i to i + s; the coefficients are orthogonal to a random
// matrix.
//
// IMPLEMENTATION: Tandon et al., 2017, section 3.2, algorithm 2: with a random s x n matrix H whose
// rows sum to 0, row i of B has B_ii = 1 and the s values after it that make H B_i = 0. So the rows
// of B span the null space of H, which contains the vector of ones. Here the rows of H are made
// orthonormal first, by which the largest coefficient of a decoder falls to about a third in the
// median, and the coefficients of a decoder are found by QR (least_squares.h), from the first n - s
// messages that came: 2 n (n - s)^2 multiplications.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "weft/base/rng.h"
#include "weft/code/chunk/chunk_sums.h"
#include "weft/code/chunk/least_squares.h"

namespace weft {
namespace {

// All members that build the code must draw the same matrix.
constexpr std::uint64_t kCyclicSeed = 2017;

class CyclicSums final : public ChunkSums {
 public:
  CyclicSums(const ChunkCodeSize& size, std::vector<std::vector<ChunkTerm>> rows)
      : ChunkSums(size, size.workers, std::move(rows)) {}

 private:
  Result<std::vector<Coefficient>> solve(const std::vector<bool>& came) const override {
    WEFT_TRY(check_missing({workers(), stragglers()}, came));
    std::vector<std::size_t> used;
    std::vector<std::vector<double>> columns;
    for (std::size_t worker = 0; worker < workers() && used.size() < workers() - stragglers();
         ++worker) {
      if (!came[worker]) continue;
      std::vector<double> column(chunks());
      for (const ChunkTerm& term : row(worker)) column[term.chunk] = term.coefficient.real();
      columns.push_back(std::move(column));
      used.push_back(worker);
    }
    WEFT_TRY_ASSIGN(const std::vector<double> solution,
                    solve_least_squares(std::move(columns), std::vector<double>(chunks(), 1.0)));
    std::vector<Coefficient> coefficients(workers());
    for (std::size_t k = 0; k < used.size(); ++k) coefficients[used[k]] = solution[k];
    return coefficients;
  }
};

void take_out(const std::vector<double>& unit, std::vector<double>& row) {
  double dot = 0;
  for (std::size_t i = 0; i < row.size(); ++i) dot += unit[i] * row[i];
  for (std::size_t i = 0; i < row.size(); ++i) row[i] -= dot * unit[i];
}

// Random rows of length 1 that are orthogonal to each other and to the vector of ones.
std::vector<std::vector<double>> orthogonal_rows(const ChunkCodeSize& size) {
  Rng rng(kCyclicSeed);
  std::vector<std::vector<double>> rows = {
      std::vector<double>(size.workers, 1 / std::sqrt(static_cast<double>(size.workers)))};
  for (std::size_t k = 0; k < size.stragglers; ++k) {
    std::vector<double> row(size.workers);
    for (double& value : row) value = rng.uniform() - 0.5;
    // Twice: the second time takes out what rounding left.
    for (int pass = 0; pass < 2; ++pass) {
      for (const std::vector<double>& before : rows) take_out(before, row);
    }
    double square = 0;
    for (const double value : row) square += value * value;
    for (double& value : row) value /= std::sqrt(square);
    rows.push_back(std::move(row));
  }
  rows.erase(rows.begin());
  return rows;
}

}  // namespace

Result<std::unique_ptr<const ChunkSums>> cyclic_sums(const ChunkCodeSize& size) {
  WEFT_TRY(check_chunk_code(size));
  if (size.stragglers > kSolvedStragglersMax) {
    return invalid_argument(fmt::format(
        "stragglers: expected at most {}, or one less than a divisor of the {} workers, got {}",
        kSolvedStragglersMax, size.workers, size.stragglers));
  }
  const std::vector<std::vector<double>> orthogonal = orthogonal_rows(size);
  const auto column_of = [&](std::size_t chunk, double sign) {
    std::vector<double> column(orthogonal.size());
    for (std::size_t k = 0; k < column.size(); ++k) column[k] = sign * orthogonal[k][chunk];
    return column;
  };
  std::vector<std::vector<ChunkTerm>> rows(size.workers);
  for (std::size_t worker = 0; worker < size.workers; ++worker) {
    rows[worker].push_back({.chunk = worker});
    std::vector<std::vector<double>> columns;
    for (std::size_t k = 1; k <= size.stragglers; ++k) {
      columns.push_back(column_of((worker + k) % size.workers, 1));
    }
    WEFT_TRY_ASSIGN(const std::vector<double> values,
                    solve_least_squares(std::move(columns), column_of(worker, -1)));
    for (std::size_t k = 1; k <= size.stragglers; ++k) {
      rows[worker].push_back({(worker + k) % size.workers, values[k - 1]});
    }
  }
  return std::unique_ptr<const ChunkSums>(std::make_unique<CyclicSums>(size, std::move(rows)));
}

}  // namespace weft
