// StepProfiler: where the time of training steps and forward passes goes, by operation and kernel.
//
//   StepProfiler profiler(clock, 0);
//   { const LaunchProfile::Scope scope(profiler.launches()); step(); }
//   profiler.add_step(begin, end);
//   std::cout << to_table(profiler.report());
//
// Where it stands: BenchProfile -> StepProfiler -> LaunchProfile (array/profile), which sees each
// launch of an eager or a replayed step. Only outermost launches are added up, so that no time
// counts twice, and what no launch covers is a line of its own: a report sums to the whole step.
// Threads: the training thread. Memory: rows, and the events of the traced steps. Fails: never.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/array/profile/launch_profile.h"
#include "weft/base/time.h"

namespace weft {

// Figures of one step, the mean of those measured.
struct ProfileRow {
  std::string name;
  Pass pass = Pass::kNone;
  // A part of the kernel in the row above; its time is in that one's, too.
  bool is_part = false;
  double calls = 0;
  double ms = 0;
  double flops = 0;
  double bytes = 0;
};

struct ProfileReport {
  std::string unit = "step";  // what texts call that which was measured
  std::int64_t steps = 0;
  int threads = 0;
  double step_ms = 0;     // the mean of the same steps
  double outside_ms = 0;  // of it in no kernel
  double flops = 0;       // of a step
  // Operations and bytes a second that this machine can do; 0: not known.
  double peak_flops = 0;
  double triad_bytes = 0;
  std::vector<ProfileRow> ops;  // the longest first; without a name: the kernels of no operation
  std::vector<ProfileRow> kernels;  // the longest first, each with its parts behind it
};

// One step for a trace.
struct TracedStep {
  TimePoint begin;
  TimePoint end;
  std::vector<LaunchEvent> events;
};

class StepProfiler {
 public:
  // A trace holds no more than these.
  static constexpr std::size_t kTracedSteps = 5;
  static constexpr std::size_t kTracedEventsMax = 50'000;

  // Borrows `clock`. Keeps the events of the first `traced_steps` steps.
  StepProfiler(const Clock& clock, std::size_t traced_steps);

  // What to watch a step with.
  LaunchProfile& launches() { return launches_; }
  // Adds up what was launched since the last call, in a step from `begin` to `end`.
  void add_step(TimePoint begin, TimePoint end);

  // Without peaks.
  ProfileReport report() const;
  std::span<const TracedStep> traced() const { return traced_; }

 private:
  struct Key {
    std::string name;
    Pass pass;
    std::string part;
    auto operator<=>(const Key&) const = default;
  };
  struct Total {
    std::int64_t calls = 0;
    Duration time{};
    double flops = 0;
    double bytes = 0;
    std::int64_t last_call = -1;
  };
  using Totals = std::map<Key, Total>;

  void add_launch(const LaunchEvent& event);
  static void add_to(Total& total, const LaunchEvent& event);
  void keep_for_trace(TimePoint begin, TimePoint end, std::vector<LaunchEvent> events);
  ProfileRow row_of(const Key& key, const Total& total) const;
  std::vector<ProfileRow> rows_of(const Totals& totals) const;

  LaunchProfile launches_;
  std::size_t traced_max_;
  std::size_t traced_events_ = 0;
  std::vector<TracedStep> traced_;
  Totals ops_;
  Totals kernels_;
  std::int64_t steps_ = 0;
  Duration step_time_{};
  Duration kernel_time_{};
  double flops_ = 0;
};

// "forward", "backward", or "" for what belongs to no operation.
const char* to_string(Pass pass);

// Two tables with a head, for a terminal of 100 columns.
std::string to_table(const ProfileReport& report);
// One JSON object.
std::string to_json(const ProfileReport& report);
// The steps with their operations, kernels and parts as complete events, for chrome://tracing and
// ui.perfetto.dev. Times are microseconds from the beginning of the first step.
std::string to_chrome_trace(std::span<const TracedStep> steps);

}  // namespace weft
