#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/gemm/gemm.h"
#include "weft/kernel/index/gather.h"
#include "weft/kernel/recurrent/gate_loops.h"
#include "weft/kernel/recurrent/recurrent.h"
#include "weft/kernel/recurrent/recurrent_walk.h"
#include "weft/kernel/recurrent/step_product.h"

namespace weft {
namespace {

// The units of a layer that a thread computes, in every gate.
using Units = ColumnRange;

// Steps [begin, end) in the order of a run, whose sums and gates lie together.
struct Steps {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t first_time;  // the least of their times
};

template <class T>
struct ForwardPass {
  Walk walk;
  const StepProduct<T>& product;
  const T* hidden_bias;  // GRU; of others the input's sums hold it
  const std::int64_t* lengths;
  // The sums of each row of a table, and which row a step reads; null: sums are where gates are.
  const T* table;
  const std::int64_t* tokens;
  T* hidden;
  T* cell;
  Steps steps;
  T* gates;           // of these steps
  T* candidate_sums;  // likewise
  const GateLoops<T>& loops = gate_loops<T>();

  bool gru() const { return walk.run.cell == RecurrentCell::kGru; }
  T* gates_at(std::int64_t t, std::int64_t n) const {
    return gates + walk.row(t - steps.first_time, n) * walk.gates();
  }
  T* candidate_at(std::int64_t t, std::int64_t n) const {
    return candidate_sums + walk.row(t - steps.first_time, n) * walk.width;
  }

  // The state does not change after a sequence's end.
  void keep(std::int64_t t, std::int64_t n, const Units& units) const {
    const std::int64_t width = walk.width;
    const std::int64_t before = walk.row(walk.before(t), n) * width + units.first;
    const std::int64_t after = walk.row(walk.after(t), n) * width + units.first;
    for (std::int64_t gate = 0; gate < walk.gates(); gate += width) {
      std::fill_n(gates_at(t, n) + gate + units.first, units.count, T{0});
    }
    std::copy_n(hidden + before, units.count, hidden + after);
    if (walk.run.cell == RecurrentCell::kLstm) {
      std::copy_n(cell + before, units.count, cell + after);
    }
    if (gru()) {
      std::fill_n(candidate_at(t, n) + units.first, units.count, T{0});
    }
  }

  // `sums`, GRU: those of this row.
  void row(std::int64_t t, std::int64_t n, const T* sums, const Units& units) const {
    if (!lives(lengths, n, t)) return keep(t, n, units);
    const std::int64_t width = walk.width;
    const std::int64_t before = walk.row(walk.before(t), n) * width + units.first;
    const std::int64_t after = walk.row(walk.after(t), n) * width + units.first;
    T* const gate = gates_at(t, n) + units.first;
    switch (walk.run.cell) {
      case RecurrentCell::kLstm:
        return loops.lstm({gate, width, cell + before, cell + after, hidden + after}, units.count);
      case RecurrentCell::kGru:
        return loops.gru({gate, sums + units.first, width, candidate_at(t, n) + units.first,
                          hidden + before, hidden + after},
                         units.count);
      case RecurrentCell::kTanh:
        return loops.tanh(gate, hidden + after, units.count);
      case RecurrentCell::kRelu:
        return loops.relu(gate, hidden + after, units.count);
    }
  }

  // What a table says of these units at a step.
  void look_up(std::int64_t t, std::int64_t begin, std::int64_t end, const Units& units) const {
    for (std::int64_t n = begin; tokens != nullptr && n < end; ++n) {
      const T* const from = table + tokens[walk.row(t, n)] * walk.gates() + units.first;
      T* const to = gates_at(t, n) + units.first;
      for (std::int64_t gate = 0; gate < walk.gates(); gate += walk.width) {
        std::copy_n(from + gate, units.count, to + gate);
      }
    }
  }

  // Space for a GRU's sums of `rows` rows; other cells sum where their gates are.
  std::vector<T> own_sums(std::int64_t rows) const {
    return std::vector<T>(gru() ? static_cast<std::size_t>(rows * walk.gates()) : 0);
  }
  Sums<T> sums_of(std::int64_t t, std::int64_t begin, std::vector<T>& own) const {
    if (gru()) return {own.data(), walk.gates(), false, hidden_bias};
    return {gates_at(t, begin), walk.gates(), true, nullptr};
  }
  void gates_of_rows(std::int64_t t, std::int64_t begin, std::int64_t end,
                     const std::vector<T>& own, const Units& units) const {
    for (std::int64_t n = begin; n < end; ++n) {
      row(t, n, gru() ? own.data() + (n - begin) * walk.gates() : nullptr, units);
    }
  }

