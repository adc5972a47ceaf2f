// Graph: what one run of a function computed, to be computed again without the function.
//
//   Tensor loss;
//   Graph graph = capture([&] { loss = train_once(model, batch); });   // runs once, eagerly
//   graph.replay();                                                    // the same work again
//
// Where it stands: launch() (array/launch.h) tells a recorder about each piece of work; capture()
// keeps them as nodes, whose edges are arrays. Work without effect is dropped, elementwise chains
// are fused, and everything that the run makes and drops gets a place in one block of memory. A
// replay is a loop over the nodes: no shapes, no allocation, no history. Its values are the bits
// that the function would give.
// What a graph reads and writes: arrays that were alive before (parameters, gradients, inputs) by
// handle, so a replay sees their present values; arrays that the host made in the run (Array::from)
// as constants; results that are still held when the run ends keep their memory, and every replay
// writes them again; a backward that needs what they held before throws, as after any write in
// place. What is decided on the host - shapes, branches, whether a gradient is added
// or written - is decided as in the recorded run; if_else() and while_loop() (control.h) decide in
// the replay.
// Threads: a Graph belongs to one thread at a time.
// Fails: capture() throws std::invalid_argument where the run reads values on the host, reads an
// array that no launch wrote, or captures inside a capture; what the function throws passes
// through. replay() throws what a kernel throws (a label out of range); results are then undefined.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/array/array.h"
#include "weft/base/time.h"

namespace weft {

namespace internal {
struct Program;
}  // namespace internal

struct CaptureOptions {
  bool prune = true;
  bool fuse = true;
  bool reuse_memory = true;
  // If the run throws, what it has written to arrays from before is put back, so that it can begin
  // again. Costs a copy of these for as long as the run takes.
  bool undo_on_failure = false;
};

struct GraphReport {
  int launches = 0;  // recorded
  int dropped = 0;   // of them, without effect
  int fused = 0;     // of them, in a chain
  int nodes = 0;     // that a replay runs
  int in_place = 0;  // results that lie in the memory of an operand that ends there
  // The block of a replay; the same without sharing; and the most that the recorded run's own
  // arrays held at once.
  std::size_t planned_bytes = 0;
  std::size_t unshared_bytes = 0;
  std::size_t recorded_bytes = 0;
};

// One node of one replay.
struct TraceEntry {
  std::string name;
  std::string result;  // type and shape of the first output
  double start_us = 0;
  double duration_us = 0;
};
using GraphTrace = std::vector<TraceEntry>;

// For chrome://tracing and ui.perfetto.dev.
std::string to_chrome_trace(const GraphTrace& trace);
// Time and count by node name, the largest first.
std::string to_table(const GraphTrace& trace);

class Graph {
 public:
  Graph();  // without nodes
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  void replay();
  GraphTrace replay_timed(const Clock& clock);

  // From now on `replacement` is used where the run used `recorded`, an array that was alive
  // before. Both are contiguous, of one shape and type. Throws std::invalid_argument otherwise, or
  // if the graph uses more of `recorded`'s memory than that array. False if the graph does not use
  // it at all. A result that is a view of `recorded` stays one.
  bool rebind(const Array& recorded, const Array& replacement);

  // What to call `array` in texts.
  void set_name(const Array& array, const std::string& name);
  const GraphReport& report() const { return report_; }
  // A line for each node; the graphs inside of a node follow it, further in.
  std::string to_text() const;
  // For Graphviz.
  std::string to_dot() const;

 private:
  friend Graph capture(const std::function<void()>& function, const CaptureOptions& options);
  std::unique_ptr<internal::Program> program_;
  GraphReport report_;
};

// Runs `function` once and records what it launches on this thread.
Graph capture(const std::function<void()>& function, const CaptureOptions& options = {});

}  // namespace weft
