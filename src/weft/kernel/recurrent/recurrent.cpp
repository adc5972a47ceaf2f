#include "weft/kernel/recurrent/recurrent.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/gemm/gemm.h"
#include "weft/kernel/gemm/int8.h"
#include "weft/kernel/recurrent/gate_loops.h"

namespace weft {
namespace {

// Rows of the batch that a thread takes at least: fewer make slow products.
constexpr std::int64_t kRowGrain = 6;

// A matrix in memory: element (i, j) is data[i * row_step + j * column_step].
template <class T>
struct RecurrentMatrix {
  const T* data;
  std::int64_t row_step;
  std::int64_t column_step;
};

// Rows of sums, `step` apart.
template <class T>
struct Sums {
  T* data;
  std::int64_t step;
  bool accumulate;
  const T* bias;
};

// The fixed factor b [k, n] of the product of each step.
template <class T>
class StepProduct;

template <>
class StepProduct<float> {
 public:
  StepProduct(const RecurrentMatrix<float>& b, std::int64_t k, std::int64_t n)
      : packed_(
            std::make_shared<PackedMatrix>(GemmOperand{b.data, b.row_step, b.column_step}, k, n)) {}
  // b = weight^T for weight [n, k].
  explicit StepProduct(const Array& weight) : quantised_(int8_weight(weight)) {
    if (quantised_ != nullptr) return;
    packed_ = packed_weight(weight);
    if (packed_ != nullptr) return;
    const std::int64_t k = weight.dim(1);
    packed_ =
        std::make_shared<PackedMatrix>(GemmOperand{weight.data<float>(), 1, k}, k, weight.dim(0));
  }
  void run(std::int64_t rows, const float* a, const Sums<float>& out) const {
    const GemmOutput sums{out.data, out.step, out.accumulate, out.bias};
    if (quantised_ != nullptr) {
      gemm_int8_here(rows, a, quantised_->k(), *quantised_, sums);
    } else {
      gemm_packed(rows, {a, packed_->k(), 1}, *packed_, sums);
    }
  }

 private:
  std::shared_ptr<const Int8Matrix> quantised_;  // else packed_
  std::shared_ptr<const PackedMatrix> packed_;
};

template <>
class StepProduct<double> {
 public:
  StepProduct(const RecurrentMatrix<double>& b, std::int64_t k, std::int64_t n)
      : b_(b), k_(k), n_(n) {}
  explicit StepProduct(const Array& weight)
      : StepProduct({weight.data<double>(), 1, weight.dim(1)}, weight.dim(1), weight.dim(0)) {}
  void run(std::int64_t rows, const double* a, const Sums<double>& out) const {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < n_; ++j) {
        double& to = out.data[i * out.step + j];
        double sum = out.accumulate ? to : 0.0;
        for (std::int64_t k = 0; k < k_; ++k) {
          sum += a[i * k_ + k] * b_.data[k * b_.row_step + j * b_.column_step];
        }
        to = sum + (out.bias != nullptr ? out.bias[j] : 0.0);
      }
    }
  }

 private:
  RecurrentMatrix<double> b_;
  std::int64_t k_;
  std::int64_t n_;
};

// x weight^T + bias for all steps.
void input_product(std::int64_t rows, const float* x, const Array& weight, const float* bias,
                   float* out) {
  const std::int64_t k = weight.dim(1);
  const GemmOutput sums{out, weight.dim(0), false, bias};
  if (const auto quantised = int8_weight(weight)) {
    gemm_int8(rows, x, k, *quantised, sums);
    return;
  }
  if (const auto packed = packed_weight(weight)) {
    gemm(rows, {x, k, 1}, *packed, sums);
    return;
  }
  gemm({rows, weight.dim(0), k}, {x, k, 1}, {weight.data<float>(), 1, k}, sums);
}
void input_product(std::int64_t rows, const double* x, const Array& weight, const double* bias,
                   double* out) {
  StepProduct<double>(weight).run(rows, x, {out, weight.dim(0), false, bias});
}

template <class T>
const T* recurrent_values(const Array& array) {
  return array.defined() ? array.data<T>() : nullptr;
}

