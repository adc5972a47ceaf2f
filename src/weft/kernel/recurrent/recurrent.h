// One recurrent layer in one direction: RNN, LSTM or GRU over a whole batch of sequences.
//
// The inputs of many steps are multiplied at once, as many as stay in the caches until the steps
// have used them; within a step one product with the packed recurrent weights and one pass over
// the gates are left. The gradients of the weights are one product each. Compute threads own rows
// of the batch, so no step waits for another thread; in a forward pass of a small batch they own
// units of the layer, and wait for each other once a step. Time is the first axis everywhere.
// Sequence n has lengths[n] steps: after its end the state does not change and the output is zero,
// as for PyTorch's packed sequences. In reverse the steps run from a sequence's last to its first.
// IMPLEMENTATION: Hochreiter, Schmidhuber, "Long short-term memory", Neural Computation 9(8), 1997,
// with the forget gate of Gers et al., 2000; Cho et al., "Learning phrase representations using RNN
// encoder-decoder", EMNLP 2014, with the reset gate after the product, as in PyTorch.
// f32, and f64 in plain loops. Deterministic: the same bits for any thread count.
// Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>

#include "weft/array/array.h"

namespace weft {

enum class RecurrentCell : std::uint8_t { kTanh, kRelu, kLstm, kGru };

// Blocks of `width` rows in the weights: LSTM i, f, g, o; GRU r, z, n.
constexpr std::int64_t gate_count(RecurrentCell cell) {
  return cell == RecurrentCell::kLstm ? 4 : cell == RecurrentCell::kGru ? 3 : 1;
}

// All contiguous and of one type but `lengths`, i64 [N] with values in [0, T], and `tokens`, i64
// [T, N].
struct RecurrentInputs {
  Array x;              // [T, N, inputs]; with tokens a table [rows, inputs]
  Array input_weight;   // [gates * width, inputs]
  Array hidden_weight;  // [gates * width, width]
  Array input_bias;     // [gates * width] or undefined
  Array hidden_bias;    // likewise
  Array first_hidden;   // [N, width]; undefined: zeros
  Array first_cell;     // [N, width], LSTM; undefined: zeros
  Array lengths;        // undefined: all T
  // The input of sequence n at step t is x[tokens[t, n]]: the products of the inputs are those of
  // the table's rows. Forward only. A token that is no row throws std::invalid_argument.
  Array tokens = {};
};

struct RecurrentRun {
  RecurrentCell cell = RecurrentCell::kTanh;
  bool reverse = false;
  // Whether the trace has what the gradient needs; otherwise it has the states alone.
  bool for_gradient = true;
};

// The values of a forward pass that the gradient and the outputs need.
struct RecurrentTrace {
  Array gates;  // [T, N, gates * width], activated; for_gradient
  // [T + 1, N, width]: the state before and after step t is at t and t + 1, in reverse the other
  // way round.
  Array hidden;
  Array cell;            // likewise; LSTM
  Array candidate_sums;  // [T, N, width]: the hidden state's share of n; GRU, for_gradient
};

RecurrentTrace recurrent_forward(const RecurrentInputs& inputs, const RecurrentRun& run);

// The hidden states after each step, zeros behind the end of a sequence: [T, N, width]; a view of
// the trace where it can be.
Array recurrent_output(const RecurrentTrace& trace, const Array& lengths, const RecurrentRun& run);
// The same with the last hidden state (and cell, LSTM) behind: [T + 1 (+ 1), N, width].
Array recurrent_output_and_state(const RecurrentTrace& trace, const Array& lengths,
                                 const RecurrentRun& run);

struct RecurrentGradient {
  Array input_sums;    // [T, N, gates * width]: of x input_weight^T + input_bias
  Array hidden_sums;   // of h hidden_weight^T + hidden_bias; the same array unless GRU
  Array first_hidden;  // [N, width]
  Array first_cell;    // LSTM
};

// REQUIRES: run.for_gradient, also in the run of the trace. `output_gradient` has the shape of what
// recurrent_output or, if `with_state`, recurrent_output_and_state gave.
RecurrentGradient recurrent_backward(const RecurrentTrace& trace, const Array& hidden_weight,
                                     const Array& lengths, const RecurrentRun& run,
                                     const Array& output_gradient, bool with_state);

}  // namespace weft
