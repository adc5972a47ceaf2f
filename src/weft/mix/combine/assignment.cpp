#include "weft/mix/combine/assignment.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "weft/base/check.h"

namespace weft {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

// Columns are given to rows one row after another. Costs are minus gains; the potentials keep
// reduced costs at zero or above, and at zero where a row has its column.
class Assignment {
 public:
  Assignment(std::span<const double> gain, std::size_t n)
      : gain_(gain), n_(n), of_row_(n), of_column_(n), owner_(n, kNobody), previous_(n) {}

  // A shortest path from `row` over rows and their columns to a free column, along which columns
  // change hands.
  void add(std::size_t row) {
    std::vector<double> distance(n_, kFar);
    std::vector<bool> reached(n_, false);
    std::size_t at = row;
    double so_far = 0;
    std::size_t column = kNobody;
    while (at != kNobody) {
      const std::size_t from = column;
      column = nearest(at, from, so_far, distance, reached);
      so_far = distance[column];
      reached[column] = true;
      at = owner_[column];
    }
    of_row_[row] += so_far;
    for (std::size_t j = 0; j < n_; ++j) {
      if (!reached[j]) continue;
      of_column_[j] -= so_far - distance[j];
      if (owner_[j] != kNobody) of_row_[owner_[j]] += so_far - distance[j];
    }
    for (; column != kNobody; column = previous_[column]) {
      const std::size_t before = previous_[column];
      owner_[column] = before == kNobody ? row : owner_[before];
    }
  }

  std::vector<std::size_t> columns() const {
    std::vector<std::size_t> columns(n_);
    for (std::size_t j = 0; j < n_; ++j) columns[owner_[j]] = j;
    return columns;
  }

 private:
  // Shortens the distances by way of the row `at`, which was reached over `from`.
  std::size_t nearest(std::size_t at, std::size_t from, double so_far,
                      std::vector<double>& distance, const std::vector<bool>& reached) {
    std::size_t best = kNobody;
    for (std::size_t j = 0; j < n_; ++j) {
      if (reached[j]) continue;
      const double step = so_far - gain_[at * n_ + j] - of_row_[at] - of_column_[j];
      if (step < distance[j]) {
        distance[j] = step;
        previous_[j] = from;
      }
      if (best == kNobody || distance[j] < distance[best]) best = j;
    }
    return best;
  }

  const std::span<const double> gain_;
  const std::size_t n_;
  std::vector<double> of_row_;
  std::vector<double> of_column_;
  std::vector<std::size_t> owner_;     // the row of each column
  std::vector<std::size_t> previous_;  // the column before each on the path
};

}  // namespace

std::vector<std::size_t> best_assignment(std::span<const double> gain, std::size_t n) {
  WEFT_CHECK(gain.size() == n * n);
  Assignment assignment(gain, n);
  for (std::size_t row = 0; row < n; ++row) assignment.add(row);
  return assignment.columns();
}

}  // namespace weft
