// lstm: i, f, o = sigmoid(...), g = tanh(...), cell' = f cell + i g, hidden' = o tanh(cell').
#include "weft/op/recurrent/recurrent_layer.h"

namespace weft {

Tensor lstm(const Tensor& x, const RecurrentParameters& parameters, const RecurrentState& first,
            const RecurrentOptions& options) {
  return recurrent_layer("lstm", RecurrentCell::kLstm, x, parameters, first, options);
}

static std::vector<OpSample> lstm_samples() {
  return recurrent_samples("lstm", RecurrentCell::kLstm);
}
extern const OpDef lstm_op = {"lstm", lstm_samples};

}  // namespace weft