// The sizes of a run and where a step finds its rows.
struct Walk {
  RecurrentRun run;
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t width;

  std::int64_t gates() const { return gate_count(run.cell) * width; }
  // The time of step `index` in the order of the run.
  std::int64_t time_at(std::int64_t index) const { return run.reverse ? steps - 1 - index : index; }
  // Where the state before and after time t lies.
  std::int64_t before(std::int64_t t) const { return run.reverse ? t + 1 : t; }
  std::int64_t after(std::int64_t t) const { return run.reverse ? t : t + 1; }
  std::int64_t row(std::int64_t t, std::int64_t n) const { return t * batch + n; }
};

Walk walk_of(const Array& hidden, const RecurrentRun& run) {
  return {run, hidden.dim(0) - 1, hidden.dim(1), hidden.dim(2)};
}

bool lives(const std::int64_t* lengths, std::int64_t n, std::int64_t t) {
  return lengths == nullptr || t < lengths[n];
}

template <class T>
struct ForwardPass {
  Walk walk;
  const StepProduct<T>& product;
  const T* hidden_bias;  // GRU; of others the input's sums hold it
  const std::int64_t* lengths;
  T* gates;
  T* hidden;
  T* cell;
  T* candidate_sums;
  const GateLoops<T>& loops = gate_loops<T>();

  void row(std::int64_t t, std::int64_t n, T* sums) const {
    const std::int64_t width = walk.width;
    T* const gate = gates + walk.row(t, n) * walk.gates();
    const T* const before = hidden + walk.row(walk.before(t), n) * width;
    T* const after = hidden + walk.row(walk.after(t), n) * width;
    if (!lives(lengths, n, t)) {
      std::fill_n(gate, walk.gates(), T{0});
      std::copy_n(before, width, after);
      if (walk.run.cell == RecurrentCell::kLstm) {
        std::copy_n(cell + walk.row(walk.before(t), n) * width, width,
                    cell + walk.row(walk.after(t), n) * width);
      }
      if (walk.run.cell == RecurrentCell::kGru) {
        std::fill_n(candidate_sums + walk.row(t, n) * width, width, T{0});
      }
      return;
    }
    switch (walk.run.cell) {
      case RecurrentCell::kLstm:
        return loops.lstm({gate, cell + walk.row(walk.before(t), n) * width,
                           cell + walk.row(walk.after(t), n) * width, after},
                          width);
      case RecurrentCell::kGru:
        return loops.gru({gate, sums, candidate_sums + walk.row(t, n) * width, before, after},
                         width);
      case RecurrentCell::kTanh:
        return loops.tanh(gate, after, width);
      case RecurrentCell::kRelu:
        return loops.relu(gate, after, width);
    }
  }

  // All steps of sequences [begin, end).
  void rows(std::int64_t begin, std::int64_t end) const {
    const bool gru = walk.run.cell == RecurrentCell::kGru;
    std::vector<T> sums(gru ? static_cast<std::size_t>((end - begin) * walk.gates()) : 0);
    for (std::int64_t index = 0; index < walk.steps; ++index) {
      const std::int64_t t = walk.time_at(index);
      T* const gate = gates + walk.row(t, begin) * walk.gates();
      product.run(end - begin, hidden + walk.row(walk.before(t), begin) * walk.width,
                  gru ? Sums<T>{sums.data(), walk.gates(), false, hidden_bias}
                      : Sums<T>{gate, walk.gates(), true, nullptr});
      for (std::int64_t n = begin; n < end; ++n) {
        row(t, n, gru ? sums.data() + (n - begin) * walk.gates() : nullptr);
      }
    }
  }
};

template <class T>
void copy_or_zero(const Array& from, T* to, std::int64_t count) {
  if (from.defined()) {
    std::copy_n(from.data<T>(), count, to);
  } else {
    std::fill_n(to, count, T{0});
  }
}

// The operations of the products of all steps with `columns` values in each row.
double recurrent_flops(const Walk& walk, std::int64_t columns) {
  return 2.0 * static_cast<double>(walk.steps * walk.batch) * static_cast<double>(walk.gates()) *
         static_cast<double>(columns);
}

