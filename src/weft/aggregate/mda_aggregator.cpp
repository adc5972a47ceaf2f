// mda: the mean of the n - f updates with the smallest diameter, the largest distance between two.
//
// Which diameter suffices is found by bisection over all distances. For one diameter, a group
// exists if at most f updates cover all pairs that are farther apart: either an update is left out,
// or all that are too far from it are. A search over these choices takes at most about 1.62^f
// steps. Where several groups are as good, the one with the lowest ranks is taken.
#include <algorithm>
#include <vector>

#include "weft/aggregate/aggregator_def.h"

namespace weft {
namespace {

// So that liars who choose distances cannot make the search long.
constexpr int kMdaMembersMax = 32;

// A search for updates to leave out, so that no two of the others are farther apart than
// `diameter`, squared.
class Search {
 public:
  Search(const Distances& distances, double diameter)
      : distances_(distances),
        diameter_(diameter),
        left_out_(static_cast<std::size_t>(distances.members())) {}

  // Whether `budget` more that are left out suffice. Changes nothing.
  bool enough(int budget) {
    if (budget < 0) return false;
    const int worst = most_partners();
    const std::vector<int> partners = partners_of(worst);
    if (partners.empty()) return true;
    if (partners.size() == 1) {
      // All pairs that are left are apart from each other: one of each.
      return pairs() <= budget;
    }
    set(worst, true);
    const bool without = enough(budget - 1);
    set(worst, false);
    if (without) return true;
    for (const int partner : partners) set(partner, true);
    const bool with = enough(budget - static_cast<int>(partners.size()));
    for (const int partner : partners) set(partner, false);
    return with;
  }

  // Those that are too far from `member`, among those not left out.
  std::vector<int> partners_of(int member) const {
    std::vector<int> partners;
    if (left_out(member)) return partners;
    for (int other = 0; other < distances_.members(); ++other) {
      if (other == member || left_out(other)) continue;
      if (distances_.between(member, other) > diameter_) partners.push_back(other);
    }
    return partners;
  }
  bool left_out(int member) const { return left_out_[static_cast<std::size_t>(member)]; }
  void set(int member, bool out) { left_out_[static_cast<std::size_t>(member)] = out; }

 private:
  int most_partners() const {
    int worst = 0;
    std::size_t most = 0;
    for (int member = 0; member < distances_.members(); ++member) {
      const std::size_t count = partners_of(member).size();
      if (count > most) {
        worst = member;
        most = count;
      }
    }
    return worst;
  }
  int pairs() const {
    std::size_t ends = 0;
    for (int member = 0; member < distances_.members(); ++member) {
      ends += partners_of(member).size();
    }
    return static_cast<int>(ends / 2);
  }

  const Distances& distances_;
  double diameter_;
  std::vector<bool> left_out_;
};

// The smallest squared diameter of a group of all updates but `liars`.
double smallest_diameter(const Distances& distances, int liars) {
  std::vector<double> diameters = {0};
  for (int a = 0; a < distances.members(); ++a) {
    for (int b = 0; b < a; ++b) diameters.push_back(distances.between(a, b));
  }
  std::ranges::sort(diameters);
  return *std::ranges::partition_point(
      diameters, [&](double diameter) { return !Search(distances, diameter).enough(liars); });
}

WeightMatrix mda_select(const RuleInput& input, const Distances& distances) {
  Search search(distances, smallest_diameter(distances, input.liars));
  // Each in turn is taken if the rest can still be chosen with it: its partners are left out then.
  int budget = input.liars;
  std::vector<int> group;
  const int wanted = input.inputs - input.liars;
  for (int member = 0; member < input.inputs && static_cast<int>(group.size()) < wanted; ++member) {
    if (search.left_out(member)) continue;
    const std::vector<int> partners = search.partners_of(member);
    for (const int partner : partners) search.set(partner, true);
    const int left = budget - static_cast<int>(partners.size());
    if (search.enough(left)) {
      budget = left;
      group.push_back(member);
    } else {
      for (const int partner : partners) search.set(partner, false);
      search.set(member, true);
      --budget;
    }
  }
  WeightMatrix weights(1, input.inputs);
  for (const int member : group) weights.at(0, member) = 1.0 / static_cast<double>(group.size());
  return weights;
}

}  // namespace

extern const AggregatorDef mda_aggregator = {
    .name = "mda",
    .summary =
        "The mean of the n - f updates whose largest distance from each other is smallest "
        "(El Mhamdi et al. 2018); for up to 32 members.",
    .least = more_than_half,
    .least_text = "2 f + 1",
    .most = kMdaMembersMax,
    .select = mda_select,
    .rows = [](const RuleInput& /*input*/) { return 1; },
    .needs_distances = true,
};

}  // namespace weft
