#include "weft/array/launch.h"
#include "weft/op/activation.h"
#include "weft/op/arithmetic.h"
#include "weft/op/linear.h"
#include "weft/op/recurrent/recurrent_layer.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

struct State {
  Tensor hidden;
  Tensor cell;
};

// The parts of width `width` of [N, gates * width].
Tensor part(const Tensor& sums, std::int64_t index, std::int64_t width) {
  return slice(sums, 1, index * width, (index + 1) * width);
}

State step(const RecurrentRun& run, const Tensor& x, const State& before,
           const std::vector<Tensor>& in) {
  const std::int64_t width = in[2].dim(1);
  const Tensor own = linear(x, in[1], in[3]);
  const Tensor from_state = linear(before.hidden, in[2], in[4]);
  switch (run.cell) {
    case RecurrentCell::kTanh:
      return {tanh(own + from_state), {}};
    case RecurrentCell::kRelu:
      return {relu(own + from_state), {}};
    case RecurrentCell::kLstm: {
      const Tensor sums = own + from_state;
      const Tensor cell = sigmoid(part(sums, 1, width)) * before.cell +
                          sigmoid(part(sums, 0, width)) * tanh(part(sums, 2, width));
      return {sigmoid(part(sums, 3, width)) * tanh(cell), cell};
    }
    case RecurrentCell::kGru:
      break;
  }
  const Tensor reset = sigmoid(part(own, 0, width) + part(from_state, 0, width));
  const Tensor keep = sigmoid(part(own, 1, width) + part(from_state, 1, width));
  const Tensor candidate = tanh(part(own, 2, width) + reset * part(from_state, 2, width));
  return {candidate + keep * (before.hidden - candidate), {}};
}

// 1 where sequence n has a step t, [N, 1].
Array living(const Array& lengths, std::int64_t t, DType dtype) {
  Array mask = Array::zeros({lengths.size(), 1}, dtype, lengths.device());
  const std::vector<std::int64_t> steps = lengths.to_vector<std::int64_t>();
  for (std::int64_t n = 0; n < lengths.size(); ++n) {
    if (t < steps[static_cast<std::size_t>(n)]) mask.select(0, n).fill(1.0);
  }
  return mask;
}

Tensor compose_recurrent(const RecurrentRun& run, bool with_state, const Array& lengths,
                         const std::vector<Tensor>& in) {
  if (lengths.defined()) launch_host_read("second gradient of a layer with lengths");
  const Tensor& x = in[0];
  const Tensor zeros(Array::zeros({x.dim(1), in[2].dim(1)}, x.dtype(), x.device()));
  State state{in[5].defined() ? in[5] : zeros, in[6].defined() ? in[6] : zeros};
  std::vector<Tensor> outputs(static_cast<std::size_t>(x.dim(0)));
  for (std::int64_t i = 0; i < x.dim(0); ++i) {
    const std::int64_t t = run.reverse ? x.dim(0) - 1 - i : i;
    State after = step(run, squeeze(slice(x, 0, t, t + 1), 0), state, in);
    Tensor output = after.hidden;
    if (lengths.defined()) {
      const Tensor lives(living(lengths, t, x.dtype()));
      output = after.hidden * lives;
      after.hidden = state.hidden + (after.hidden - state.hidden) * lives;
      if (after.cell.defined()) after.cell = state.cell + (after.cell - state.cell) * lives;
    }
    outputs[static_cast<std::size_t>(t)] = output;
    state = after;
  }
  if (with_state) {
    outputs.push_back(state.hidden);
    if (run.cell == RecurrentCell::kLstm) outputs.push_back(state.cell);
  }
  return stack(outputs);
}

}  // namespace

Composition recurrent_composition(const RecurrentRun& run, bool with_state, const Array& lengths) {
  return [=](const std::vector<Tensor>& in) {
    return compose_recurrent(run, with_state, lengths, in);
  };
}

}  // namespace weft
