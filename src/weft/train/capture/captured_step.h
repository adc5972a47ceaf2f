// CapturedStep: forward and backward of one shard as a graph that is recorded the first time and
// replayed afterwards, with the same values bit for bit.
//
// Where it stands: train_step -> CapturedStep -> model, loss, backward(). The exchange gets each
// gradient when it is ready, in a replay as in an eager step: the sink of the present step is
// called from the graph; while a step is recorded, at its end. Random choices of a step depend on
// the model's step words, which the caller sets before.
// A step runs eagerly if a replay could differ or would not save time: for the second and later
// sizes of a shard when they first occur (the end of an epoch, a group that changes); while an
// AnomalyMode is active or a parameter has hooks; and permanently for work that cannot be captured
// (it reads values on the host, it registers hooks) or whose sizes never occur again. Values that a
// failed recording had written are restored first.
// Threads: the training thread.
// Fails: as the work itself and Graph::replay().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "weft/array/array.h"
#include "weft/autograd/backward.h"
#include "weft/graph/captured_function.h"

namespace weft {

class Module;

struct ShardOutput {
  Array loss;    // one value
  Array logits;  // of every label
};

// Forward, loss and backward of a shard. Gradients stay in the arena and go to `sink`.
using ShardWorkFunction =
    std::function<ShardOutput(const Array& inputs, const Array& labels, const GradientSink& sink)>;

class CapturedStep {
 public:
  // More graphs than this push the oldest out: each holds the memory of a step.
  static constexpr std::size_t kGraphsMax = 4;

  // `model`, borrowed, is the model of the work: a recording depends on which of its parameters are
  // trained and whether it is in training mode. Null: these never change.
  explicit CapturedStep(const Module* model = nullptr);
  CapturedStep(const CapturedStep&) = delete;
  CapturedStep& operator=(const CapturedStep&) = delete;

  // work(inputs, labels, sink), or what it recorded for these shapes and this variant. `variant`
  // contains everything that the work depends on besides arrays. The output is written again by the
  // next
  // step of its kind.
  ShardOutput run(const Array& inputs, const Array& labels, const std::string& variant,
                  const ShardWorkFunction& work, const GradientSink& sink);

  // Steps that were recorded.
  int captures() const { return function_.captures(); }
  // Why the latest step ran eagerly; empty if it did not, or only because its size was new.
  const std::string& why_eager() const { return why_eager_; }
  // The graph of the latest captured step, for texts and timings. REQUIRES: captures() > 0.
  Graph& graph() { return function_.graph(); }

 private:
  std::string reason_to_watch() const;
  std::string key_of(const Array& inputs, const Array& labels, const std::string& variant) const;
  bool is_worth_recording(const std::string& key);
  void give_up(const std::string& reason);
  ShardOutput capture_or_replay(const Array& inputs, const Array& labels, const std::string& key,
                                const ShardWorkFunction& work, const GradientSink& sink);

  const Module* model_;
  CapturedFunction function_;
  std::string why_eager_;
  bool gave_up_ = false;
  std::vector<std::string> seen_;  // kinds of steps, the latest last
  std::int64_t steps_ = 0;         // that were recorded or replayed
  // The work of the present step: a graph outlives the step that recorded it.
  const ShardWorkFunction* work_ = nullptr;
  const GradientSink* sink_ = nullptr;
  bool recording_ = false;
  std::vector<std::pair<ParameterId, Array>> waiting_;  // gradients of a step that is recorded
};

}  // namespace weft
