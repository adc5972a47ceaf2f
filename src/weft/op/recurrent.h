// RNN, LSTM and GRU: one layer in one direction over a batch of sequences. nn/recurrent.h stacks
// them.
//
// Time is the first axis: x [T, N, inputs]. With the gates G (1, LSTM 4: i f g o, GRU 3: r z n) the
// weights are [G width, inputs] and [G width, width], the biases [G width]; names and formulas as
// in PyTorch. The result is the hidden state after each step, [T, N, width]; further results that
// the options request follow it on the first axis.
// bf16 and f16 are computed in f32 and rounded at the end. Fails:
// std::invalid_argument where shapes or types do not fit.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

struct RecurrentParameters {
  Tensor input_weight;
  Tensor hidden_weight;
  Tensor input_bias;  // undefined: none
  Tensor hidden_bias;
};

// [N, width] each; undefined: zeros.
struct RecurrentState {
  Tensor hidden;
  Tensor cell;  // LSTM
};

struct RecurrentOptions {
  // From the last step of each sequence to its first.
  bool reverse = false;
  // Integers [T, N] in [0, rows): x is then a table [rows, inputs], and the input of sequence n at
  // step t its row tokens[t, n], as after embedding(). Where no gradient is recorded and there are
  // more tokens than rows, what the layer makes of its inputs is computed once for each row.
  Array tokens = {};
  // i64 [N] in [0, T], any order; undefined: T. Behind a sequence's end its state stays as it is
  // and the output is zero, as for PyTorch's packed sequences.
  Array lengths = {};
  // Appends the last hidden state and, for LSTM, the last cell: [T + 1, ...] or [T + 2, N, width].
  bool with_state = false;
};

enum class RnnActivation { kTanh, kRelu };

// h' = a(W x + b + V h + c).
Tensor rnn(const Tensor& x, const RecurrentParameters& parameters, const RecurrentState& first = {},
           const RecurrentOptions& options = {}, RnnActivation activation = RnnActivation::kTanh);
Tensor lstm(const Tensor& x, const RecurrentParameters& parameters,
            const RecurrentState& first = {}, const RecurrentOptions& options = {});
Tensor gru(const Tensor& x, const RecurrentParameters& parameters, const RecurrentState& first = {},
           const RecurrentOptions& options = {});

}  // namespace weft
