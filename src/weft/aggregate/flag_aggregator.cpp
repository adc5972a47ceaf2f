// flag: the mean of the updates' directions within the subspace that most of them lie nearly in,
// as long as the median update.
//
// The subspace Y of `rank` dimensions makes the sum of the sines of the angles between the updates
// and Y small, by least squares that are weighted anew in each step. It is a span of the updates,
// so the table of distances is all that this takes: with the Gram matrix G of the directions and
// the weights W, the eigenvectors of W G W are Y in terms of the updates.
//
// The paper's result has no length of its own: it is the sum of the directions' projections,
// divided by the rank. Here it is their mean, times the median length, so that a learning rate
// keeps its meaning. The first step weighs all alike, where published code draws a subspace. The
// paper's term for pairs of updates is left out, as it is by default in that code. Updates out of
// reach (Distances::within_reach) and those that are zero have no direction and are left out. Each
// step takes about 60 n^3 operations.
#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/aggregate/aggregator_def.h"
#include "weft/aggregate/math/symmetric_eigen.h"

namespace weft {
namespace {

constexpr Option kFlagOptions[] = {
    {.name = "rank",
     .max = kAggregatorMembersMax,
     .whole = true,
     .help = "Dimensions of the subspace; 0: half the number of updates, rounded up."},
    {.name = "rounds",
     .fallback = 5,
     .min = 1,
     .max = 100,
     .whole = true,
     .help = "Steps at most; it ends where one gains nothing."},
};
// What a squared sine counts as at least, so that no weight is infinite.
constexpr double kSineMin = 1e-7;
constexpr double kGainMin = 1e-10;
// The share of the largest eigenvalue below which directions are rounding.
constexpr double kEigenvalueMin = 1e-12;

// The directions of those updates that have one.
struct Directions {
  std::vector<int> members;
  std::vector<double> lengths;
  // Inner products, by row.
  std::vector<double> gram;

  std::size_t size() const { return members.size(); }
};

Directions directions_of(const Distances& distances) {
  Directions result;
  const std::vector<double> within = distances.within_reach();
  for (int i = 0; i < distances.members(); ++i) {
    const double norm = distances.norm(i);
    if (within[static_cast<std::size_t>(i)] == 0 || !(norm > 0) || !std::isfinite(norm)) continue;
    result.members.push_back(i);
    result.lengths.push_back(std::sqrt(norm));
  }
  for (std::size_t a = 0; a < result.size(); ++a) {
    for (std::size_t b = 0; b < result.size(); ++b) {
      const double both = distances.norm(result.members[a]) + distances.norm(result.members[b]) -
                          distances.between(result.members[a], result.members[b]);
      result.gram.push_back(both / 2 / (result.lengths[a] * result.lengths[b]));
    }
  }
  return result;
}

// A subspace in terms of the directions u: the basis is y_k = sum of basis[k][i] u_i.
struct Subspace {
  std::vector<std::vector<double>> basis;
  // along[k][i] is the inner product of y_k and u_i.
  std::vector<std::vector<double>> along;
  // sines[i] is the square of the sine of the angle between u_i and the subspace.
  std::vector<double> sines;

  double loss() const {
    double sum = 0;
    for (const double sine : sines) sum += std::sqrt(sine);
    return sum;
  }
};

// The best one of `rank` dimensions for squares with these weights.
Subspace fit(const Directions& directions, const std::vector<double>& weights, int rank) {
  const std::size_t size = directions.size();
  std::vector<double> weighted = directions.gram;
  for (std::size_t a = 0; a < size; ++a) {
    for (std::size_t b = 0; b < size; ++b) weighted[a * size + b] *= weights[a] * weights[b];
  }
  const SymmetricEigen eigen = symmetric_eigen(std::move(weighted), static_cast<int>(size));
  Subspace result;
  std::vector<double> squares(size);
  for (std::size_t k = 0; k < std::min(size, static_cast<std::size_t>(rank)); ++k) {
    if (!(eigen.values[k] > kEigenvalueMin * eigen.values[0])) break;
    std::vector<double> basis(size);
    std::vector<double> along(size);
    for (std::size_t i = 0; i < size; ++i) {
      basis[i] = weights[i] * eigen.vectors[k * size + i] / std::sqrt(eigen.values[k]);
    }
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) along[i] += basis[j] * directions.gram[j * size + i];
      squares[i] += along[i] * along[i];
    }
    result.basis.push_back(std::move(basis));
    result.along.push_back(std::move(along));
  }
  for (const double square : squares) result.sines.push_back(std::max(1 - square, 0.0));
  return result;
}

Subspace flag_subspace(const Directions& directions, const RuleInput& input) {
  const int rank =
      input.options[0] > 0 ? static_cast<int>(input.options[0]) : (input.inputs + 1) / 2;
  std::vector<double> weights(directions.size(), 1.0);
  Subspace best = fit(directions, weights, rank);
  for (int round = 1; round < static_cast<int>(input.options[1]); ++round) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      weights[i] = 1 / std::sqrt(std::sqrt(best.sines[i] + kSineMin));
    }
    Subspace next = fit(directions, weights, rank);
    if (!(next.loss() < best.loss() - kGainMin)) break;
    best = std::move(next);
  }
  return best;
}

double median_length(const Distances& distances) {
  std::vector<double> norms;
  norms.reserve(static_cast<std::size_t>(distances.members()));
  for (int i = 0; i < distances.members(); ++i) norms.push_back(distances.norm(i));
  std::ranges::sort(norms);
  return std::sqrt(norms[(norms.size() - 1) / 2]);
}

WeightMatrix flag_select(const RuleInput& input, const Distances& distances) {
  WeightMatrix weights(1, input.inputs);
  const Directions directions = directions_of(distances);
  const std::size_t size = directions.size();
  if (size == 0) return weights;
  const Subspace subspace = flag_subspace(directions, input);
  const double scale = median_length(distances) / static_cast<double>(size);
  for (std::size_t k = 0; k < subspace.basis.size(); ++k) {
    double sum = 0;
    for (const double along : subspace.along[k]) sum += along;
    for (std::size_t i = 0; i < size; ++i) {
      weights.at(0, directions.members[i]) +=
          scale * sum * subspace.basis[k][i] / directions.lengths[i];
    }
  }
  return weights;
}

}  // namespace

extern const AggregatorDef flag_aggregator = {
    .name = "flag",
    .summary =
        "The mean of the directions in the subspace that most of the updates lie nearly in, "
        "as long as the median update (Almasi et al. 2024).",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .options = kFlagOptions,
    .select = flag_select,
    .rows = [](const RuleInput& /*input*/) { return 1; },
    .needs_distances = true,
};

}  // namespace weft
