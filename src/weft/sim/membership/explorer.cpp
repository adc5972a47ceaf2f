#include "weft/sim/membership/explorer.h"

#include <set>

#include "weft/base/check.h"

namespace weft {
namespace {

// The hashes of the worlds that were seen: open addressing, 8 bytes each, at most 2/3 full.
class SeenWorlds {
 public:
  SeenWorlds() : slots_(1U << 16U) {}

  // False if it is in already.
  bool add(std::uint64_t key) {
    if (key == 0) key = 1;
    if (3 * (count_ + 1) > 2 * slots_.size()) grow();
    if (!place(key)) return false;
    ++count_;
    return true;
  }
  std::uint64_t count() const { return count_; }

 private:
  bool place(std::uint64_t key) {
    std::size_t i = key & (slots_.size() - 1);
    while (slots_[i] != 0) {
      if (slots_[i] == key) return false;
      i = (i + 1) & (slots_.size() - 1);
    }
    slots_[i] = key;
    return true;
  }
  void grow() {
    std::vector<std::uint64_t> before(slots_.size() * 2);
    before.swap(slots_);
    for (const std::uint64_t key : before) {
      if (key != 0) place(key);
    }
  }

  std::vector<std::uint64_t> slots_;
  std::uint64_t count_ = 0;
};

std::uint64_t key_of(const Hash128& hash) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sizeof key; ++i) key = key << 8U | hash[i];
  return key;
}

struct Step {
  ExploredWorld world;
  std::vector<Action> actions;
  std::size_t next = 0;
};

}  // namespace

ExploreResult explore(const ExploreOptions& options) {
  ExploreResult result;
  ExploredNetwork network(options);
  SeenWorlds seen;
  std::set<Hash256> views;
  std::vector<Step> steps;

  // False where the exploration ends.
  const auto enter = [&](ExploredWorld world) {
    result.fault = world.violation();
    if (!result.fault.empty()) return false;
    if (!seen.add(key_of(network.fingerprint(world)))) return true;
    if (options.progress && seen.count() % 1'000'000 == 0) options.progress(seen.count());
    views.insert(world.invariants->newest().id.hash);
    std::vector<Action> actions = network.actions(world);
    if (actions.empty()) {
      ++result.ends;
      if (options.check_ends) result.fault = network.heal(world);
      return result.fault.empty();
    }
    if (options.states_max != 0 && seen.count() >= options.states_max) {
      result.complete = false;
      return false;
    }
    steps.push_back({std::move(world), std::move(actions), 0});
    result.depth_max = std::max<std::uint64_t>(result.depth_max, steps.size());
    return true;
  };

  bool going = enter(network.start());
  while (going && !steps.empty()) {
    Step& top = steps.back();
    if (top.next == top.actions.size()) {
      steps.pop_back();
      continue;
    }
    const Action action = top.actions[top.next++];
    ExploredWorld world = top.world;
    network.act(world, action);
    ++result.transitions;
    going = enter(std::move(world));
  }
  if (!result.fault.empty()) {
    for (const Step& step : steps) {
      result.path.push_back(to_string(step.actions[step.next == 0 ? 0 : step.next - 1]));
    }
  }
  result.worlds = seen.count();
  result.views = views.size();
  return result;
}

}  // namespace weft
