// What a file NAME_aggregator.cpp defines: one rule of Aggregator.
#pragma once

#include <span>
#include <string_view>

#include "weft/aggregate/aggregator.h"
#include "weft/base/option.h"

namespace weft {

// What a rule is given of its round.
struct RuleInput {
  // The number of updates; those that a rule before it made, if there is one.
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
  // The fewest updates with which it holds against so many liars, and as a formula of f.
  int (*least)(int liars);
  std::string_view least_text;
  std::span<const Option> options = {};
  // Replaces the updates by sums of them; null: leaves them.
  WeightMatrix (*select)(const RuleInput& input, const Distances& distances) = nullptr;
  // How many updates are left; null: as many.
  int (*rows)(const RuleInput& input) = nullptr;
  bool needs_distances = false;
  // The values of one coordinate become one. May reorder them. Null: the rule is followed by
  // another, or by the mean.
  float (*column)(const RuleInput& input, std::span<float> values) = nullptr;
};

inline int more_than_half(int liars) { return 2 * liars + 1; }

}  // namespace weft
