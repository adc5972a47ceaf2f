// rnn: h' = a(W x + b + V h + c) with a = tanh or max(., 0).
#include "weft/op/recurrent/recurrent_layer.h"

namespace weft {

Tensor rnn(const Tensor& x, const RecurrentParameters& parameters, const RecurrentState& first,
           const RecurrentOptions& options, RnnActivation activation) {
  const RecurrentCell cell =
      activation == RnnActivation::kTanh ? RecurrentCell::kTanh : RecurrentCell::kRelu;
  return recurrent_layer("rnn", cell, x, parameters, first, options);
}

static std::vector<OpSample> rnn_samples() {
  std::vector<OpSample> rnn_samples = recurrent_samples("rnn", RecurrentCell::kTanh);
  for (OpSample& sample : recurrent_samples("rnn", RecurrentCell::kRelu)) {
    sample.name += ", relu";
    rnn_samples.push_back(std::move(sample));
  }
  return rnn_samples;
}
extern const OpDef rnn_op = {"rnn", rnn_samples};

}  // namespace weft
