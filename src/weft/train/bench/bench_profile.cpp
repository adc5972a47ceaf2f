#include "weft/train/bench/bench_profile.h"

#include "weft/base/file.h"
#include "weft/base/machine_peak.h"

namespace weft {

Status BenchProfile::check(const BenchProfileOptions& options) {
  if (options.trace_path.empty()) return {};
  return check_output_file(options.trace_path, options.replace_trace);
}

BenchProfile::BenchProfile(const BenchProfileOptions& options, const Clock& clock)
    : clock_(clock), trace_path_(options.trace_path) {
  if (!options.wanted && trace_path_.empty()) return;
  profiler_.emplace(clock, trace_path_.empty() ? 0 : StepProfiler::kTracedSteps);
}

BenchTimes BenchProfile::time_runs(const BenchRuns& limits,
                                   const std::function<void(std::size_t index)>& run) {
  if (!profiler_) return weft::time_runs(limits, clock_, run);
  const auto watched = [&](std::size_t index) {
    const LaunchProfile::Scope scope(profiler_->launches());
    run(index);
  };
  const auto add = [&](const TimePoint& before, const TimePoint& after) {
    profiler_->add_step(before, after);
  };
  return weft::time_runs(limits, clock_, watched, add);
}

Result<std::optional<ProfileReport>> BenchProfile::finish() const {
  if (!profiler_) return std::optional<ProfileReport>();
  if (!trace_path_.empty()) {
    const std::string text = to_chrome_trace(profiler_->traced());
    WEFT_TRY(write_output_file(trace_path_, as_bytes(text)));
  }
  ProfileReport report = profiler_->report();
  report.peak_flops = measure_peak_flops();
  report.triad_bytes = measure_triad_bandwidth();
  return std::optional<ProfileReport>(std::move(report));
}

}  // namespace weft
