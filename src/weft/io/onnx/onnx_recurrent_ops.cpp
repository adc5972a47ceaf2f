// RNN, LSTM and GRU. ONNX orders the gates otherwise than Weft (PyTorch): LSTM i o f c, GRU z r h.
#include <fmt/format.h>

#include "weft/io/onnx/onnx_operator.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;
using Order = std::vector<std::int64_t>;

// One direction of W [D, gates H, I] and its like, its blocks of rows in Weft's order.
Tensor direction_of(const OnnxCall& call, int index, std::int64_t direction, const Order& order) {
  const Tensor& x = call.in(index);
  if (direction >= x.dim(0)) call.fail("weights of each direction", to_string(x.shape()));
  const Tensor own = squeeze(slice(x, 0, direction, direction + 1), 0);
  const auto gates = static_cast<std::int64_t>(order.size());
  if (own.ndim() < 1 || own.dim(0) % gates != 0)
    call.fail("a row of each gate", to_string(x.shape()));
  const std::int64_t width = own.dim(0) / gates;
  Tensors parts;
  for (const std::int64_t gate : order) {
    parts.push_back(slice(own, 0, gate * width, (gate + 1) * width));
  }
  return concat(parts, 0);
}

RecurrentParameters parameters_of(const OnnxCall& call, std::int64_t direction,
                                  const Order& order) {
  RecurrentParameters parameters;
  parameters.input_weight = direction_of(call, 1, direction, order);
  parameters.hidden_weight = direction_of(call, 2, direction, order);
  if (!call.has(3)) return parameters;
  Order both = order;  // [Wb, Rb]
  for (const std::int64_t gate : order) {
    both.push_back(gate + static_cast<std::int64_t>(order.size()));
  }
  const Tensor biases = direction_of(call, 3, direction, both);
  const std::int64_t half = biases.dim(0) / 2;
  parameters.input_bias = slice(biases, 0, 0, half);
  parameters.hidden_bias = slice(biases, 0, half, 2 * half);
  return parameters;
}

// GRU whose reset gate works before the product (linear_before_reset = 0, ONNX's own default):
// n = tanh(W x + b + V (r h) + c), step by step; [T + 1, N, H], the last state behind.
Tensor reset_before(const Tensor& x, const RecurrentParameters& p, const Tensor& first,
                    const RecurrentOptions& options) {
  const std::int64_t width = p.hidden_weight.dim(1);
  const Tensor sums = linear(x, p.input_weight, p.input_bias);
  const auto rows = [&](const Tensor& of, std::int64_t begin, std::int64_t end) {
    return of.defined() ? slice(of, 0, begin * width, end * width) : of;
  };
  const Tensor gate_weight = rows(p.hidden_weight, 0, 2);
  const Tensor new_weight = rows(p.hidden_weight, 2, 3);
  Tensor hidden = first.defined() ? first : zeros({x.dim(1), width}, x.dtype());
  Tensors steps(static_cast<std::size_t>(x.dim(0)));
  for (std::int64_t i = 0; i < x.dim(0); ++i) {
    const std::int64_t t = options.reverse ? x.dim(0) - 1 - i : i;
    const Tensor own = squeeze(slice(sums, 0, t, t + 1), 0);
    const Tensor gates = sigmoid(slice(own, 1, 0, 2 * width) +
                                 linear(hidden, gate_weight, rows(p.hidden_bias, 0, 2)));
    const Tensor reset = slice(gates, 1, 0, width);
    const Tensor update = slice(gates, 1, width, 2 * width);
    const Tensor candidate =
        tanh(slice(own, 1, 2 * width, 3 * width) +
             linear(mul(reset, hidden), new_weight, rows(p.hidden_bias, 2, 3)));
    hidden = mul(1.0 - update, candidate) + mul(update, hidden);
    steps[static_cast<std::size_t>(t)] = unsqueeze(hidden, 0);
  }
  steps.push_back(unsqueeze(hidden, 0));
  return concat(steps, 0);
}

enum class Cell { kRnn, kLstm, kGru };