  // Sequences [begin, end).
  void rows(std::int64_t begin, std::int64_t end) const {
    std::vector<T> own = own_sums(end - begin);
    for (std::int64_t index = steps.begin; index < steps.end; ++index) {
      const std::int64_t t = walk.time_at(index);
      look_up(t, begin, end, {0, walk.width});
      product.run(end - begin, hidden + walk.row(walk.before(t), begin) * walk.width,
                  sums_of(t, begin, own));
      gates_of_rows(t, begin, end, own, {0, walk.width});
    }
  }

  // All sequences for some units, while other threads of a team compute the others.
  void units(const Units& units) const {
    std::vector<T> own = own_sums(walk.batch);
    for (std::int64_t index = steps.begin; index < steps.end; ++index) {
      const std::int64_t t = walk.time_at(index);
      look_up(t, 0, walk.batch, units);
      const Sums<T> sums = sums_of(t, 0, own);
      for (std::int64_t gate = 0; gate < walk.gates(); gate += walk.width) {
        product.run_columns(walk.batch, hidden + walk.row(walk.before(t), 0) * walk.width,
                            {gate + units.first, units.count}, sums);
      }
      gates_of_rows(t, 0, walk.batch, own, units);
      team_barrier();  // the next step reads every unit
    }
  }
};

// Where the batch is too small for a second thread, threads share the units, and the recurrent
// weights with them: each reads its part from a cache of its own. They wait for each other at every
// step, about a microsecond, which must be little beside the reading.
template <class T>
std::int64_t threads_for_units(const ForwardPass<T>& pass) {
  constexpr std::int64_t kWeightsAThread = 32 * 1024;
  constexpr std::int64_t kUnits = 4 * PackedMatrix::kPanel;
  const Walk& walk = pass.walk;
  if (walk.batch >= 2 * kRecurrentRowGrain || !pass.product.has_columns()) return 1;
  if (walk.width % kUnits != 0) return 1;
  const std::int64_t by_weights = walk.gates() * walk.width / kWeightsAThread;
  return std::min({static_cast<std::int64_t>(thread_count()), walk.width / kUnits, by_weights});
}

template <class T>
void run_steps(const ForwardPass<T>& pass) {
  const std::int64_t threads = threads_for_units(pass);
  if (threads < 2) {
    parallel_for(pass.walk.batch, kRecurrentRowGrain,
                 [&](std::int64_t begin, std::int64_t end) { pass.rows(begin, end); });
    return;
  }
  const std::int64_t panels = pass.walk.width / PackedMatrix::kPanel;
  parallel_team(threads, [&](std::int64_t part, std::int64_t parts) {
    const std::int64_t begin = panels * part / parts * PackedMatrix::kPanel;
    const std::int64_t end = panels * (part + 1) / parts * PackedMatrix::kPanel;
    pass.units({begin, end - begin});
  });
}

// Rows of inputs that are multiplied at once: enough that a product reads its weights seldom, few
// enough that the steps find their sums in a cache. Blocks of rows of a product divide it.
constexpr std::int64_t kRowsOfInputs = 480;

std::int64_t steps_at_once(const Walk& walk) {
  return std::clamp<std::int64_t>(kRowsOfInputs / walk.batch, 1, walk.steps);
}

// The product of the inputs: x [T, N, inputs] times the weight, with the bias.
template <class T>
struct InputSums {
  StepProduct<T> product;
  const T* x;
  std::int64_t width;
  const T* bias;

