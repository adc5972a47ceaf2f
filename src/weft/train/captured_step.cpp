#include "weft/train/captured_step.h"

#include <stdexcept>

namespace weft {

CapturedStep::CapturedStep()
    : function_([this](std::span<const Tensor> in) {
        const GradientSink sink = [this](ParameterId id, const Array& gradient) {
          sink_called_ = true;
          if (*sink_) (*sink_)(id, gradient);
        };
        const ShardOutput output = (*work_)(in[0].array(), in[1].array(), sink);
        return std::vector<Tensor>{Tensor(output.loss), Tensor(output.logits)};
      }) {}

ShardOutput CapturedStep::run(const Array& inputs, const Array& labels, const std::string& variant,
                              const ShardWorkFunction& work, const GradientSink& sink) {
  if (!why_eager_.empty()) return work(inputs, labels, sink);
  work_ = &work;
  sink_ = &sink;
  sink_called_ = false;
  try {
    const std::vector<Array>& results = function_({inputs, labels}, variant);
    return {results[0], results[1]};
  } catch (const std::invalid_argument& error) {
    // Where nothing has been handed over yet the step can begin again.
    const std::string text = error.what();
    if (sink_called_ || !text.starts_with("[capture]")) throw;
    why_eager_ = text;
  }
  return work(inputs, labels, sink);
}

}  // namespace weft
