// star: member 0 is the server and trains, too; each version goes to a drawn share of all.
//
// IMPLEMENTATION: McMahan, Moore, Ramage, Hampson and Aguera y Arcas, "Communication-efficient
// learning of deep networks from decentralized data", AISTATS 2017, algorithm 1, with its C.
#include <algorithm>

#include "weft/mix/plan/drawn_members.h"

namespace weft {
namespace {

constexpr Option kStarOptions[] = {
    {.name = "fraction",
     .fallback = 1,
     .min = 0,
     .max = 1,
     .help = "The share of all members that trains each version; at least one does."},
};

}  // namespace

extern const MixPlanDef star_plan = {
    .name = "star",
    .summary =
        "A server gives each version to members and combines what they return (McMahan et "
        "al. 2017, FedAvg).",
    .options = kStarOptions,
    .style = MixStyle::kServer,
    .trainers =
        [](const MixPlanInput& input) {
          std::vector<std::uint32_t> drawn = drawn_alive(input, input.version);
          const std::uint32_t wanted = share_of_members(input.options[0], input.members);
          drawn.resize(std::min<std::size_t>(drawn.size(), wanted));
          return drawn;
        },
};

}  // namespace weft
