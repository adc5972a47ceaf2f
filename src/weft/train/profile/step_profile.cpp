#include "weft/train/profile/step_profile.h"

#include <algorithm>

#include "weft/base/parallel.h"

namespace weft {

StepProfiler::StepProfiler(const Clock& clock, std::size_t traced_steps)
    : launches_(clock), traced_max_(std::min(traced_steps, kTracedSteps)) {
  launches_.keep_shapes(traced_max_ > 0);
}

void StepProfiler::add_step(TimePoint begin, TimePoint end) {
  std::vector<LaunchEvent> events = launches_.take();
  const std::string* kernel = nullptr;
  for (const LaunchEvent& event : events) {
    if (event.depth == 0) {
      kernel = &event.name;
      add_launch(event);
    } else if (event.depth == 1 && kernel != nullptr) {
      add_to(kernels_[{*kernel, Pass::kNone, event.name}], event);
    }
  }
  // Calls are numbered anew in each step.
  for (auto& [key, total] : ops_) total.last_call = -1;
  ++steps_;
  step_time_ += end - begin;
  keep_for_trace(begin, end, std::move(events));
}

void StepProfiler::add_launch(const LaunchEvent& event) {
  add_to(kernels_[{event.name, Pass::kNone, {}}], event);
  const bool known = !event.op.name.empty();
  Total& op = ops_[{known ? event.op.name : event.name, event.op.pass, {}}];
  add_to(op, event);
  // Launches of one call count once.
  if (known && op.last_call == event.op.call) --op.calls;
  if (known) op.last_call = event.op.call;
  kernel_time_ += event.end - event.begin;
  flops_ += event.flops;
}

void StepProfiler::add_to(Total& total, const LaunchEvent& event) {
  ++total.calls;
  total.time += event.end - event.begin;
  total.flops += event.flops;
  total.bytes += event.bytes;
}

void StepProfiler::keep_for_trace(TimePoint begin, TimePoint end, std::vector<LaunchEvent> events) {
  if (traced_.size() >= traced_max_) return;
  traced_events_ += events.size();
  if (traced_events_ > kTracedEventsMax) traced_max_ = traced_.size();
  if (traced_.size() < traced_max_) traced_.push_back({begin, end, std::move(events)});
  launches_.keep_shapes(traced_.size() < traced_max_);
}

ProfileRow StepProfiler::row_of(const Key& key, const Total& total) const {
  const auto steps = static_cast<double>(steps_);
  ProfileRow row;
  row.name = key.part.empty() ? key.name : key.part;
  row.pass = key.pass;
  row.is_part = !key.part.empty();
  row.calls = static_cast<double>(total.calls) / steps;
  row.ms = to_seconds(total.time) * 1e3 / steps;
  row.flops = total.flops / steps;
  row.bytes = total.bytes / steps;
  return row;
}

std::vector<ProfileRow> StepProfiler::rows_of(const Totals& totals) const {
  std::vector<std::pair<Key, Total>> whole;
  for (const auto& [key, total] : totals) {
    if (key.part.empty()) whole.emplace_back(key, total);
  }
  std::stable_sort(whole.begin(), whole.end(),
                   [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
  std::vector<ProfileRow> rows;
  for (const auto& [key, total] : whole) {
    rows.push_back(row_of(key, total));
    // The parts of a kernel follow it in the map.
    for (auto part = totals.upper_bound(key);
         part != totals.end() && part->first.name == key.name && part->first.pass == key.pass;
         ++part) {
      rows.push_back(row_of(part->first, part->second));
    }
  }
  return rows;
}

ProfileReport StepProfiler::report() const {
  ProfileReport report;
  report.steps = steps_;
  report.threads = thread_count();
  if (steps_ == 0) return report;
  const auto steps = static_cast<double>(steps_);
  report.step_ms = to_seconds(step_time_) * 1e3 / steps;
  report.outside_ms = to_seconds(step_time_ - kernel_time_) * 1e3 / steps;
  report.flops = flops_ / steps;
  report.ops = rows_of(ops_);
  report.kernels = rows_of(kernels_);
  return report;
}

}  // namespace weft
