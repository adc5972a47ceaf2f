#include "weft/nn/recurrent.h"

#include <cmath>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/nn/layer/sizes.h"
#include "weft/op/dropout.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// Calls add(name, tensor, shape, kind) for the parameters of one layer or cell.
using AddParameter =
    std::function<void(const char* name, Tensor& tensor, const Shape& shape, ParameterKind kind)>;

void add_parameters(RecurrentParameters& parameters, std::int64_t gates, std::int64_t inputs,
                    const RecurrentCellShape& shape, const AddParameter& add) {
  const std::int64_t rows = gates * shape.width;
  add("weight_ih", parameters.input_weight, {rows, inputs}, ParameterKind::kWeight);
  add("weight_hh", parameters.hidden_weight, {rows, shape.width}, ParameterKind::kWeight);
  if (!shape.bias) return;
  add("bias_ih", parameters.input_bias, {rows}, ParameterKind::kBias);
  add("bias_hh", parameters.hidden_bias, {rows}, ParameterKind::kBias);
}

Initializer uniform_initializer(std::int64_t width) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(width));
  return [bound](Array& values, Rng& rng) { fill_uniform(values, rng, bound); };
}

// [N, inputs] as one step.
Tensor one_step(const char* cell, const Tensor& x) {
  if (x.ndim() != 2) {
    throw std::invalid_argument(
        fmt::format("[{}] expected x [N, inputs], got {}", cell, to_string(x.shape())));
  }
  return reshape(x, {1, x.dim(0), x.dim(1)});
}

Tensor select_state(const Tensor& states, std::size_t index) {
  if (!states.defined()) return {};
  const auto at = static_cast<std::int64_t>(index);
  return squeeze(slice(states, 0, at, at + 1), 0);
}

}  // namespace

Recurrent::Recurrent(const RecurrentShape& shape, Kind kind) : shape_(shape), kind_(kind) {
  require_positive("recurrent",
                   {{"inputs", shape.inputs}, {"width", shape.width}, {"layers", shape.layers}});
  if (!(shape.dropout >= 0.0 && shape.dropout < 1.0)) {
    throw std::invalid_argument(
        fmt::format("[recurrent] expected dropout in [0, 1), got {}", shape.dropout));
  }
  const std::int64_t directions = shape.bidirectional ? 2 : 1;
  const std::int64_t gates = kind == Kind::kLstm ? 4 : kind == Kind::kGru ? 3 : 1;
  // The module keeps the addresses of its parameters.
  parameters_.resize(static_cast<std::size_t>(shape.layers * directions));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const std::int64_t inputs = index < directions ? shape.inputs : directions * shape.width;
    const std::string suffix =
        fmt::format("_l{}{}", index / directions, index % directions == 1 ? "_reverse" : "");
    add_parameters(parameters_[i], gates, inputs, {inputs, shape.width, shape.bias},
                   [&](const char* name, Tensor& tensor, const Shape& size, ParameterKind role) {
                     register_parameter(name + suffix, tensor, size, role,
                                        uniform_initializer(shape.width));
                   });
  }
}

Tensor Recurrent::layer(const Tensor& x, std::size_t index, const RecurrentState& first,
                        const RecurrentOptions& options) const {
  const RecurrentParameters& parameters = parameters_[index];
  switch (kind_) {
    case Kind::kLstm:
      return lstm(x, parameters, first, options);
    case Kind::kGru:
      return gru(x, parameters, first, options);
    case Kind::kRelu:
      return rnn(x, parameters, first, options, RnnActivation::kRelu);
    case Kind::kTanh:
      break;
  }
  return rnn(x, parameters, first, options, RnnActivation::kTanh);
}

// By item of the batch, so that a batch that is split over peers has the masks of the whole one.
Tensor Recurrent::drop(const Tensor& x, std::int64_t after) const {
  if (shape_.dropout == 0.0 || !is_training() || after + 1 == shape_.layers) return x;
  const std::uint32_t layer = place() + (static_cast<std::uint32_t>(after) << 20);
  return transpose(dropout(transpose(x, 0, 1), shape_.dropout, step_words(), layer, true), 0, 1);
}

Recurrent::Source Recurrent::source(const Tensor& x, const Tensor& tokens) const {
  const auto steps_first = [&](const Tensor& each) {
    return shape_.batch_first && each.ndim() >= 2 ? transpose(each, 0, 1) : each;
  };
  if (tokens.defined()) return {x, steps_first(tokens).array()};
  return {steps_first(x), {}};
}

