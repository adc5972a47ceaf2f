// CapturedStep: forward and backward of one shard as a graph that is recorded the first time and
// replayed afterwards, with the same values bit for bit.
//
// Where it stands: train_step -> CapturedStep -> model, loss, backward(). The exchange sees each
// gradient when it is ready, in a replay as in an eager step: the sink of the present step is
// called from the graph. Another size of the shard or another variant is recorded anew. What a step
// draws at random it reads from the model's step words, which the caller sets before.
// Threads: the training thread.
// Fails: as the work itself and Graph::replay(). Work that cannot be captured (it reads values on
// the host) runs eagerly from then on, and why_eager() says why.
#pragma once

#include <functional>
#include <string>

#include "weft/array/array.h"
#include "weft/autograd/backward.h"
#include "weft/graph/captured_function.h"

namespace weft {

struct ShardOutput {
  Array loss;    // one value
  Array logits;  // of every label
};

// Forward, loss and backward of a shard. Gradients stay in the arena and go to `sink`.
using ShardWorkFunction =
    std::function<ShardOutput(const Array& inputs, const Array& labels, const GradientSink& sink)>;

class CapturedStep {
 public:
  CapturedStep();
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  // work(inputs, labels, sink), or what it recorded for these shapes and this variant. `variant`
  // names all that the work depends on beside arrays. The output is written again by the next
  // step of its kind.
  ShardOutput run(const Array& inputs, const Array& labels, const std::string& variant,
                  const ShardWorkFunction& work, const GradientSink& sink);

  // Steps that were recorded.
  int captures() const { return function_.captures(); }
  // Empty while steps are captured.
  const std::string& why_eager() const { return why_eager_; }
  // The graph of the latest captured step, for texts and timings. REQUIRES: captures() > 0.
  Graph& graph() { return function_.graph(); }

 private:
  CapturedFunction function_;
  std::string why_eager_;
  // Of the present step: a graph outlives the step that recorded it.
  const ShardWorkFunction* work_ = nullptr;
  const GradientSink* sink_ = nullptr;
  bool sink_called_ = false;
};

}  // namespace weft
