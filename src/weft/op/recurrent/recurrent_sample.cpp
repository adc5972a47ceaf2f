// The samples of rnn, lstm and gru and the reference that they compare with: one sequence and one
// value after another, from the formulas.
#include <algorithm>
#include <cmath>

#include "weft/op/core/sample.h"
#include "weft/op/recurrent/recurrent_layer.h"

namespace weft {
namespace {

// What of the inputs is there. Order: x, weights, then biases, first states.
struct RecurrentCase {
  RecurrentCell cell = RecurrentCell::kTanh;
  std::int64_t steps = 3;
  std::int64_t batch = 2;
  std::int64_t inputs = 4;
  std::int64_t width = 3;
  bool biases = true;
  bool first = false;
  bool reverse = false;
  bool with_state = false;
  std::vector<std::int64_t> lengths = {};

  bool lstm() const { return cell == RecurrentCell::kLstm; }
};

double logistic(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// One sequence through all its steps.
class Sequence {
 public:
  Sequence(const RecurrentCase& c, std::span<const Array> in, std::int64_t n)
      : case_(c), in_(in), n_(n), hidden_(static_cast<std::size_t>(c.width)), cell_(hidden_) {
    if (!c.first) return;
    const std::size_t at = c.biases ? 5 : 3;
    for (std::int64_t j = 0; j < c.width; ++j) {
      hidden(j) = in[at].data<double>()[n * c.width + j];
      if (c.lstm()) cell(j) = in[at + 1].data<double>()[n * c.width + j];
    }
  }

  double& hidden(std::int64_t j) { return hidden_[static_cast<std::size_t>(j)]; }
  double& cell(std::int64_t j) { return cell_[static_cast<std::size_t>(j)]; }

  void step(std::int64_t t) {
    const std::vector<double> before = hidden_;
    for (std::int64_t j = 0; j < case_.width; ++j) {
      const auto sum = [&](std::int64_t gate) {
        const std::int64_t row = gate * case_.width + j;
        return input_sum(t, row) + hidden_sum(before, row);
      };
      switch (case_.cell) {
        case RecurrentCell::kTanh:
          hidden(j) = std::tanh(sum(0));
          break;
        case RecurrentCell::kRelu:
          hidden(j) = std::max(sum(0), 0.0);
          break;
        case RecurrentCell::kLstm:
          cell(j) = logistic(sum(1)) * cell(j) + logistic(sum(0)) * std::tanh(sum(2));
          hidden(j) = logistic(sum(3)) * std::tanh(cell(j));
          break;
        case RecurrentCell::kGru: {
          const std::int64_t row = 2 * case_.width + j;
          const double candidate =
              std::tanh(input_sum(t, row) + logistic(sum(0)) * hidden_sum(before, row));
          const double keep = logistic(sum(1));
          hidden(j) = (1.0 - keep) * candidate + keep * before[static_cast<std::size_t>(j)];
          break;
        }
      }
    }
  }

 private:
  double input_sum(std::int64_t t, std::int64_t row) const {
    double sum = case_.biases ? in_[3].data<double>()[row] : 0.0;
    for (std::int64_t k = 0; k < case_.inputs; ++k) {
      sum += in_[1].data<double>()[row * case_.inputs + k] *
             in_[0].data<double>()[(t * case_.batch + n_) * case_.inputs + k];
    }
    return sum;
  }
  double hidden_sum(const std::vector<double>& before, std::int64_t row) const {
    double sum = case_.biases ? in_[4].data<double>()[row] : 0.0;
    for (std::int64_t k = 0; k < case_.width; ++k) {
      sum += in_[2].data<double>()[row * case_.width + k] * before[static_cast<std::size_t>(k)];
    }
    return sum;
  }

  const RecurrentCase& case_;
  std::span<const Array> in_;
  std::int64_t n_;
  std::vector<double> hidden_;
  std::vector<double> cell_;
};

Array recurrent_reference(const RecurrentCase& c, std::span<const Array> in) {
  const std::int64_t states = c.with_state ? (c.lstm() ? 2 : 1) : 0;
  Array y = Array::full({c.steps + states, c.batch, c.width}, 0.0, DType::kF64);
  const auto at = [&](std::int64_t t, std::int64_t n, std::int64_t j) -> double& {
    return y.data<double>()[(t * c.batch + n) * c.width + j];
  };
  for (std::int64_t n = 0; n < c.batch; ++n) {
    Sequence sequence(c, in, n);
    const std::int64_t length =
        c.lengths.empty() ? c.steps : c.lengths[static_cast<std::size_t>(n)];
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t t = c.reverse ? length - 1 - i : i;
      sequence.step(t);
      for (std::int64_t j = 0; j < c.width; ++j) at(t, n, j) = sequence.hidden(j);
    }
    for (std::int64_t j = 0; j < c.width; ++j) {
      if (states > 0) at(c.steps, n, j) = sequence.hidden(j);
      if (states > 1) at(c.steps + 1, n, j) = sequence.cell(j);
    }
  }
  return y;
}

Tensor run_case(const char* op, const RecurrentCase& c, std::span<const Tensor> in) {
  RecurrentParameters parameters{in[1], in[2], {}, {}};
  std::size_t next = 3;
  if (c.biases) {
    parameters.input_bias = in[next++];
    parameters.hidden_bias = in[next++];
  }
  RecurrentState first;
  if (c.first) {
    first.hidden = in[next++];
    if (c.lstm()) first.cell = in[next++];
  }
  RecurrentOptions options;
  options.reverse = c.reverse;
  options.with_state = c.with_state;
  if (!c.lengths.empty()) {
    options.lengths = Array::from(c.lengths, {c.batch}).to(in[0].device());
  }
  return recurrent_layer(op, c.cell, in[0], parameters, first, options);
}

OpSample sample_of_case(const char* op, const char* name, const RecurrentCase& c) {
  const std::int64_t rows = gate_count(c.cell) * c.width;
  std::vector<Array> inputs = {sample_values({c.steps, c.batch, c.inputs}, 171),
                               sample_values({rows, c.inputs}, 172),
                               sample_values({rows, c.width}, 173)};
  if (c.biases) {
    inputs.push_back(sample_values({rows}, 174));
    inputs.push_back(sample_values({rows}, 175));
  }
  if (c.first) {
    inputs.push_back(sample_values({c.batch, c.width}, 176));
    if (c.lstm()) inputs.push_back(sample_values({c.batch, c.width}, 177));
  }
  return {name, std::move(inputs),
          [op, c](std::span<const Tensor> in) { return run_case(op, c, in); },
          [c](std::span<const Array> in) { return recurrent_reference(c, in); }};
}

}  // namespace

std::vector<OpSample> recurrent_samples(const char* op, RecurrentCell cell) {
  const auto with = [op, cell](const char* name, RecurrentCase c) {
    c.cell = cell;
    return sample_of_case(op, name, c);
  };
  return {
      with("3 steps", {}),
      with("no bias", {.biases = false}),
      with("first state, last state", {.first = true, .with_state = true}),
      with("reverse", {.first = true, .reverse = true, .with_state = true}),
      with("lengths",
           {.steps = 4, .batch = 3, .first = true, .with_state = true, .lengths = {2, 4, 0}}),
      with("lengths in reverse", {.steps = 4,
                                  .batch = 3,
                                  .first = true,
                                  .reverse = true,
                                  .with_state = true,
                                  .lengths = {3, 4, 1}}),
      with("odd sizes", {.steps = 2, .batch = 7, .inputs = 5, .width = 9}),
      with("one element", {.steps = 1, .batch = 1, .inputs = 1, .width = 1}),
      with("no rows", {.batch = 0}),
  };
}

}  // namespace weft
