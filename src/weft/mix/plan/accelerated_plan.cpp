// accelerated: gradients and exchanges at random moments, each at its own rate; nobody waits.
//
// IMPLEMENTATION: weft/mix/meet/accelerated_meeting.h.
#include <memory>

#include "weft/mix/meet/accelerated_meeting.h"
#include "weft/mix/plan/mix_plan_def.h"

namespace weft {
namespace {

constexpr Option kAcceleratedOptions[] = {
    {.name = "mu",
     .fallback = 0.1,
     .min = 1e-9,
     .max = 1e9,
     .help = "Strong convexity of every member's loss."},
    {.name = "smoothness",
     .fallback = 10,
     .min = 1e-9,
     .max = 1e9,
     .help = "The largest curvature of any member's loss."},
    {.name = "rate",
     .fallback = 1,
     .min = 1e-3,
     .max = 1e3,
     .help = "Exchanges, over the least that the graph asks for; below 1 it may diverge."},
    {.name = "reach",
     .fallback = 1,
     .min = 1,
     .max = 4096,
     .whole = true,
     .help = "Neighbours on each side of a circle; 1: a ring."},
    {.name = "seconds",
     .fallback = 1,
     .min = 1e-6,
     .max = 1e9,
     .help = "Between two gradients of a member, on average; longer than one takes."},
};

}  // namespace

extern const MixPlanDef accelerated_plan = {
    .name = "accelerated",
    .summary =
        "Gradients and exchanges over edges have random clocks, for convex losses (Nabli and "
        "Oyallon 2023, DADAO).",
    .options = kAcceleratedOptions,
    .style = MixStyle::kPairwise,
    .takes_gradients = true,
    .meeting = [](const MixMeetingOptions& options, MixVector first,
                  std::span<const double> own) -> std::unique_ptr<MixMeeting> {
      const AcceleratedSettings settings = {.mu = own[0],
                                            .smoothness = own[1],
                                            .rate = own[2],
                                            .reach = static_cast<std::uint32_t>(own[3]),
                                            .unit_seconds = own[4]};
      return std::make_unique<AcceleratedMeeting>(options, std::move(first), settings);
    },
};

}  // namespace weft
