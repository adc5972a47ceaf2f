// round: one version's members, all of them or enough, and then the mean of those that came.
//
// What comes later belongs to a version that is over and does not count: with `part` below 1 these
// are backup workers. IMPLEMENTATION: Chen, Pan, Monga, Bengio and Jozefowicz, "Revisiting
// distributed synchronous SGD", 2016, section 3 (backup workers); de Vos et al., "MoDeST", 2023
// (part and timeout); Lin, Stich, Patel and Jaggi, "Don't use large mini-batches, use local SGD",
// ICLR 2020, post-local SGD (single_until).
#include <algorithm>
#include <cmath>
#include <set>

#include "weft/mix/trigger/mix_trigger_def.h"

namespace weft {
namespace {

constexpr Option kRoundOptions[] = {
    {.name = "part",
     .fallback = 1,
     .min = 0,
     .max = 1,
     .help = "The share of the version's members that is waited for; rounded down, at least one."},
    {.name = "timeout",
     .fallback = 0,
     .min = 0,
     .max = 1e9,
     .help = "Seconds after which those that came are enough; 0: none."},
    {.name = "single_until",
     .fallback = 0,
     .min = 0,
     .max = 1e9,
     .whole = true,
     .help = "Before this version members take one local step; 0: as many as usual."},
    {.name = "delay",
     .fallback = 0,
     .min = 0,
     .max = 1,
     .whole = true,
     .help = "1: neighbours work on the next round while the models of this one are on their way."},
};

std::uint32_t round_steps(std::span<const double> options, std::uint64_t version,
                          std::uint32_t steps) {
  return static_cast<double>(version) < options[2] ? 1 : steps;
}

class RoundTrigger final : public MixTriggerState {
 public:
  using MixTriggerState::MixTriggerState;

  bool ready(TimePoint now) const override {
    if (arrivals().empty()) return false;
    return arrivals().size() >= wanted() || (until_ && now >= *until_);
  }
  std::optional<TimePoint> deadline() const override {
    return arrivals().empty() ? std::nullopt : until_;
  }
  void expect(std::uint32_t member) override { expected_.insert(member); }
  bool may_start(std::uint32_t member) const override { return to_start_.contains(member); }
  std::uint32_t assign(std::uint32_t member, TimePoint now) override {
    to_start_.erase(member);
    return round_steps(input().options, version(), MixTriggerState::assign(member, now));
  }

 private:
  void on_begin(std::span<const std::uint32_t> expected, TimePoint now) override {
    expected_ = {expected.begin(), expected.end()};
    to_start_ = expected_;
    planned_ = expected_.size();
    until_.reset();
    if (option(1) > 0) until_ = now + from_seconds(option(1));
  }
  bool accepts(const MixArrival& arrival, TimePoint /*now*/) override {
    return arrival.base == version() && expected_.contains(arrival.from) &&
           !has_arrived(arrival.from);
  }
  void on_lost(std::uint32_t member, TimePoint /*now*/) override {
    if (!has_arrived(member)) expected_.erase(member);
    to_start_.erase(member);
  }
  double weight(const MixArrival& /*arrival*/) const override {
    return 1.0 / static_cast<double>(arrivals().size());
  }

  std::size_t wanted() const {
    const auto part = static_cast<std::size_t>(option(0) * static_cast<double>(planned_));
    return std::min(std::max<std::size_t>(1, part), expected_.size());
  }

  // Those of the version's members that have come or may still come.
  std::set<std::uint32_t> expected_;
  std::set<std::uint32_t> to_start_;
  std::size_t planned_ = 0;
  std::optional<TimePoint> until_;
};

}  // namespace

extern const MixTriggerDef round_trigger = {
    .name = "round",
    .summary = "The version's members, or enough of them (Chen et al. 2016, backup workers).",
    .options = kRoundOptions,
    .is_round = true,
    .steps = round_steps,
    .delay = [](std::span<const double> options) { return static_cast<std::uint64_t>(options[3]); },
    .has_timeout = [](std::span<const double> options) { return options[1] > 0; },
    .make = [](MixTriggerInput input) -> std::unique_ptr<MixTriggerState> {
      return std::make_unique<RoundTrigger>(std::move(input));
    },
};

}  // namespace weft
