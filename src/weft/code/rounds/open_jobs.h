// OpenJobs: what a code keeps for each job, for the jobs that may still be asked for.
//
// Threads: one owner. Fails: never.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace weft {

template <class State>
class OpenJobs {
 public:
  // `delay` of the code: jobs that began more than 2 delay + 1 rounds ago are forgotten, as
  // CodedRounds::decode() says.
  explicit OpenJobs(std::int64_t delay) : length_(2 * delay + 1) {}

  // A job begins in `round`.
  void begin(std::int64_t round, State state) {
    states_.insert_or_assign(round, std::move(state));
    states_.erase(states_.begin(), states_.lower_bound(round - length_));
  }
  // Null if it has not begun, or is forgotten.
  State* find(std::int64_t job) {
    const auto found = states_.find(job);
    return found == states_.end() ? nullptr : &found->second;
  }
  const State* find(std::int64_t job) const {
    const auto found = states_.find(job);
    return found == states_.end() ? nullptr : &found->second;
  }

 private:
  std::int64_t length_;
  std::map<std::int64_t, State> states_;
};

}  // namespace weft
