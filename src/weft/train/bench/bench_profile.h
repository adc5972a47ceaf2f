// BenchProfile: the profile that a measurement by `weft bench` can make of its own runs.
//
//   WEFT_TRY(BenchProfile::check(options));
//   BenchProfile profile(options, clock);
//   result.times = profile.time_runs(limits, run);
//   WEFT_TRY_ASSIGN(result.profile, profile.finish());
//
// Where it stands: bench_train() and bench_forward() -> BenchProfile -> StepProfiler. Unless a
// profile is wanted, time_runs() is that of bench_workload.h.
// Threads: the measuring thread.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/train/bench/bench_workload.h"
#include "weft/train/profile/step_profile.h"

namespace weft {

struct BenchProfileOptions {
  // Also report where the time of the runs goes.
  bool wanted = false;
  // Where the first runs are written as a trace in Chrome's format; empty: nowhere. With a path a
  // profile is wanted. An existing file is replaced only with `replace_trace`.
  std::string trace_path;
  bool replace_trace = false;
};

class BenchProfile {
 public:
  // Fails, before anything is measured: kInvalidArgument for a trace's file that exists already,
  // kUnavailable for one that cannot be written.
  static Status check(const BenchProfileOptions& options);

  // Borrows `clock`.
  BenchProfile(const BenchProfileOptions& options, const Clock& clock);

  // As time_runs() of bench_workload.h. Adding up a profile is no part of a run's time.
  BenchTimes time_runs(const BenchRuns& limits, const std::function<void(std::size_t index)>& run);

  // Writes the trace and measures the peaks of this machine with the threads in use. Nothing if no
  // profile is wanted. Fails: kUnavailable if the trace cannot be written.
  Result<std::optional<ProfileReport>> finish() const;

 private:
  const Clock& clock_;
  std::string trace_path_;
  std::optional<StepProfiler> profiler_;
};

}  // namespace weft
