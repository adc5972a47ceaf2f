// SubGraph: a graph inside a node; and run_control(), which runs pieces of work in an order
// that values decide, as such a node under capture. For this folder.
//
// The arrays that a piece uses from outside are operands of the node, so that the outer graph plans
// and binds them; a piece holds no memory but its own arena and constants between runs under
// capture.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/program.h"

namespace weft::internal {

class SubGraph {
 public:
  // Runs `function` once to record it; its writes to earlier arrays are undone.
  explicit SubGraph(const std::function<void()>& function);

  struct Outer {
    Array bytes;  // u8: all that the graph touches of one storage
    bool written = false;
  };
  // The arrays that it uses from outside, with memory until release().
  std::vector<Outer> outer() const;
  // Points it at other memory for the same things, in the order of outer().
  void bind(LaunchArrays outer, int first);
  void release();
  int outer_count() const { return static_cast<int>(outer_.size()); }
  void run() const;
  const Program& program() const { return program_; }

 private:
  Program program_;
  std::vector<int> outer_;  // buffers
};

// The body of a node that holds graphs.
class ControlBody : public LaunchBody {
 public:
  virtual std::span<const std::shared_ptr<SubGraph>> graphs() const = 0;
};

using Piece = std::function<void()>;
// Runs the pieces in the order it decides; `own` are the arrays given to run_control().
using Drive = std::function<void(LaunchArrays own, std::span<const Piece> pieces)>;

// drive(own, pieces), as one node under capture. Pieces are functions of arrays from before, `own`
// and others; they write their results to arrays from before. Every one of `own` has values and
// may be written.
void run_control(const char* name, std::span<const Array> own, const std::vector<Piece>& pieces,
                 const Drive& drive);

}  // namespace weft::internal
