// pairs: in each round some members, drawn, mix in pairs, and from a chosen round on all mix with
// all.
//
// IMPLEMENTATION: Zhu et al., "On the surprising effectiveness of a single global merging in
// decentralized learning", ICLR 2026. There each member adds a random other model to its own, which
// does not keep the mean of all; here both of a pair take the mean, which does.
#include <cmath>

#include "weft/base/rng.h"
#include "weft/mix/plan/drawn_members.h"

namespace weft {
namespace {

constexpr Option kPairsOptions[] = {
    {.name = "share",
     .fallback = 0.2,
     .min = 0,
     .max = 1,
     .help = "The share of the pairs drawn in a round that mixes."},
    {.name = "dense_from",
     .fallback = 0,
     .min = 0,
     .max = 1e9,
     .whole = true,
     .help = "The first round, from 0, in which all mix with all; 0: never."},
    {.name = "dense_rounds",
     .fallback = 0,
     .min = 0,
     .max = 1e9,
     .whole = true,
     .help = "How many such rounds there are; 0: all from then on."},
};

bool is_dense(const MixPlanInput& input) {
  const double from = input.options[1];
  const double count = input.options[2];
  const auto version = static_cast<double>(input.version);
  return from > 0 && version >= from && (count == 0 || version < from + count);
}

std::vector<std::uint32_t> partner(const MixPlanInput& input, std::uint32_t self) {
  const std::vector<std::uint32_t> order = drawn_order(input, input.version);
  Rng draws(input.seed ^ 0x70a1'25d1ULL, input.version);
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
    const bool mixes = draws.chance(input.options[0]);
    if (order[i] != self && order[i + 1] != self) continue;
    if (!mixes) return {};
    return {order[i] == self ? order[i + 1] : order[i]};
  }
  return {};
}

}  // namespace

extern const MixPlanDef pairs_plan = {
    .name = "pairs",
    .summary =
        "Drawn pairs mix in each round, and late in the run all mix with all (Zhu et al. "
        "2026, single global merging).",
    .options = kPairsOptions,
    .style = MixStyle::kNeighbours,
    .neighbours =
        [](const MixPlanInput& input, std::uint32_t self) {
          if (!is_dense(input)) return partner(input, self);
          std::vector<std::uint32_t> others;
          for (std::uint32_t i = 0; i < input.members; ++i) {
            if (i != self) others.push_back(i);
          }
          return others;
        },
};

}  // namespace weft
