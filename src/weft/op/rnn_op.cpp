// rnn: h' = a(W x + b + V h + c) with a = tanh or max(., 0).
#include "weft/op/recurrent_layer.h"

namespace weft {

Tensor rnn(const Tensor& x, const RecurrentParameters& parameters, const RecurrentState& first,
           const RecurrentOptions& options, RnnActivation activation) {
  const RecurrentCell cell =
      activation == RnnActivation::kTanh ? RecurrentCell::kTanh : RecurrentCell::kRelu;
  return recurrent_layer("rnn", cell, x, parameters, first, options);
}

static std::vector<OpSample> samples() {
  std::vector<OpSample> samples = recurrent_samples("rnn", RecurrentCell::kTanh);
  for (OpSample& sample : recurrent_samples("rnn", RecurrentCell::kRelu)) {
    sample.name += ", relu";
    samples.push_back(std::move(sample));
  }
  return samples;
}
extern const OpDef rnn_op = {"rnn", samples};

}  // namespace weft
