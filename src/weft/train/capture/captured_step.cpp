#include "weft/train/capture/captured_step.h"

#include <algorithm>
#include <stdexcept>

#include "weft/autograd/leaf_watch.h"
#include "weft/nn/module.h"

namespace weft {
namespace {

constexpr std::size_t kSeenMax = 32;
// Recording is for steps that come again: beyond so many recordings, at most one step in four.
constexpr int kFreeCaptures = 16;
constexpr int kStepsPerCapture = 4;

std::string describe_input(const Array& array) {
  return std::string(to_string(array.dtype())) + to_string(array.shape());
}

}  // namespace

CapturedStep::CapturedStep(const Module* model)
    : model_(model),
      function_(
          [this](std::span<const Tensor> in) {
            recording_ = true;
            const GradientSink sink = [this](ParameterId id, const Array& gradient) {
              if (recording_) {
                waiting_.emplace_back(id, gradient);
              } else if (*sink_) {
                (*sink_)(id, gradient);
              }
            };
            const ShardOutput output = (*work_)(in[0].array(), in[1].array(), sink);
            return std::vector<Tensor>{Tensor(output.loss), Tensor(output.logits)};
          },
          {.undo_on_failure = true}, kGraphsMax) {}

// What may come and go: a step with it runs eagerly, the next one perhaps not.
std::string CapturedStep::reason_to_watch() const {
  if (operations_are_watched()) return "anomaly mode looks at each operation";
  if (model_ == nullptr) return {};
  const std::vector<Tensor> parameters = model_->parameters();
  const bool hooked = std::any_of(parameters.begin(), parameters.end(), has_hooks);
  return hooked ? "a parameter has a hook, which a replay would not call" : "";
}

std::string CapturedStep::key_of(const Array& inputs, const Array& labels,
                                 const std::string& variant) const {
  std::string key = variant + " " + describe_input(inputs) + " " + describe_input(labels);
  if (model_ == nullptr) return key;
  key += model_->is_training() ? " training " : " evaluation ";
  for (const Tensor& parameter : model_->parameters()) key += parameter.requires_grad() ? '1' : '0';
  return key;
}

// The first kind of step at once, another when it comes for the second time.
bool CapturedStep::is_worth_recording(const std::string& key) {
  const bool first = seen_.empty();
  if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) return true;
  if (seen_.size() == kSeenMax) seen_.erase(seen_.begin());
  seen_.push_back(key);
  return first;
}

void CapturedStep::give_up(const std::string& reason) {
  gave_up_ = true;
  why_eager_ = reason;
  function_.clear();
}

ShardOutput CapturedStep::run(const Array& inputs, const Array& labels, const std::string& variant,
                              const ShardWorkFunction& work, const GradientSink& sink) {
  if (gave_up_) return work(inputs, labels, sink);
  why_eager_ = reason_to_watch();
  if (!why_eager_.empty()) return work(inputs, labels, sink);
  const std::string key = key_of(inputs, labels, variant);
  if (!is_worth_recording(key)) return work(inputs, labels, sink);
  try {
    return capture_or_replay(inputs, labels, key, work, sink);
  } catch (const std::invalid_argument& error) {
    recording_ = false;
    waiting_.clear();
    // Nothing was handed over, and nothing is changed: the step can begin again.
    const std::string text = error.what();
    if (!text.starts_with("[capture]")) throw;
    give_up(text);
  }
  return work(inputs, labels, sink);
}

ShardOutput CapturedStep::capture_or_replay(const Array& inputs, const Array& labels,
                                            const std::string& key, const ShardWorkFunction& work,
                                            const GradientSink& sink) {
  work_ = &work;
  sink_ = &sink;
  recording_ = false;
  waiting_.clear();
  const std::uint64_t hooks = hooks_registered();
  const std::vector<Array>& results = function_({inputs, labels}, key);
  ShardOutput output = {results[0], results[1]};
  ++steps_;
  if (!std::exchange(recording_, false)) return output;
  for (const auto& [id, gradient] : std::exchange(waiting_, {})) {
    if (sink) sink(id, gradient);
  }
  if (hooks_registered() != hooks) {
    give_up("the step registers hooks, which a replay would not call");
  } else if (captures() > kFreeCaptures && captures() * kStepsPerCapture > steps_) {
    give_up("the sizes of the steps do not come again");
  }
  return output;
}

}  // namespace weft
