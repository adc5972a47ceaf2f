// pairwise: after each piece of work a member averages with one other, drawn; nobody waits.
//
// IMPLEMENTATION: weft/mix/meet/average_meeting.h.
#include <memory>
#include <optional>

#include "weft/base/rng.h"
#include "weft/mix/meet/average_meeting.h"
#include "weft/mix/plan/mix_plan_def.h"

namespace weft {
namespace {

constexpr Option kPairwiseOptions[] = {
    {.name = "ring",
     .fallback = 0,
     .min = 0,
     .max = 1,
     .whole = true,
     .help = "1: only with the two neighbours in a ring; 0: with any member."},
};

std::optional<std::uint32_t> drawn_partner(const MixMeetingOptions& options, bool ring,
                                           std::uint64_t version) {
  const std::uint32_t n = options.members;
  const std::uint32_t self = options.self;
  if (n < 2) return std::nullopt;
  Rng draws(options.seed ^ (std::uint64_t{self} << 32U), version);
  if (ring) return (self + (draws.chance(0.5) ? 1 : n - 1)) % n;
  const auto other = static_cast<std::uint32_t>(draws.below(n - 1));
  return other < self ? other : other + 1;
}

}  // namespace

extern const MixPlanDef pairwise_plan = {
    .name = "pairwise",
    .summary =
        "Each averages with another that is drawn after each piece of work (Lian et al. "
        "2018, AD-PSGD).",
    .options = kPairwiseOptions,
    .style = MixStyle::kPairwise,
    .meeting = [](const MixMeetingOptions& options, MixVector first,
                  std::span<const double> own) -> std::unique_ptr<MixMeeting> {
      const auto partner = [options, ring = own[0] != 0](std::uint64_t version) {
        return drawn_partner(options, ring, version);
      };
      return std::make_unique<AverageMeeting>(options, std::move(first), partner);
    },
};

}  // namespace weft
