// groups: members get as many local steps as let them come back together.
//
// A member that has been measured joins the group that leaves it most steps, between the least and
// the most, or begins one. A group is combined when all of it are there, or when its latest time
// has come; one of it that is later still goes along with the next group. A member's first work is
// the least, and counts by itself. IMPLEMENTATION: Li, Chaturvedi, He, Chen, Ravikumar and Kim,
// "FedCompass: efficient cross-silo federated learning on heterogeneous client devices using a
// computing power-aware scheduler", ICLR 2024, algorithms 1 and 2. A delta counts alpha (1 +
// staleness)^-1/2 / members.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "weft/mix/trigger/mix_trigger_def.h"

namespace weft {
namespace {

constexpr Option kGroupsOptions[] = {
    {.name = "least",
     .fallback = 20,
     .min = 1,
     .max = 1e6,
     .whole = true,
     .help = "Local steps that a member takes at least."},
    {.name = "most",
     .fallback = 100,
     .min = 1,
     .max = 1e6,
     .whole = true,
     .help = "Local steps that a member takes at most; never fewer than `least`."},
    {.name = "latest",
     .fallback = 1.5,
     .min = 1,
     .max = 100,
     .help = "A group is waited for until this many times the time that was planned for it."},
    {.name = "alpha", .fallback = 0.9, .min = 0, .max = 1, .help = "alpha of a delta's weight."},
};
// The share of a new measurement in the seconds a step of a member.
constexpr double kNewShare = 0.9;

class GroupsTrigger final : public MixTriggerState {
 public:
  using MixTriggerState::MixTriggerState;

  bool ready(TimePoint now) const override {
    return std::ranges::any_of(arrivals(), [&](const MixArrival& each) { return goes(each, now); });
  }
  std::optional<TimePoint> deadline() const override {
    std::optional<TimePoint> first;
    for (const MixArrival& each : arrivals()) {
      const auto group = groups_.find(group_of(each.from));
      if (group == groups_.end()) continue;
      first = std::min(first.value_or(group->second.latest), group->second.latest);
    }
    return first;
  }
  bool may_start(std::uint32_t member) const override { return !has_arrived(member); }
  // The fastest first, so that groups are planned by them.
  double priority(std::uint32_t member) const override {
    const auto measured = seconds_a_step_.find(member);
    return measured == seconds_a_step_.end() ? 0.0 : measured->second;
  }
  std::uint32_t assign(std::uint32_t member, TimePoint now) override {
    assigned_[member] = {now, kNone};
    const auto measured = seconds_a_step_.find(member);
    if (measured == seconds_a_step_.end()) return steps_least();
    drop_old_groups(now);
    if (const auto joined = join(member, measured->second, now)) return *joined;
    return begin_group(member, measured->second, now);
  }

 private:
  static constexpr std::uint64_t kNone = 0;
  struct Group {
    std::set<std::uint32_t> waited_for;
    TimePoint planned;
    TimePoint latest;
    double fastest = 0;  // seconds a step
  };
  struct Assigned {
    TimePoint at;
    std::uint64_t group = kNone;
  };

  std::uint32_t steps_least() const { return static_cast<std::uint32_t>(option(0)); }
  double steps_most() const { return std::max(option(0), option(1)); }
  std::uint64_t group_of(std::uint32_t member) const {
    const auto found = assigned_.find(member);
    return found == assigned_.end() ? kNone : found->second.group;
  }

  std::optional<std::uint32_t> join(std::uint32_t member, double seconds, TimePoint now) {
    double most = 0;
    std::uint64_t best = kNone;
    for (const auto& [id, group] : groups_) {
      if (group.planned <= now) continue;
      const double steps = std::floor(to_seconds(group.planned - now) / seconds);
      if (steps < option(0) || steps > steps_most() || steps <= most) continue;
      most = steps;
      best = id;
    }
    if (best == kNone) return std::nullopt;
    Group& group = groups_[best];
    group.waited_for.insert(member);
    group.fastest = std::min(group.fastest, seconds);
    assigned_[member].group = best;
    return static_cast<std::uint32_t>(most);
  }
  // With the steps after which the members of another group will be back from their next work.
  std::uint32_t begin_group(std::uint32_t member, double seconds, TimePoint now) {
    double steps = 0;
    for (const auto& [id, group] : groups_) {
      if (group.latest <= now) continue;
      const double until = to_seconds(group.latest - now) + steps_most() * group.fastest;
      steps = std::max(steps, std::floor(until / seconds));
    }
    if (groups_.empty()) steps = steps_most();
    steps = std::clamp(steps, option(0), steps_most());
    Group group{{member},
                now + from_seconds(steps * seconds),
                now + from_seconds(option(2) * steps * seconds),
                seconds};
    groups_.emplace(++last_group_, std::move(group));
    assigned_[member].group = last_group_;
    return static_cast<std::uint32_t>(steps);
  }
  void drop_old_groups(TimePoint now) {
    std::erase_if(groups_, [&](const auto& each) {
      return each.second.waited_for.empty() || each.second.latest <= now;
    });
  }

  bool accepts(const MixArrival& arrival, TimePoint now) override {
    const auto assigned = assigned_.find(arrival.from);
    if (assigned == assigned_.end() || has_arrived(arrival.from)) return false;
    const double measured = to_seconds(now - assigned->second.at) / std::max(1U, arrival.steps);
    const auto [kept, is_new] = seconds_a_step_.try_emplace(arrival.from, measured);
    if (!is_new) kept->second = kNewShare * measured + (1 - kNewShare) * kept->second;
    const auto group = groups_.find(assigned->second.group);
    if (group != groups_.end()) group->second.waited_for.erase(arrival.from);
    return true;
  }
  void on_lost(std::uint32_t member, TimePoint /*now*/) override {
    const auto group = groups_.find(group_of(member));
    if (group != groups_.end()) group->second.waited_for.erase(member);
  }
  // Whether it goes into a combination that is made now: alone, late, or with its whole group.
  bool goes(const MixArrival& arrival, TimePoint now) const {
    const auto group = groups_.find(group_of(arrival.from));
    return group == groups_.end() || group->second.waited_for.empty() ||
           now >= group->second.latest;
  }
  bool takes(const MixArrival& arrival, TimePoint now) const override { return goes(arrival, now); }
  double weight(const MixArrival& arrival) const override {
    const auto stale = static_cast<double>(version() - arrival.base);
    return option(3) / std::sqrt(1 + stale) / static_cast<double>(input().members);
  }

  std::map<std::uint32_t, double> seconds_a_step_;
  std::map<std::uint32_t, Assigned> assigned_;
  std::map<std::uint64_t, Group> groups_;
  std::uint64_t last_group_ = kNone;
};

}  // namespace

extern const MixTriggerDef groups_trigger = {
    .name = "groups",
    .summary =
        "Members take as many steps as let them come back together (Li et al. 2024, "
        "FedCompass).",
    .options = kGroupsOptions,
    .make = [](MixTriggerInput input) -> std::unique_ptr<MixTriggerState> {
      return std::make_unique<GroupsTrigger>(std::move(input));
    },
};

}  // namespace weft