void check_cell(const OnnxCall& call, Cell cell) {
  const OnnxAttribute* const names = call.node().find("activations");
  const std::vector<std::string> usual = cell == Cell::kRnn
                                             ? std::vector<std::string>{"Tanh"}
                                             : std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"};
  const std::size_t each = cell == Cell::kGru ? 2 : usual.size();
  if (names != nullptr) {
    for (std::size_t i = 0; i < names->texts.size(); ++i) {
      const bool is_relu =
          cell == Cell::kRnn && names->texts[i] == "Relu" && names->texts[i] == names->texts[0];
      if (names->texts[i] != usual[i % each] && !is_relu) {
        call.fail("the usual activations", names->texts[i]);
      }
    }
  }
  if (call.node().find("clip") != nullptr) call.fail("no clip", "one");
  if (call.integer("input_forget", 0) != 0) call.fail("input_forget 0", "1");
  if (call.has(7)) call.fail("no peepholes", "some");
  if (call.in(0).ndim() != 3 || call.in(1).ndim() != 3 || call.in(2).ndim() != 3) {
    call.fail("x, W and R of three axes", to_string(call.in(0).shape()));
  }
}

Tensor one_direction(const OnnxCall& call, Cell cell, const Tensor& x, std::int64_t direction,
                     const RecurrentOptions& options) {
  const bool by_batch = call.integer("layout", 0) != 0;
  const auto state = [&](int index) {
    if (!call.has(index)) return Tensor();
    const Tensor by_direction = by_batch ? transpose(call.in(index), 0, 1) : call.in(index);
    return squeeze(slice(by_direction, 0, direction, direction + 1), 0);
  };
  if (cell == Cell::kLstm) {
    return lstm(x, parameters_of(call, direction, {0, 2, 3, 1}), {state(5), state(6)}, options);
  }
  if (cell == Cell::kGru) {
    const RecurrentParameters parameters = parameters_of(call, direction, {1, 0, 2});
    if (call.integer("linear_before_reset", 0) != 0) {
      return gru(x, parameters, {state(5), {}}, options);
    }
    if (options.lengths.defined()) {
      call.fail("sequences of one length, or linear_before_reset 1", "lengths");
    }
    return reset_before(x, parameters, state(5), options);
  }
  const OnnxAttribute* const names = call.node().find("activations");
  const bool is_relu = names != nullptr && !names->texts.empty() && names->texts[0] == "Relu";
  return rnn(x, parameters_of(call, direction, {0}), {state(5), {}}, options,
             is_relu ? RnnActivation::kRelu : RnnActivation::kTanh);
}

Tensors run_cell(const OnnxCall& call, Cell cell) {
  check_cell(call, cell);
  const bool by_batch = call.integer("layout", 0) != 0;
  const Tensor x = by_batch ? transpose(call.in(0), 0, 1) : call.in(0);
  const std::string direction = call.text("direction", "forward");
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  RecurrentOptions options;
  options.with_state = true;
  if (call.has(4)) options.lengths = call.in(4).array().strided().to(DType::kI64);
  Tensors outputs;
  Tensors hidden;
  Tensors last_cells;
  const std::int64_t steps = x.dim(0);
  for (std::int64_t i = 0; i < directions; ++i) {
    options.reverse = direction == "reverse" || i == 1;
    const Tensor all = one_direction(call, cell, x, i, options);
    outputs.push_back(unsqueeze(slice(all, 0, 0, steps), 1));
    hidden.push_back(slice(all, 0, steps, steps + 1));
    if (cell == Cell::kLstm) last_cells.push_back(slice(all, 0, steps + 1, steps + 2));
  }
  Tensor y = concat(outputs, 1);  // [T, D, N, H]
  Tensor last = concat(hidden, 0);
  if (by_batch) {
    y = permute(y, {2, 0, 1, 3});
    last = transpose(last, 0, 1);
  }
  Tensors results = {y, last};
  if (cell == Cell::kLstm) {
    const Tensor cells = concat(last_cells, 0);
    results.push_back(by_batch ? transpose(cells, 0, 1) : cells);
  }
  return results;
}

Tensors rnn_of(const OnnxCall& call) { return run_cell(call, Cell::kRnn); }
Tensors lstm_of(const OnnxCall& call) { return run_cell(call, Cell::kLstm); }
Tensors gru_of(const OnnxCall& call) { return run_cell(call, Cell::kGru); }

constexpr OnnxOperator kRecurrentOps[] = {{"GRU", gru_of}, {"LSTM", lstm_of}, {"RNN", rnn_of}};

}  // namespace

std::span<const OnnxOperator> onnx_recurrent_ops() { return kRecurrentOps; }

}  // namespace weft
