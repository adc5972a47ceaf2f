// A file NAME_aggregator.cpp defines one of these: a rule of Aggregator.
#pragma once

#include <span>
#include <string_view>

#include "weft/aggregate/aggregator.h"
#include "weft/aggregate/math/columns.h"
#include "weft/base/option.h"

namespace weft {

// The inputs of a rule in a round.
struct RuleInput {
  // The number of updates, which an earlier rule may have made.
  int inputs = 0;
  int liars = 0;
  std::uint64_t seed = 0;
  // In the order of AggregatorDef::options.
  std::span<const double> options;
};

struct AggregatorDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  // The minimum number of updates with which it tolerates this many liars, and the same as a
  // formula of f.
  int (*least)(int liars);
  std::string_view least_text;
  // The maximum number of liars with whom it is computed in time.
  int most_liars = kAggregatorMembersMax;
  std::span<const Option> options = {};
  // Replaces the updates by sums of them; null: leaves them.
  WeightMatrix (*select)(const RuleInput& input, const Distances& distances) = nullptr;
  // How many updates are left; null: as many.
  int (*rows)(const RuleInput& input) = nullptr;
  bool needs_distances = false;
  // The values of one coordinate become one. May reorder them. Null: the rule is followed by
  // another, or by the mean.
  float (*column)(const RuleInput& input, std::span<float> values) = nullptr;
  // The bits that column gives, for many coordinates in less time. Null: column for each.
  void (*columns)(const RuleInput& input, ColumnRows rows, std::span<float> out) = nullptr;
};

inline int more_than_half(int liars) { return 2 * liars + 1; }

}  // namespace weft