// What is added to all sums of a step: both biases, but those of a GRU's hidden state.
template <class T>
std::vector<T> joint_bias(const Array& input_bias, const Array& hidden_bias, bool gru) {
  std::vector<T> bias;
  if (input_bias.defined()) {
    const std::span<const T> values = input_bias.flat<T>();
    bias.assign(values.begin(), values.end());
  }
  if (hidden_bias.defined() && !gru) {
    const std::span<const T> values = hidden_bias.flat<T>();
    bias.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) bias[i] += values[i];
  }
  return bias;
}

// in: x, input weight, hidden weight, input bias, hidden bias, first hidden, first cell, lengths.
// out: gates, hidden, then the cell or the candidate's sums.
template <class T>
void recurrent_forward_body(LaunchArrays in, LaunchArrays out, const RecurrentRun& run) {
  const Walk walk = walk_of(out[1], run);
  const bool gru = run.cell == RecurrentCell::kGru;
  const std::int64_t state = walk.batch * walk.width;
  const std::int64_t first = run.reverse ? walk.steps * state : 0;
  copy_or_zero(in[5], out[1].data<T>() + first, state);
  T* const extra = out.size() > 2 ? out[2].data<T>() : nullptr;
  if (run.cell == RecurrentCell::kLstm) copy_or_zero(in[6], extra + first, state);
  if (state == 0 || walk.steps == 0) return;
  launch_flops(recurrent_flops(walk, in[0].dim(2) + walk.width));
  const std::vector<T> bias = joint_bias<T>(in[3], in[4], gru);
  input_product(walk.steps * walk.batch, in[0].data<T>(), in[1],
                bias.empty() ? nullptr : bias.data(), out[0].data<T>());
  const StepProduct<T> product(in[2]);
  const ForwardPass<T> pass{walk,
                            product,
                            gru ? recurrent_values<T>(in[4]) : nullptr,
                            recurrent_values<std::int64_t>(in[7]),
                            out[0].data<T>(),
                            out[1].data<T>(),
                            extra,
                            extra};
  parallel_for(walk.batch, kRowGrain,
               [&](std::int64_t begin, std::int64_t end) { pass.rows(begin, end); });
}

template <class T>
struct BackwardPass {
  Walk walk;
  const StepProduct<T>& product;
  const std::int64_t* lengths;
  const T* gates;
  const T* hidden;
  const T* cell;
  const T* candidate_sums;
  const T* output_gradient;
  T* input_sums;
  T* hidden_sums;      // those of the input unless GRU
  T* hidden_gradient;  // [N, width]: of the state after the step, then of that before
  T* cell_gradient;
  const GateLoops<T>& loops = gate_loops<T>();

  void row(std::int64_t t, std::int64_t n) const {
    const std::int64_t width = walk.width;
    const std::int64_t at = walk.row(t, n);
    const std::int64_t before = walk.row(walk.before(t), n) * width;
    const std::int64_t after = walk.row(walk.after(t), n) * width;
    T* const out = input_sums + at * walk.gates();
    T* const sums = hidden_sums + at * walk.gates();
    T* const gradient = hidden_gradient + n * width;
    if (!lives(lengths, n, t)) {
      std::fill_n(out, walk.gates(), T{0});
      if (sums != out) std::fill_n(sums, walk.gates(), T{0});
      return;
    }
    loops.add(output_gradient + at * width, gradient, width);
    const T* const gate = gates + at * walk.gates();
    switch (walk.run.cell) {
      case RecurrentCell::kLstm:
        loops.lstm_gradient(
            {gate, cell + before, cell + after, gradient, cell_gradient + n * width, out}, width);
        break;
      case RecurrentCell::kGru:
        // Leaves in `gradient` what goes past the matrix.
        return loops.gru_gradient(
            {gate, candidate_sums + at * width, hidden + before, gradient, out, sums}, width);
      case RecurrentCell::kTanh:
        loops.tanh_gradient(hidden + after, gradient, out, width);
        break;
      case RecurrentCell::kRelu:
        loops.relu_gradient(hidden + after, gradient, out, width);
        break;
    }
    std::fill_n(gradient, width, T{0});
  }

