#include "weft/graph/graph.h"

#include <stdexcept>
#include <string>

#include "weft/graph/capture_recorder.h"
#include "weft/graph/program.h"

namespace weft {

Graph::Graph() : program_(std::make_unique<internal::Program>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

namespace {

void note_writes(const internal::Program& program) {
  for (const internal::WrittenRange& range : program.written) {
    const internal::Buffer& buffer = program.buffers[static_cast<std::size_t>(range.buffer)];
    buffer.storage->note_write(static_cast<std::size_t>(buffer.low + range.low),
                               static_cast<std::size_t>(buffer.low + range.high), "replay");
  }
}

}  // namespace

void Graph::replay() {
  if (current_recorder() != nullptr) {
    throw std::invalid_argument(
        "[replay] expected no capture around a replay, got one; call the function instead");
  }
  // First: what throws on the way has written all the same.
  note_writes(*program_);
  for (const internal::GraphNode& node : program_->nodes) node.run();
}

GraphTrace Graph::replay_timed(const Clock& clock) {
  GraphTrace trace;
  trace.reserve(program_->nodes.size());
  note_writes(*program_);
  const TimePoint begun = clock.now();
  for (const internal::GraphNode& node : program_->nodes) {
    const TimePoint start = clock.now();
    node.run();
    const TimePoint end = clock.now();
    TraceEntry entry{node.name, {}, to_seconds(start - begun) * 1e6, to_seconds(end - start) * 1e6};
    if (!node.out.empty() && node.out[0].buffer != internal::kNoBuffer) {
      const Array& result = node.out[0].array;
      entry.result = std::string(to_string(result.dtype())) + to_string(result.shape());
    }
    trace.push_back(std::move(entry));
  }
  return trace;
}

bool Graph::rebind(const Array& recorded, const Array& replacement) {
  if (!recorded.is_contiguous() || !replacement.is_contiguous() ||
      recorded.shape() != replacement.shape() || recorded.dtype() != replacement.dtype()) {
    throw std::invalid_argument(
        "[rebind] expected a contiguous array of shape " + to_string(recorded.shape()) +
        " and type " + std::string(to_string(recorded.dtype())) + ", got " +
        to_string(replacement.shape()) + " and " + std::string(to_string(replacement.dtype())));
  }
  if (recorded.storage() == replacement.storage() && recorded.offset() == replacement.offset()) {
    return true;
  }
  const auto [low, high] = internal::byte_range(recorded);
  for (std::size_t i = 0; i < program_->buffers.size(); ++i) {
    const internal::Buffer& buffer = program_->buffers[i];
    if (buffer.storage == nullptr || buffer.storage != recorded.storage()) continue;
    if (buffer.low < buffer.high && (buffer.low < low || buffer.high > high)) {
      throw std::invalid_argument(
          "[rebind] expected an array that holds all that the graph uses of its memory, got a view "
          "of shape " +
          to_string(recorded.shape()));
    }
    internal::bind_buffer(*program_, static_cast<int>(i), replacement.storage(),
                          internal::byte_range(replacement).first - low);
    return true;
  }
  return false;
}

void Graph::set_name(const Array& array, const std::string& name) {
  for (std::size_t i = 0; i < program_->buffers.size(); ++i) {
    const internal::Buffer& buffer = program_->buffers[i];
    if (buffer.storage == nullptr || buffer.storage != array.storage()) continue;
    const auto [low, high] = internal::byte_range(array);
    program_->names.push_back({{static_cast<int>(i), array, low, high}, name});
  }
}

Graph capture(const std::function<void()>& function, const CaptureOptions& options) {
  if (current_recorder() != nullptr) {
    throw std::invalid_argument("[capture] expected no capture inside a capture, got one");
  }
  using OuterWrites = internal::CaptureRecorder::OuterWrites;
  internal::CaptureRecorder recorder(options.undo_on_failure ? OuterWrites::kUndo
                                                             : OuterWrites::kKeep);
  try {
    const RecorderScope scope(&recorder);
    const AttributionScope operations(recorder.attribution());
    function();
  } catch (...) {
    recorder.undo_outer_writes();
    throw;
  }
  Graph graph;
  internal::Program& program = *graph.program_;
  program = recorder.finish();
  GraphReport& report = graph.report_;
  report.launches = static_cast<int>(program.nodes.size());
  report.recorded_bytes = recorder.peak_bytes();
  if (options.prune) report.dropped = internal::prune(program);
  report.unshared_bytes = internal::plan_memory(program, false).bytes;
  if (options.fuse) report.fused = internal::fuse(program);
  const internal::MemoryPlan plan = internal::plan_memory(program, options.reuse_memory);
  report.planned_bytes = plan.bytes;
  report.in_place = plan.in_place;
  report.nodes = static_cast<int>(program.nodes.size());
  // The run's own blocks wait in the pool, and replays have no use for them.
  Storage::trim_pool();
  internal::bind_all(program, report.planned_bytes);
  program.written = internal::written_ranges(program);
  return graph;
}

}  // namespace weft
