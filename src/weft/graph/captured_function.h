// CapturedFunction: a function of arrays that is captured the first time and replayed afterwards.
//
//   CapturedFunction predict([&](Tensors in) { return std::vector<Tensor>{model.forward(in[0])};
//   }); const Array y = predict({batch})[0];
//
// One graph for each combination of shapes, types and `variant`; a call with a new one captures
// again. The inputs of a call are bound, not copied; what else the function reads must be alive
// between the calls (parameters), and what its host code decides must be the same in all calls of
// one variant.
// Threads: as Graph. Fails: as capture() and Graph::replay().
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <string>
#include <vector>

#include "weft/autograd/tensor.h"
#include "weft/graph/graph.h"

namespace weft {

class CapturedFunction {
 public:
  using Function = std::function<std::vector<Tensor>(std::span<const Tensor> inputs)>;
  static constexpr std::size_t kGraphsMax = 8;

  // More graphs than `graphs_max` push the oldest out.
  explicit CapturedFunction(Function function, const CaptureOptions& options = {},
                            std::size_t graphs_max = kGraphsMax);

  // Results without history; the next call of the same combination writes them again. Inside of
  // another capture this is a plain call, which becomes part of that graph.
  const std::vector<Array>& operator()(std::span<const Array> inputs,
                                       const std::string& variant = "");
  const std::vector<Array>& operator()(std::initializer_list<Array> inputs,
                                       const std::string& variant = "") {
    return (*this)(std::span<const Array>(inputs.begin(), inputs.size()), variant);
  }

  // Drops all graphs and their memory.
  void clear() { entries_.clear(); }
  // How often the function itself has run.
  int captures() const { return captures_; }
  // The graph of the latest call. REQUIRES: there was one outside other captures.
  Graph& graph() { return entries_.front().graph; }

 private:
  struct Entry {
    std::string variant;
    std::vector<Array> inputs;  // that the graph is bound to
    std::vector<Array> results;
    Graph graph;
  };
  Entry* find(std::span<const Array> inputs, const std::string& variant);
  Entry& capture_entry(std::span<const Array> inputs, const std::string& variant);
  std::vector<Array> call(std::span<const Array> inputs) const;

  Function function_;
  CaptureOptions options_;
  std::size_t graphs_max_;
  std::list<Entry> entries_;  // the latest first
  std::vector<Array> nested_results_;
  int captures_ = 0;
};

}  // namespace weft
