// period: the members that have finished when a period is over.
//
// Fast members come more often than slow ones, so that the plain mean would favour their data. With
// `correct` a delta counts by the periods that it took, over all members: in the long run each
// member counts alike.
// IMPLEMENTATION: Fraboni, Vidal, Kameni and Lorenzi, "A general theory for federated optimization
// with asynchronous and heterogeneous clients updates", JMLR 2023, section 3.3 (FedFix).
#include <algorithm>
#include <cmath>
#include <map>

#include "weft/mix/trigger/mix_trigger_def.h"

namespace weft {
namespace {

constexpr Option kPeriodOptions[] = {
    {.name = "seconds",
     .fallback = 1,
     .min = 1e-6,
     .max = 1e9,
     .help = "From one combination to the next."},
    {.name = "correct",
     .fallback = 1,
     .min = 0,
     .max = 1,
     .whole = true,
     .help = "1: a delta counts by the periods since it was given its work, over all members; 0: "
             "the plain mean."},
};

class PeriodTrigger final : public MixTriggerState {
 public:
  using MixTriggerState::MixTriggerState;

  bool ready(TimePoint now) const override {
    return until_ && now >= *until_ && !arrivals().empty();
  }
  std::optional<TimePoint> deadline() const override {
    return arrivals().empty() ? std::nullopt : until_;
  }
  bool may_start(std::uint32_t member) const override { return !has_arrived(member); }
  std::uint32_t assign(std::uint32_t member, TimePoint now) override {
    assigned_[member] = now;
    return MixTriggerState::assign(member, now);
  }

 private:
  void on_begin(std::span<const std::uint32_t> /*expected*/, TimePoint now) override {
    if (!until_) until_ = now + from_seconds(option(0));
  }
  // Periods in which nobody came are passed over. What comes as a period ends is of that period.
  bool accepts(const MixArrival& /*arrival*/, TimePoint now) override {
    while (arrivals().empty() && *until_ < now) *until_ += from_seconds(option(0));
    return true;
  }
  void on_taken(TimePoint now) override {
    while (*until_ <= now) *until_ += from_seconds(option(0));
  }
  double weight(const MixArrival& arrival) const override {
    if (option(1) == 0) return 1.0 / static_cast<double>(arrivals().size());
    const auto assigned = assigned_.find(arrival.from);
    if (assigned == assigned_.end()) return 1.0 / static_cast<double>(input().members);
    // Work begins when a period does, or with the run.
    const double periods =
        std::max(1.0, std::round(to_seconds(*until_ - assigned->second) / option(0)));
    return periods / static_cast<double>(input().members);
  }

  std::optional<TimePoint> until_;
  // When each member was given its latest work.
  std::map<std::uint32_t, TimePoint> assigned_;
};

}  // namespace

extern const MixTriggerDef period_trigger = {
    .name = "period",
    .summary =
        "The members that have finished when a period is over, slow members by their periods "
        "(Fraboni "
        "et al. 2023, FedFix).",
    .options = kPeriodOptions,
    .make = [](MixTriggerInput input) -> std::unique_ptr<MixTriggerState> {
      return std::make_unique<PeriodTrigger>(std::move(input));
    },
};

}  // namespace weft
