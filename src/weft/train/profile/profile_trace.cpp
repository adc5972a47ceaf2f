// A profile as a trace in Chrome's format.
#include <nlohmann/json.hpp>

#include "weft/train/profile/step_profile.h"

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

// What a complete event has; `category` is that of the level: a step, an operation's pass, a kernel
// or a part.
struct Span {
  std::string name;
  const char* category;
  TimePoint begin;
  TimePoint end;
};

double microseconds(Duration duration) { return static_cast<double>(duration.count()) / 1e3; }

class TraceWriter {
 public:
  explicit TraceWriter(TimePoint start) : start_(start) {}

  void add(const Span& span, Json arguments = Json::object()) {
    events_.push_back({{"name", span.name},
                       {"cat", span.category},
                       {"ph", "X"},
                       {"ts", microseconds(span.begin - start_)},
                       {"dur", microseconds(span.end - span.begin)},
                       {"pid", 1},
                       {"tid", 1},
                       {"args", std::move(arguments)}});
  }

  std::string finish() {
    return Json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events_)}}.dump() + "\n";
  }

 private:
  TimePoint start_;
  Json events_ = Json::array();
};

void add_launch(const LaunchEvent& event, TraceWriter& trace) {
  Json arguments = Json::object();
  if (!event.shapes.empty()) arguments["shapes"] = event.shapes;
  if (event.flops > 0) arguments["flops"] = event.flops;
  if (event.bytes > 0) arguments["bytes"] = event.bytes;
  trace.add({event.name, event.depth == 0 ? "kernel" : "part", event.begin, event.end},
            std::move(arguments));
}

// The operation whose launches follow one another from `first` on, from the first to the last.
void add_operation(std::span<const LaunchEvent> events, std::size_t first, TraceWriter& trace) {
  const LaunchOp& op = events[first].op;
  if (op.name.empty()) return;
  TimePoint end = events[first].end;
  for (std::size_t i = first; i < events.size(); ++i) {
    if (events[i].depth > 0) continue;
    if (events[i].op.call != op.call || events[i].op.name != op.name) break;
    end = events[i].end;
  }
  trace.add({op.name, to_string(op.pass), events[first].begin, end});
}

void add_step(const TracedStep& step, std::size_t number, TraceWriter& trace) {
  trace.add({"step " + std::to_string(number), "step", step.begin, step.end});
  const LaunchOp* before = nullptr;
  for (std::size_t i = 0; i < step.events.size(); ++i) {
    const LaunchEvent& event = step.events[i];
    if (event.depth == 0) {
      const bool is_same =
          before != nullptr && before->call == event.op.call && before->name == event.op.name;
      if (!is_same) add_operation(step.events, i, trace);
      before = &event.op;
    }
    add_launch(event, trace);
  }
}

}  // namespace

std::string to_chrome_trace(std::span<const TracedStep> steps) {
  TraceWriter trace(steps.empty() ? TimePoint() : steps.front().begin);
  for (std::size_t i = 0; i < steps.size(); ++i) add_step(steps[i], i + 1, trace);
  return trace.finish();
}

}  // namespace weft
