// Graph: the work of one run of a function, which can be repeated without the function.
//
//   Tensor loss;
//   Graph graph = capture([&] { loss = train_once(model, batch); });   // runs once, eagerly
//   graph.replay();                                                    // the same work again
//
// Where it stands: launch() (array/launch.h) reports each piece of work to a recorder; capture()
// keeps them as nodes, whose edges are arrays. Work without effect is dropped, elementwise chains
// are fused, and everything that the run makes and drops gets a place in one block of memory. A
// replay is a loop over the nodes: no shapes, no allocation, no history. Its values have the same
// bits as the function's.
// A graph reads and writes arrays that were alive before (parameters, gradients, inputs) by handle,
// so a replay sees their present values; arrays that the host made in the run (Array::from) as
// constants; results that are still held when the run ends keep their memory, and every replay
// writes them again; a backward that needs their old values throws, as after any write in place.
// What is decided on the host - shapes, branches, whether a gradient is added
// or written - is decided as in the recorded run; if_else() and while_loop() (control.h) decide in
// the replay.
// Threads: a Graph belongs to one thread at a time.
// Fails: capture() throws std::invalid_argument if the run reads values on the host, reads an array
// that no launch wrote, or captures inside a capture; exceptions of the function pass through.
// replay() passes on exceptions of kernels (a label out of range); results are then undefined.
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
  // If the run throws, earlier arrays that it has written are restored, so that it can begin again.
  // This costs a copy of them during the run.
  bool undo_on_failure = false;
};

struct GraphReport {
  int launches = 0;  // recorded
  int dropped = 0;   // of them, without effect
  int fused = 0;     // of them, in a chain
  int nodes = 0;     // that a replay runs
  int in_place = 0;  // results in the memory of an operand that is not used later
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

  // Sets the name of `array` in texts.
  void set_name(const Array& array, const std::string& name);
  const GraphReport& report() const { return report_; }
  // A line for each node; the graphs inside a node follow it, indented.
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