Tensor Recurrent::outputs(const Source& source) {
  Tensor value = source.x;
  RecurrentOptions options;
  options.tokens = source.tokens;
  const std::size_t directions = shape_.bidirectional ? 2 : 1;
  for (std::size_t i = 0; i < parameters_.size(); i += directions) {
    const Tensor below = value;
    value = layer(below, i, {}, options);
    if (directions == 2) {
      options.reverse = true;
      value = concat({value, layer(below, i + 1, {}, options)}, 2);
    }
    value = drop(value, static_cast<std::int64_t>(i / directions));
    options = {};
  }
  return shape_.batch_first ? transpose(value, 0, 1) : value;
}

Tensor Recurrent::forward(const Tensor& x) { return outputs(source(x, {})); }
Tensor Recurrent::forward_tokens(const Tensor& table, const Tensor& tokens) {
  return outputs(source(table, tokens));
}

RecurrentResult Recurrent::outputs_and_states(const Source& source, const RecurrentState& first,
                                              const Array& lengths) {
  Tensor value = source.x;
  RecurrentOptions options;
  options.tokens = source.tokens;
  options.lengths = lengths;
  options.with_state = true;
  const std::size_t directions = shape_.bidirectional ? 2 : 1;
  std::vector<Tensor> hidden;
  std::vector<Tensor> cell;
  for (std::size_t i = 0; i < parameters_.size(); i += directions) {
    std::vector<Tensor> outputs;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      options.reverse = direction == 1;
      const Tensor all = layer(
          value, i + direction,
          {select_state(first.hidden, i + direction), select_state(first.cell, i + direction)},
          options);
      const std::int64_t steps = all.dim(0) - (kind_ == Kind::kLstm ? 2 : 1);
      outputs.push_back(slice(all, 0, 0, steps));
      hidden.push_back(slice(all, 0, steps, steps + 1));
      if (kind_ == Kind::kLstm) cell.push_back(slice(all, 0, steps + 1, steps + 2));
    }
    value = directions == 2 ? concat(outputs, 2) : outputs[0];
    value = drop(value, static_cast<std::int64_t>(i / directions));
    options.tokens = {};
  }
  return {shape_.batch_first ? transpose(value, 0, 1) : value, concat(hidden, 0),
          cell.empty() ? Tensor() : concat(cell, 0)};
}

RecurrentResult Recurrent::operator()(const Tensor& x, const RecurrentState& first,
                                      const Array& lengths) {
  return outputs_and_states(source(x, {}), first, lengths);
}
RecurrentResult Recurrent::with_tokens(const Tensor& table, const Tensor& tokens,
                                       const RecurrentState& first, const Array& lengths) {
  return outputs_and_states(source(table, tokens), first, lengths);
}

RNNCell::RNNCell(const RecurrentCellShape& shape, RnnActivation activation)
    : activation_(activation) {
  require_positive("rnn_cell", {{"inputs", shape.inputs}, {"width", shape.width}});
  add_parameters(parameters_, 1, shape.inputs, shape,
                 [&](const char* name, Tensor& tensor, const Shape& size, ParameterKind kind) {
                   register_parameter(name, tensor, size, kind, uniform_initializer(shape.width));
                 });
}

Tensor RNNCell::operator()(const Tensor& x, const Tensor& hidden) {
  return squeeze(rnn(one_step("rnn_cell", x), parameters_, {hidden, {}}, {}, activation_), 0);
}

LSTMCell::LSTMCell(const RecurrentCellShape& shape) {
  require_positive("lstm_cell", {{"inputs", shape.inputs}, {"width", shape.width}});
  add_parameters(parameters_, 4, shape.inputs, shape,
                 [&](const char* name, Tensor& tensor, const Shape& size, ParameterKind kind) {
                   register_parameter(name, tensor, size, kind, uniform_initializer(shape.width));
                 });
}

RecurrentState LSTMCell::operator()(const Tensor& x, const RecurrentState& state) {
  RecurrentOptions options;
  options.with_state = true;
  const Tensor all = lstm(one_step("lstm_cell", x), parameters_, state, options);
  return {select_state(all, 1), select_state(all, 2)};
}

GRUCell::GRUCell(const RecurrentCellShape& shape) {
  require_positive("gru_cell", {{"inputs", shape.inputs}, {"width", shape.width}});
  add_parameters(parameters_, 3, shape.inputs, shape,
                 [&](const char* name, Tensor& tensor, const Shape& size, ParameterKind kind) {
                   register_parameter(name, tensor, size, kind, uniform_initializer(shape.width));
                 });
}

Tensor GRUCell::operator()(const Tensor& x, const Tensor& hidden) {
  return squeeze(gru(one_step("gru_cell", x), parameters_, {hidden, {}}), 0);
}

}  // namespace weft