  // Rows [first_row, first_row + rows) of x; rows of sums are `step` values apart.
  void run(std::int64_t first_row, std::int64_t rows, T* sums, std::int64_t step) const {
    product.run_shared(rows, x + first_row * width, {sums, step, false, bias});
  }
};

// All steps. The pass has the gates and candidates of all of them, or, without a trace, memory for
// those of steps_at_once(). `inputs` is null where a table has their sums.
template <class T>
void run_forward(ForwardPass<T> pass, const InputSums<T>* inputs, bool traced) {
  const Walk& walk = pass.walk;
  T* const gates = pass.gates;
  T* const candidates = pass.candidate_sums;
  const std::int64_t at_once = steps_at_once(walk);
  for (std::int64_t index = 0; index < walk.steps; index += at_once) {
    const std::int64_t end = std::min(index + at_once, walk.steps);
    pass.steps = {index, end, std::min(walk.time_at(index), walk.time_at(end - 1))};
    const std::int64_t first = walk.row(pass.steps.first_time, 0);
    if (traced) {
      pass.gates = gates + first * walk.gates();
      if (pass.gru()) pass.candidate_sums = candidates + first * walk.width;
    }
    if (inputs != nullptr) {
      inputs->run(first, walk.row(end - index, 0), pass.gates, walk.gates());
    }
    run_steps(pass);
  }
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

// What a pass writes but the states: the trace, or memory for steps_at_once().
struct GateArrays {
  Array gates;
  Array candidates;  // GRU
};

// `trace` is the place of the gates in `out`.
GateArrays gate_arrays(const Walk& walk, LaunchArrays out, int trace) {
  const bool gru = walk.run.cell == RecurrentCell::kGru;
  if (walk.run.for_gradient) return {out[trace], gru ? out[trace + 1] : Array()};
  const std::int64_t rows = walk.row(steps_at_once(walk), 0);
  const DType dtype = out[0].dtype();
  return {Array::empty({rows, walk.gates()}, dtype),
          gru ? Array::empty({rows, walk.width}, dtype) : Array()};
}

// in: x, input weight, hidden weight, input bias, hidden bias, first hidden, first cell, lengths,
// tokens.
// out: hidden; LSTM: the cell; for a gradient: the gates, and GRU: the candidate's sums.
template <class T>
void recurrent_forward_body(LaunchArrays in, LaunchArrays out, const RecurrentRun& run) {
  const Walk walk = walk_of(out[0], run);
  const bool gru = run.cell == RecurrentCell::kGru;
  const bool lstm = run.cell == RecurrentCell::kLstm;
  const std::int64_t state = walk.batch * walk.width;
  const std::int64_t first = run.reverse ? walk.steps * state : 0;
  copy_or_zero(in[5], out[0].data<T>() + first, state);
  if (lstm) copy_or_zero(in[6], out[1].data<T>() + first, state);
  if (state == 0 || walk.steps == 0) return;
  const bool looks_up = in[8].defined();
  if (looks_up) check_positions("embedding", in[8], in[0].dim(0));
  const std::int64_t input_width = in[0].dim(in[0].ndim() - 1);
  const std::int64_t rows = looks_up ? in[0].dim(0) : walk.steps * walk.batch;
  launch_flops(recurrent_flops(walk, walk.width) + product_flops(rows, walk.gates(), input_width));
  const std::vector<T> bias = joint_bias<T>(in[3], in[4], gru);
  const InputSums<T> inputs{StepProduct<T>(in[1]), in[0].data<T>(), input_width,
                            bias.empty() ? nullptr : bias.data()};
  Array table;
  if (looks_up) {
    table = Array::empty({rows, walk.gates()}, in[0].dtype());
    inputs.run(0, rows, table.data<T>(), walk.gates());
  }
  GateArrays gates = gate_arrays(walk, out, lstm ? 2 : 1);
  const StepProduct<T> product(in[2]);
  const ForwardPass<T> pass{walk,
                            product,
                            gru ? recurrent_values<T>(in[4]) : nullptr,
                            recurrent_values<std::int64_t>(in[7]),
                            looks_up ? table.data<T>() : nullptr,
                            recurrent_values<std::int64_t>(in[8]),
                            out[0].data<T>(),
                            lstm ? out[1].data<T>() : nullptr,
                            {0, 0, 0},
                            gates.gates.data<T>(),
                            gru ? gates.candidates.data<T>() : nullptr};
  run_forward(pass, looks_up ? nullptr : &inputs, run.for_gradient);
}

}  // namespace

RecurrentTrace recurrent_forward(const RecurrentInputs& inputs, const RecurrentRun& run) {
  const DType dtype = inputs.x.dtype();
  const Device device = inputs.x.device();
  const Array& places = inputs.tokens.defined() ? inputs.tokens : inputs.x;
  const std::int64_t steps = places.dim(0);
  const std::int64_t batch = places.dim(1);
  const std::int64_t width = inputs.hidden_weight.dim(1);
  RecurrentTrace trace;
  trace.hidden = Array::empty({steps + 1, batch, width}, dtype, device);
  std::vector<Array*> outputs = {&trace.hidden};
  if (run.cell == RecurrentCell::kLstm) {
    trace.cell = Array::empty({steps + 1, batch, width}, dtype, device);
    outputs.push_back(&trace.cell);
  }
  if (run.for_gradient) {
    trace.gates = Array::empty({steps, batch, gate_count(run.cell) * width}, dtype, device);
    outputs.push_back(&trace.gates);
    if (run.cell == RecurrentCell::kGru) {
      trace.candidate_sums = Array::empty({steps, batch, width}, dtype, device);
      outputs.push_back(&trace.candidate_sums);
    }
  }
  const std::array<const Array*, 9> operands = {
      &inputs.x,          &inputs.input_weight, &inputs.hidden_weight,
      &inputs.input_bias, &inputs.hidden_bias,  &inputs.first_hidden,
      &inputs.first_cell, &inputs.lengths,      &inputs.tokens};
  launch("recurrent", operands, outputs, [run](LaunchArrays in, LaunchArrays out) {
    if (out[0].dtype() == DType::kF64) return recurrent_forward_body<double>(in, out, run);
    recurrent_forward_body<float>(in, out, run);
  });
  return trace;
}

}  // namespace weft
