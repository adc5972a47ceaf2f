#include "weft/code/blocks/liar_search.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "weft/base/portable_math.h"

namespace weft {
namespace {

// Values beyond this are lies, so that no square of one is infinite.
constexpr double kAnswerMax = 1e100;
// What rounding leaves, against the largest answer.
constexpr double kRounding = 1e-12;

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The high coefficients of the answers, what of them a set of columns explains, and the rest.
class HighCoefficients {
 public:
  explicit HighCoefficients(const LiarQuery& query, const std::vector<bool>& read)
      : workers_(read.size()), rest_(query.values) {
    const std::size_t first = (workers_ + 1) / 2;
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      Vector& column = columns_.emplace_back();
      for (std::size_t k = first; k < workers_; ++k) column.push_back(entry(worker, k));
    }
    for (std::size_t value = 0; value < query.values; ++value) {
      Vector& sum = rest_[value];
      sum.assign(rows(), 0.0);
      for (std::size_t worker = 0; worker < workers_; ++worker) {
        if (!read[worker]) continue;
        const double answer = query.answers[worker * query.values + value];
        for (std::size_t k = 0; k < rows(); ++k) sum[k] += answer * columns_[worker][k];
      }
    }
  }

  std::size_t rows() const { return workers_ / 2; }

  // Takes the column of a worker, and what it explains, out of the rest.
  void take(std::size_t worker) {
    Vector unit = columns_[worker];
    // Twice: the second time takes out what rounding left.
    for (int pass = 0; pass < 2; ++pass) {
      for (const Vector& before : basis_) take_out(before, unit);
    }
    const double length = std::sqrt(dot(unit, unit));
    if (!(length > kRounding)) return;
    for (double& value : unit) value /= length;
    for (Vector& rest : rest_) take_out(unit, rest);
    basis_.push_back(std::move(unit));
  }

  // Root mean square of the rest.
  double energy() const {
    double sum = 0;
    for (const Vector& rest : rest_) sum += dot(rest, rest);
    return std::sqrt(sum / static_cast<double>(rows() * rest_.size()));
  }

  // How much of the rest the column of a worker explains.
  double gain(std::size_t worker) const {
    Vector column = columns_[worker];
    for (const Vector& before : basis_) take_out(before, column);
    const double square = dot(column, column);
    if (!(square > kRounding * kRounding)) return 0;
    double sum = 0;
    for (const Vector& rest : rest_) sum += dot(column, rest) * dot(column, rest);
    return sum / square;
  }

 private:
  double entry(std::size_t worker, std::size_t k) const {
    const auto size = static_cast<double>(workers_);
    // The angle without its full turns.
    const std::size_t turn = (2 * worker + 1) * k % (4 * workers_);
    const double angle = std::numbers::pi * static_cast<double>(turn) / (2 * size);
    return std::sqrt(2 / size) * portable_cos(angle);
  }

  static void take_out(const Vector& unit, Vector& from) {
    const double share = dot(unit, from);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] -= share * unit[i];
  }

  std::size_t workers_;
  std::vector<Vector> columns_;
  std::vector<Vector> basis_;
  // One per value of an answer.
  std::vector<Vector> rest_;
};

// An answer's root mean square; negative if it has a value that cannot be one.
double size_of(std::span<const double> answer) {
  double sum = 0;
  for (const double value : answer) {
    if (!(std::abs(value) <= kAnswerMax)) return -1;
    sum += value * value;
  }
  return std::sqrt(sum / static_cast<double>(answer.size()));
}

// The worker, of those that were read, whose column explains most of what is left.
std::size_t nearest(const HighCoefficients& high, const std::vector<bool>& read) {
  std::size_t best = 0;
  double gain = -1;
  for (std::size_t worker = 0; worker < read.size(); ++worker) {
    const double own = read[worker] ? high.gain(worker) : -1;
    if (own > gain) {
      gain = own;
      best = worker;
    }
  }
  return best;
}

// Those of `suspects` without whom what is left would not be below the limit.
std::vector<std::size_t> needed(const HighCoefficients& honest, std::vector<std::size_t> suspects,
                                double limit) {
  for (std::size_t k = 0; k < suspects.size();) {
    HighCoefficients without = honest;
    for (std::size_t i = 0; i < suspects.size(); ++i) {
      if (i != k) without.take(suspects[i]);
    }
    if (without.energy() <= limit) {
      suspects.erase(suspects.begin() + static_cast<std::ptrdiff_t>(k));
      k = 0;
    } else {
      ++k;
    }
  }
  return suspects;
}

// What can be said of the answers before their transform.
struct ReadAnswers {
  // Those that are finite.
  std::vector<bool> read;
  std::vector<std::size_t> liars;
  // The energy up to which there is no lie.
  double limit = 0;
};

ReadAnswers read_answers(const LiarQuery& query) {
  ReadAnswers found = {query.answered, {}, 0};
  Vector sizes;
  for (std::size_t worker = 0; worker < found.read.size(); ++worker) {
    if (!found.read[worker]) continue;
    const double size = size_of(query.answers.subspan(worker * query.values, query.values));
    if (size < 0) {
      found.read[worker] = false;
      found.liars.push_back(worker);
    } else {
      sizes.push_back(size);
    }
  }
  if (sizes.empty()) return found;
  std::sort(sizes.begin(), sizes.end());
  found.limit = query.threshold * sizes[sizes.size() / 2] + kRounding * sizes.back();
  return found;
}

}  // namespace

Result<std::vector<std::size_t>> locate_liars(const LiarQuery& query) {
  ReadAnswers found = read_answers(query);
  const auto missing =
      static_cast<std::size_t>(std::count(found.read.begin(), found.read.end(), false));
  HighCoefficients high(query, found.read);
  if (high.rows() < missing + 2) {
    return unavailable(fmt::format("liars: expected at least {} usable answers of {}, got {}",
                                   found.read.size() + 2 - std::min(high.rows(), found.read.size()),
                                   found.read.size(), found.read.size() - missing));
  }
  for (std::size_t worker = 0; worker < found.read.size(); ++worker) {
    if (!found.read[worker]) high.take(worker);
  }
  const HighCoefficients honest = high;
  // More than may be liars: the nearest column is not always a liar's.
  const std::size_t most = (high.rows() - missing) / 2;
  std::vector<std::size_t> suspects;
  while (high.energy() > found.limit && suspects.size() < most) {
    suspects.push_back(nearest(high, found.read));
    high.take(suspects.back());
  }
  if (high.energy() <= found.limit) {
    for (const std::size_t liar : needed(honest, std::move(suspects), found.limit)) {
      found.liars.push_back(liar);
    }
  }
  if (high.energy() > found.limit || found.liars.size() > query.liars_max) {
    return unavailable(
        fmt::format("liars: more than {} of {} answers are wrong, or the function is not smooth: "
                    "energy {:.2e}, expected at most {:.2e}",
                    query.liars_max, found.read.size(), honest.energy(), found.limit));
  }
  std::sort(found.liars.begin(), found.liars.end());
  return std::move(found.liars);
}

}  // namespace weft
