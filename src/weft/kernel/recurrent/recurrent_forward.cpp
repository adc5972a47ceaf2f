#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/gemm/gemm.h"
#include "weft/kernel/gemm/int8.h"
#include "weft/kernel/index/gather.h"
#include "weft/kernel/recurrent/gate_loops.h"
#include "weft/kernel/recurrent/recurrent.h"
#include "weft/kernel/recurrent/recurrent_walk.h"
#include "weft/kernel/recurrent/step_product.h"

namespace weft {
namespace {

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

// The units of a layer that a thread computes, in every gate.
using Units = ColumnRange;

template <class T>
struct ForwardPass {
  Walk walk;
  const StepProduct<T>& product;
  const T* hidden_bias;  // GRU; of others the input's sums hold it
  const std::int64_t* lengths;
  // The sums of each row of a table, and which row a step reads; null: sums are where gates are.
  const T* table;
  const std::int64_t* tokens;
  T* gates;
  T* hidden;
  T* cell;
  T* candidate_sums;
  const GateLoops<T>& loops = gate_loops<T>();

  bool gru() const { return walk.run.cell == RecurrentCell::kGru; }
  T* gates_at(std::int64_t t, std::int64_t n) const {
    return gates + walk.row(t, n) * walk.gates();
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
      std::fill_n(candidate_sums + walk.row(t, n) * width + units.first, units.count, T{0});
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
        return loops.gru(
            {gate, sums + units.first, width, candidate_sums + walk.row(t, n) * width + units.first,
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

  // All steps of sequences [begin, end).
  void rows(std::int64_t begin, std::int64_t end) const {
    std::vector<T> own = own_sums(end - begin);
    for (std::int64_t index = 0; index < walk.steps; ++index) {
      const std::int64_t t = walk.time_at(index);
      look_up(t, begin, end, {0, walk.width});
      product.run(end - begin, hidden + walk.row(walk.before(t), begin) * walk.width,
                  sums_of(t, begin, own));
      gates_of_rows(t, begin, end, own, {0, walk.width});
    }
  }

  // All steps of all sequences for some units, while other threads of a team compute the others.
  void units(const Units& units) const {
    std::vector<T> own = own_sums(walk.batch);
    for (std::int64_t index = 0; index < walk.steps; ++index) {
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
void run_forward(const ForwardPass<T>& pass) {
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

// in: x, input weight, hidden weight, input bias, hidden bias, first hidden, first cell, lengths,
// tokens.
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
  const bool looks_up = in[8].defined();
  if (looks_up) check_positions("embedding", in[8], in[0].dim(0));
  const std::int64_t inputs = in[0].dim(in[0].ndim() - 1);
  const std::int64_t rows = looks_up ? in[0].dim(0) : walk.steps * walk.batch;
  launch_flops(recurrent_flops(walk, walk.width) + product_flops(rows, walk.gates(), inputs));
  const std::vector<T> bias = joint_bias<T>(in[3], in[4], gru);
  Array table;
  if (looks_up) table = Array::empty({rows, walk.gates()}, in[0].dtype());
  T* const sums = looks_up ? table.data<T>() : out[0].data<T>();
  input_product(rows, in[0].data<T>(), in[1], bias.empty() ? nullptr : bias.data(), sums);
  const StepProduct<T> product(in[2]);
  const ForwardPass<T> pass{walk,
                            product,
                            gru ? recurrent_values<T>(in[4]) : nullptr,
                            recurrent_values<std::int64_t>(in[7]),
                            sums,
                            recurrent_values<std::int64_t>(in[8]),
                            out[0].data<T>(),
                            out[1].data<T>(),
                            extra,
                            extra};
  run_forward(pass);
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
