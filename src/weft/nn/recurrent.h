// RNN, LSTM and GRU: stacks of recurrent layers, and their single steps.
//
// Parameters have PyTorch's names and shapes: layer k has weight_ih_lK, weight_hh_lK, bias_ih_lK,
// bias_hh_lK, and with the suffix "_reverse" those of the other direction; their initial values are
// uniform within 1 / sqrt(width).
// Fails: std::invalid_argument on sizes below 1 and shapes that do not fit.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/nn/module.h"
#include "weft/op/recurrent.h"

namespace weft {

struct RecurrentShape {
  std::int64_t inputs = 1;
  std::int64_t width = 1;
  std::int64_t layers = 1;
  bool bias = true;
  // x is [N, T, inputs] instead of [T, N, inputs], and so is the output.
  bool batch_first = false;
  // Dropout of the outputs of all layers except the last, in training.
  double dropout = 0.0;
  bool bidirectional = false;
};

struct RecurrentResult {
  // The last layer's outputs, [T, N, directions * width] or [N, T, ...].
  Tensor output;
  // The final states, [layers * directions, N, width], layer by layer, forward before reverse.
  Tensor hidden;
  Tensor cell;  // LSTM
};

class Recurrent : public Module {
 public:
  // Returns the output alone, starting from zeros.
  Tensor forward(const Tensor& x) override;
  // As forward(embedding(table, tokens)), for integers [T, N] or [N, T]; without a gradient faster
  // where there are more tokens than rows.
  Tensor forward_tokens(const Tensor& table, const Tensor& tokens);
  // `first` holds [layers * directions, N, width], or is undefined: zeros. `lengths`, i64 [N],
  // has the lengths of the sequences: later outputs are zero, states are those of the last step.
  RecurrentResult operator()(const Tensor& x, const RecurrentState& first = {},
                             const Array& lengths = {});
  RecurrentResult with_tokens(const Tensor& table, const Tensor& tokens,
                              const RecurrentState& first = {}, const Array& lengths = {});

 protected:
  enum class Kind { kTanh, kRelu, kLstm, kGru };
  Recurrent(const RecurrentShape& shape, Kind kind);

 private:
  // What the first layers read, steps first: values [T, N, inputs], or a table and tokens.
  struct Source {
    Tensor x;
    Array tokens;
  };
  Source source(const Tensor& x, const Tensor& tokens) const;
  Tensor outputs(const Source& source);
  RecurrentResult outputs_and_states(const Source& source, const RecurrentState& first,
                                     const Array& lengths);
  // One layer in one direction.
  Tensor layer(const Tensor& x, std::size_t index, const RecurrentState& first,
               const RecurrentOptions& options) const;
  Tensor drop(const Tensor& x, std::int64_t after) const;

  RecurrentShape shape_;
  Kind kind_;
  std::vector<RecurrentParameters> parameters_;
};

class RNN : public Recurrent {
 public:
  explicit RNN(const RecurrentShape& shape, RnnActivation activation = RnnActivation::kTanh)
      : Recurrent(shape, activation == RnnActivation::kTanh ? Kind::kTanh : Kind::kRelu) {}
};
class LSTM : public Recurrent {
 public:
  explicit LSTM(const RecurrentShape& shape) : Recurrent(shape, Kind::kLstm) {}
};
class GRU : public Recurrent {
 public:
  explicit GRU(const RecurrentShape& shape) : Recurrent(shape, Kind::kGru) {}
};

struct RecurrentCellShape {
  std::int64_t inputs = 1;
  std::int64_t width = 1;
  bool bias = true;
};

// One step: maps x [N, inputs] and a state [N, width] to the next state. forward() starts from
// zeros and returns the hidden state. Parameters weight_ih, weight_hh, bias_ih, bias_hh.
class RNNCell : public Module {
 public:
  using Module::operator();
  explicit RNNCell(const RecurrentCellShape& shape,
                   RnnActivation activation = RnnActivation::kTanh);
  Tensor forward(const Tensor& x) override { return (*this)(x, {}); }
  Tensor operator()(const Tensor& x, const Tensor& hidden);

 private:
  RnnActivation activation_;
  RecurrentParameters parameters_;
};

class LSTMCell : public Module {
 public:
  using Module::operator();
  explicit LSTMCell(const RecurrentCellShape& shape);
  Tensor forward(const Tensor& x) override { return (*this)(x, {}).hidden; }
  RecurrentState operator()(const Tensor& x, const RecurrentState& state);

 private:
  RecurrentParameters parameters_;
};

class GRUCell : public Module {
 public:
  using Module::operator();
  explicit GRUCell(const RecurrentCellShape& shape);
  Tensor forward(const Tensor& x) override { return (*this)(x, {}); }
  Tensor operator()(const Tensor& x, const Tensor& hidden);

 private:
  RecurrentParameters parameters_;
};

}  // namespace weft
