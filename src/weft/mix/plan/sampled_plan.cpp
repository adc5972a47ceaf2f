// sampled: each version has members of its own, drawn by all alike, and no fixed server.
//
// IMPLEMENTATION: de Vos, Dhasade, Kermarrec, Lavoie and Pouwelse, "MoDeST: bridging the gap
// between federated and decentralized learning with decentralized sampling", 2023, section 3.
// Members are drawn with the run's seed instead of by the hash of ids that members choose
// themselves, so that nobody can choose the versions in which he is drawn.
#include <algorithm>

#include "weft/mix/plan/drawn_members.h"

namespace weft {
namespace {

constexpr Option kSampledOptions[] = {
    {.name = "size",
     .fallback = 10,
     .min = 1,
     .max = 4096,
     .whole = true,
     .help = "Members that train each version."},
};

std::vector<std::uint32_t> sample(const MixPlanInput& input, std::size_t times) {
  std::vector<std::uint32_t> drawn = drawn_alive(input, input.version);
  drawn.resize(std::min(drawn.size(), times * static_cast<std::size_t>(input.options[0])));
  return drawn;
}

}  // namespace

extern const MixPlanDef sampled_plan = {
    .name = "sampled",
    .summary =
        "Each version is trained by members that all draw alike, and one of the next "
        "version's members combines their models (de Vos et al. 2023, MoDeST).",
    .options = kSampledOptions,
    .style = MixStyle::kSampled,
    .trainers = [](const MixPlanInput& input) { return sample(input, 1); },
    .stand_ins = [](const MixPlanInput& input) { return sample(input, 2); },
    .combiner =
        [](const MixPlanInput& input) { return drawn_alive(input, input.version + 1).front(); },
};

}  // namespace weft
