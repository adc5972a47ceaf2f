// gru: r, z = sigmoid(...), n = tanh(W x + b + r (V h + c)), h' = (1 - z) n + z h.
#include "weft/op/recurrent/recurrent_layer.h"

namespace weft {

Tensor gru(const Tensor& x, const RecurrentParameters& parameters, const RecurrentState& first,
           const RecurrentOptions& options) {
  return recurrent_layer("gru", RecurrentCell::kGru, x, parameters, first, options);
}

static std::vector<OpSample> gru_samples() { return recurrent_samples("gru", RecurrentCell::kGru); }
extern const OpDef gru_op = {"gru", gru_samples};

}  // namespace weft