  void rows(std::int64_t begin, std::int64_t end) const {
    for (std::int64_t index = walk.steps - 1; index >= 0; --index) {
      const std::int64_t t = walk.time_at(index);
      for (std::int64_t n = begin; n < end; ++n) row(t, n);
      product.run(end - begin, hidden_sums + walk.row(t, begin) * walk.gates(),
                  {hidden_gradient + begin * walk.width, walk.width, true, nullptr});
    }
  }
};

// in: gates, hidden, cell or candidate's sums or undefined, hidden weight, lengths, the output's
// gradient, that of the last hidden state, that of the last cell.
// out: gradients of the input's sums, of the first hidden state, then GRU: of the hidden state's
// sums; LSTM: of the first cell.
template <class T>
void recurrent_backward_body(LaunchArrays in, LaunchArrays out, const RecurrentRun& run) {
  const Walk walk = walk_of(in[1], run);
  const std::int64_t state = walk.batch * walk.width;
  copy_or_zero(in[6], out[1].data<T>(), state);
  if (run.cell == RecurrentCell::kLstm) copy_or_zero(in[7], out[2].data<T>(), state);
  if (state == 0 || walk.steps == 0) return;
  launch_flops(recurrent_flops(walk, walk.width));
  const StepProduct<T> product({in[3].data<T>(), walk.width, 1}, walk.gates(), walk.width);
  const T* const extra = recurrent_values<T>(in[2]);
  T* const more = out.size() > 2 ? out[2].data<T>() : nullptr;
  const BackwardPass<T> pass{walk,
                             product,
                             recurrent_values<std::int64_t>(in[4]),
                             in[0].data<T>(),
                             in[1].data<T>(),
                             extra,
                             extra,
                             in[5].data<T>(),
                             out[0].data<T>(),
                             run.cell == RecurrentCell::kGru ? more : out[0].data<T>(),
                             out[1].data<T>(),
                             more};
  parallel_for(walk.batch, kRowGrain,
               [&](std::int64_t begin, std::int64_t end) { pass.rows(begin, end); });
}

// in: hidden, cell, lengths. out: the output with what it has of the last state.
template <class T>
void output_body(LaunchArrays in, LaunchArrays out, const RecurrentRun& run) {
  const Walk walk = walk_of(in[0], run);
  const std::int64_t* const lengths = recurrent_values<std::int64_t>(in[2]);
  const std::int64_t state = walk.batch * walk.width;
  const T* const hidden = in[0].data<T>();
  T* to = out[0].data<T>();
  for (std::int64_t t = 0; t < walk.steps; ++t) {
    for (std::int64_t n = 0; n < walk.batch; ++n, to += walk.width) {
      if (lives(lengths, n, t)) {
        std::copy_n(hidden + walk.row(walk.after(t), n) * walk.width, walk.width, to);
      } else {
        std::fill_n(to, walk.width, T{0});
      }
    }
  }
  const std::int64_t last = run.reverse ? 0 : walk.steps * state;
  if (out[0].dim(0) > walk.steps) to = std::copy_n(hidden + last, state, to);
  if (out[0].dim(0) > walk.steps + 1) std::copy_n(in[1].data<T>() + last, state, to);
}

Array copied_output(const RecurrentTrace& trace, const Array& lengths, const RecurrentRun& run,
                    std::int64_t rows) {
  const Array& hidden = trace.hidden;
  Array out = Array::empty({rows, hidden.dim(1), hidden.dim(2)}, hidden.dtype(), hidden.device());
  launch("recurrent_output", {&hidden, &trace.cell, &lengths}, {&out},
         [run](LaunchArrays in, LaunchArrays to) {
           if (to[0].dtype() == DType::kF64) return output_body<double>(in, to, run);
           output_body<float>(in, to, run);
         });
  return out;
}

}  // namespace

