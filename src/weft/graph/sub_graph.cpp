#include "weft/graph/sub_graph.h"

#include "weft/graph/capture_recorder.h"

namespace weft::internal {

SubGraph::SubGraph(const std::function<void()>& function) {
  CaptureRecorder recorder(CaptureRecorder::OuterWrites::kUndo);
  {
    const RecorderScope scope(&recorder);
    const AttributionScope operations(recorder.attribution());
    function();
  }
  recorder.undo_outer_writes();
  program_ = recorder.finish();
  prune(program_);
  fuse(program_);
  bind_all(program_, plan_memory(program_, true).bytes);
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    if (program_.buffers[i].kind == BufferKind::kExternal) outer_.push_back(static_cast<int>(i));
  }
}

std::vector<SubGraph::Outer> SubGraph::outer() const {
  std::vector<Outer> result;
  for (const int index : outer_) {
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(index)];
    result.push_back(
        {Array::on(buffer.storage, buffer.low, {buffer.high - buffer.low}, {1}, DType::kU8),
         buffer.written});
  }
  return result;
}

void SubGraph::bind(LaunchArrays outer, int first) {
  for (const int index : outer_) {
    const Array& bytes = outer[first++];
    const Buffer& buffer = program_.buffers[static_cast<std::size_t>(index)];
    if (buffer.storage == bytes.storage() && buffer.low == bytes.offset()) continue;
    bind_buffer(program_, index, bytes.storage(), bytes.offset() - buffer.low);
  }
}

void SubGraph::release() {
  for (const int index : outer_) bind_buffer(program_, index, nullptr, 0);
}

void SubGraph::run() const {
  for (const GraphNode& node : program_.nodes) node.run();
}

namespace {

class DrivenBody final : public ControlBody {
 public:
  DrivenBody(std::vector<std::shared_ptr<SubGraph>> graphs, int own, Drive drive)
      : graphs_(std::move(graphs)), own_(own), drive_(std::move(drive)) {
    for (const std::shared_ptr<SubGraph>& graph : graphs_) {
      pieces_.emplace_back([graph] { graph->run(); });
    }
  }

  std::span<const std::shared_ptr<SubGraph>> graphs() const override { return graphs_; }

  void run(LaunchArrays in, LaunchArrays out) override {
    int first = own_;
    for (const std::shared_ptr<SubGraph>& graph : graphs_) {
      graph->bind(in, first);
      first += graph->outer_count();
    }
    drive_(out, pieces_);  // `own` are the first outputs
  }

 private:
  std::vector<std::shared_ptr<SubGraph>> graphs_;
  int own_;
  Drive drive_;
  std::vector<Piece> pieces_;
};

}  // namespace

void run_control(const char* name, std::span<const Array> own, const std::vector<Piece>& pieces,
                 const Drive& drive) {
  Recorder* const recorder = weft::current_recorder();
  std::vector<Array> inputs(own.begin(), own.end());
  std::vector<Array> outputs = inputs;
  if (recorder == nullptr) {
    std::vector<const Array*> pointers;
    pointers.reserve(inputs.size());
    for (const Array& array : inputs) pointers.push_back(&array);
    drive({pointers.data(), pointers.size()}, pieces);
    return;
  }
  std::vector<std::shared_ptr<SubGraph>> graphs;
  graphs.reserve(pieces.size());
  for (const Piece& piece : pieces) graphs.push_back(std::make_shared<SubGraph>(piece));
  for (const std::shared_ptr<SubGraph>& graph : graphs) {
    for (SubGraph::Outer& outer : graph->outer()) {
      inputs.push_back(outer.bytes);
      if (outer.written) outputs.push_back(std::move(outer.bytes));
    }
  }
  std::vector<const Array*> in;
  std::vector<Array*> out;
  in.reserve(inputs.size());
  out.reserve(outputs.size());
  for (const Array& array : inputs) in.push_back(&array);
  for (Array& array : outputs) out.push_back(&array);
  const int own_count = static_cast<int>(own.size());
  recorder->record({.name = name, .inputs = in, .outputs = out},
                   std::make_unique<DrivenBody>(graphs, own_count, drive));
  const RecorderScope pause(nullptr);
  DrivenBody now(graphs, own_count, drive);
  std::vector<const Array*> results(out.begin(), out.end());
  now.run({in.data(), in.size()}, {results.data(), results.size()});
  // The graph around this decides where its arrays will lie; none may be held here.
  for (const std::shared_ptr<SubGraph>& graph : graphs) graph->release();
}

}  // namespace weft::internal
