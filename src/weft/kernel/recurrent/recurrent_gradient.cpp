#include <algorithm>
#include <array>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/recurrent/gate_loops.h"
#include "weft/kernel/recurrent/recurrent.h"
#include "weft/kernel/recurrent/recurrent_walk.h"
#include "weft/kernel/recurrent/step_product.h"

namespace weft {
namespace {

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
  parallel_for(walk.batch, kRecurrentRowGrain,
               [&](std::int64_t begin, std::int64_t end) { pass.rows(begin, end); });
}

}  // namespace

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
