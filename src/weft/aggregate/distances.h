// Distances: the squared distance between any two members' updates, and from each to the origin.
//
// They are all that a rule needs to know about whole updates: nearest neighbours, norms, and with
// of() the same for weighted sums of updates. Sums over the elements, so each owner of a chunk
// measures its own, and the tables are added. Differences are taken directly, so that updates that
// are nearly equal keep their digits, and summed in one order, so that all processors get the same
// bits: in f32 for runs of 256 elements, and these in f64, with a relative error of at most 2e-6.
// An update with a NaN or an infinity is infinitely far from everything, including itself. Threads:
// a value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/aggregate/weight_matrix.h"

namespace weft {

class Distances {
 public:
  // All are 0.
  explicit Distances(int members);

  int members() const { return members_; }
  // Adds the distances in some elements: inputs[r] has the values of member r. REQUIRES: one input
  // per member, all of equal length.
  void measure(std::span<const std::span<const float>> inputs);
  // REQUIRES: of as many members.
  void add(const Distances& other);

  // Both squared; infinity where an update is not finite.
  double between(int a, int b) const;
  double norm(int member) const { return between(member, members_); }

  // The squared distances from one weighted sum of the updates to each of them. Updates that are
  // not finite are infinitely far; the sum must leave them out. REQUIRES: one coefficient per
  // member.
  std::vector<double> from_sum(std::span<const double> coefficients) const;
  // 1 for each update, 0 for those that are not finite, or so much longer than the median one that
  // double cannot hold the distances of both. For rules that go to a point step by step.
  std::vector<double> within_reach() const;

  // Those of the sums that the rows of `weights` are. REQUIRES: weights.inputs() == members().
  Distances of(const WeightMatrix& weights) const;

  // As they travel: one for each pair of members and for each member's norm.
  std::span<double> values() { return values_; }
  std::span<const double> values() const { return values_; }

 private:
  // The origin is point number `members_`. REQUIRES: a != b.
  std::size_t index(int a, int b) const;
  double of_sum(std::span<const double> coefficients) const;

  int members_;
  std::vector<double> values_;
};

}  // namespace weft