RecurrentTrace recurrent_forward(const RecurrentInputs& inputs, const RecurrentRun& run) {
  const DType dtype = inputs.x.dtype();
  const Device device = inputs.x.device();
  const std::int64_t steps = inputs.x.dim(0);
  const std::int64_t batch = inputs.x.dim(1);
  const std::int64_t width = inputs.hidden_weight.dim(1);
  RecurrentTrace trace;
  trace.gates = Array::empty({steps, batch, gate_count(run.cell) * width}, dtype, device);
  trace.hidden = Array::empty({steps + 1, batch, width}, dtype, device);
  std::vector<Array*> outputs = {&trace.gates, &trace.hidden};
  if (run.cell == RecurrentCell::kLstm) {
    trace.cell = Array::empty({steps + 1, batch, width}, dtype, device);
    outputs.push_back(&trace.cell);
  } else if (run.cell == RecurrentCell::kGru) {
    trace.candidate_sums = Array::empty({steps, batch, width}, dtype, device);
    outputs.push_back(&trace.candidate_sums);
  }
  const std::array<const Array*, 8> operands = {
      &inputs.x,           &inputs.input_weight, &inputs.hidden_weight, &inputs.input_bias,
      &inputs.hidden_bias, &inputs.first_hidden, &inputs.first_cell,    &inputs.lengths};
  launch("recurrent", operands, outputs, [run](LaunchArrays in, LaunchArrays out) {
    if (out[0].dtype() == DType::kF64) return recurrent_forward_body<double>(in, out, run);
    recurrent_forward_body<float>(in, out, run);
  });
  return trace;
}

Array recurrent_output(const RecurrentTrace& trace, const Array& lengths, const RecurrentRun& run) {
  const std::int64_t steps = trace.hidden.dim(0) - 1;
  if (lengths.defined()) return copied_output(trace, lengths, run, steps);
  const std::int64_t first = run.reverse ? 0 : 1;
  return trace.hidden.slice(0, first, first + steps);
}

Array recurrent_output_and_state(const RecurrentTrace& trace, const Array& lengths,
                                 const RecurrentRun& run) {
  return copied_output(trace, lengths, run, trace.hidden.dim(0) + (trace.cell.defined() ? 1 : 0));
}

RecurrentGradient recurrent_backward(const RecurrentTrace& trace, const Array& hidden_weight,
                                     const Array& lengths, const RecurrentRun& run,
                                     const Array& output_gradient, bool with_state) {
  const Array& hidden = trace.hidden;
  const std::int64_t steps = hidden.dim(0) - 1;
  const Shape state = {hidden.dim(1), hidden.dim(2)};
  RecurrentGradient gradient;
  gradient.input_sums = Array::empty(trace.gates.shape(), hidden.dtype(), hidden.device());
  gradient.hidden_sums = gradient.input_sums;
  gradient.first_hidden = Array::empty(state, hidden.dtype(), hidden.device());
  std::vector<Array*> outputs = {&gradient.input_sums, &gradient.first_hidden};
  if (run.cell == RecurrentCell::kLstm) {
    gradient.first_cell = Array::empty(state, hidden.dtype(), hidden.device());
    outputs.push_back(&gradient.first_cell);
  } else if (run.cell == RecurrentCell::kGru) {
    gradient.hidden_sums = Array::empty(trace.gates.shape(), hidden.dtype(), hidden.device());
    outputs.push_back(&gradient.hidden_sums);
  }
  const Array dy = output_gradient.contiguous();
  const Array outputs_gradient = dy.slice(0, 0, steps);
  const Array last_hidden = with_state ? dy.select(0, steps) : Array();
  const bool with_cell = with_state && run.cell == RecurrentCell::kLstm;
  const Array last_cell = with_cell ? dy.select(0, steps + 1) : Array();
  const Array& extra = run.cell == RecurrentCell::kGru ? trace.candidate_sums : trace.cell;
  const std::array<const Array*, 8> operands = {&trace.gates,   &hidden,   &extra,
                                                &hidden_weight, &lengths,  &outputs_gradient,
                                                &last_hidden,   &last_cell};
  launch("recurrent_gradient", operands, outputs, [run](LaunchArrays in, LaunchArrays out) {
    if (out[0].dtype() == DType::kF64) return recurrent_backward_body<double>(in, out, run);
    recurrent_backward_body<float>(in, out, run);
  });
  return gradient;
}

}  // namespace weft
