#include "weft/op/recurrent/recurrent_layer.h"

#include <array>

#include "weft/array/launch.h"
#include "weft/autograd/node.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/gemm/linear.h"
#include "weft/kernel/gemm/matmul.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/embedding.h"
#include "weft/op/index_operand.h"

namespace weft {
namespace {

void check_operand_shape(const char* op, const char* what, const Tensor& tensor, const Shape& shape,
                         DType dtype) {
  if (!tensor.defined()) return;
  if (tensor.shape() == shape && tensor.dtype() == dtype) return;
  throw_operand(op,
                std::string(what) + " " + to_string(shape) + " of " + std::string(to_string(dtype)),
                to_string(tensor.shape()) + " of " + std::string(to_string(tensor.dtype())));
}

void check_lengths(const char* op, const Array& lengths, std::int64_t batch) {
  if (!lengths.defined()) return;
  if (lengths.dtype() != DType::kI64 || lengths.shape() != Shape{batch}) {
    throw_operand(op, "lengths i64 " + to_string(Shape{batch}),
                  std::string(to_string(lengths.dtype())) + " " + to_string(lengths.shape()));
  }
}

void check_recurrent(const char* op, RecurrentCell cell, const Tensor& x,
                     const RecurrentParameters& parameters, const RecurrentState& first,
                     const RecurrentOptions& options) {
  check_floating(op, x);
  check_floating(op, parameters.input_weight);
  check_floating(op, parameters.hidden_weight);
  const int axes = options.tokens.defined() ? 2 : 3;
  if (x.ndim() != axes || parameters.hidden_weight.ndim() != 2) {
    throw_operand(op,
                  std::string(axes == 2 ? "a table [rows, inputs]" : "x [T, N, inputs]") +
                      " and a hidden weight of two axes",
                  to_string(x.shape()) + " and " + to_string(parameters.hidden_weight.shape()));
  }
  if (axes == 2 && options.tokens.ndim() != 2) {
    throw_operand(op, "tokens [T, N]", to_string(options.tokens.shape()));
  }
  const std::int64_t batch = (axes == 2 ? options.tokens : x.array()).dim(1);
  const std::int64_t width = parameters.hidden_weight.dim(1);
  const std::int64_t rows = gate_count(cell) * width;
  const DType dtype = x.dtype();
  check_operand_shape(op, "a hidden weight", parameters.hidden_weight, {rows, width}, dtype);
  check_operand_shape(op, "an input weight", parameters.input_weight, {rows, x.dim(axes - 1)},
                      dtype);
  check_operand_shape(op, "an input bias", parameters.input_bias, {rows}, dtype);
  check_operand_shape(op, "a hidden bias", parameters.hidden_bias, {rows}, dtype);
  check_operand_shape(op, "a first hidden state", first.hidden, {batch, width}, dtype);
  check_operand_shape(op, "a first cell", first.cell, {batch, width}, dtype);
  check_lengths(op, options.lengths, batch);
}

Array dense(const Tensor& tensor) {
  return tensor.defined() ? tensor.array().strided().contiguous() : Array();
}

// The values of a handle that outlives the op, against later changes by the caller.
Array checked_lengths(const char* op, const Array& lengths, std::int64_t steps) {
  if (!lengths.defined()) return {};
  Array copy = Array::empty(lengths.shape(), DType::kI64, lengths.device());
  const Array source = lengths.contiguous();
  launch("sequence_lengths", {&source}, {&copy}, [op, steps](LaunchArrays in, LaunchArrays out) {
    const std::span<const std::int64_t> from = std::as_const(in[0]).flat<std::int64_t>();
    std::int64_t* to = out[0].data<std::int64_t>();
    for (const std::int64_t length : from) {
      if (length < 0 || length > steps) {
        throw_operand(op, "lengths in [0, " + std::to_string(steps) + "]", std::to_string(length));
      }
      *to++ = length;
    }
  });
  return copy;
}

// What the gradient needs.
struct RecurrentSaved {
  RecurrentRun run;
  bool with_state;
  RecurrentInputs inputs;
  RecurrentTrace trace;
};

enum Operand { kX, kInputWeight, kHiddenWeight, kInputBias, kHiddenBias, kFirstHidden, kFirstCell };

void add_weight_gradient(const InputGradients& dx, int index, const Array& sums,
                         const Array& factor) {
  if (!dx.needs(index)) return;
  GradientTarget target = dx.target(index);
  matmul(sums, factor, target.array, {.transpose_a = true, .accumulate = target.accumulate});
}

void bias_gradient(const InputGradients& dx, int index, const Array& sums) {
  if (!dx.needs(index)) return;
  GradientTarget target = dx.target(index);
  column_sums(sums, target.array, target.accumulate);
}

void run_recurrent_backward(const RecurrentSaved& saved, const Array& dy,
                            const InputGradients& dx) {
  const RecurrentInputs& inputs = saved.inputs;
  const RecurrentGradient gradient = recurrent_backward(
      saved.trace, inputs.hidden_weight, inputs.lengths, saved.run, dy.strided(), saved.with_state);
  const Array input_sums =
      gradient.input_sums.reshape({inputs.x.dim(0) * inputs.x.dim(1), inputs.hidden_weight.dim(0)});
  const Array hidden_sums = gradient.hidden_sums.reshape(input_sums.shape());
  const std::int64_t steps = inputs.x.dim(0);
  const std::int64_t first = saved.run.reverse ? 1 : 0;
  const Array x = inputs.x.reshape({input_sums.dim(0), inputs.x.dim(2)});
  const Array before = saved.trace.hidden.slice(0, first, first + steps)
                           .reshape({input_sums.dim(0), inputs.hidden_weight.dim(1)});
  add_weight_gradient(dx, kInputWeight, input_sums, x);
  add_weight_gradient(dx, kHiddenWeight, hidden_sums, before);
  bias_gradient(dx, kInputBias, input_sums);
  bias_gradient(dx, kHiddenBias, hidden_sums);
  if (dx.needs(kFirstHidden)) dx.add(kFirstHidden, gradient.first_hidden);
  if (dx.needs(kFirstCell)) dx.add(kFirstCell, gradient.first_cell);
  if (dx.needs(kX)) {
    GradientTarget target = dx.target(kX);
    Array rows = target.array.reshape(x.shape());
    matmul(input_sums, inputs.input_weight, rows, {.accumulate = target.accumulate});
  }
}

// Whether the kernel looks tokens up itself: that pays where rows are read more than once, and a
// gradient or a trace needs the inputs.
bool looks_up(const Tensor& table, const Array& tokens, std::span<const Tensor* const> inputs) {
  constexpr std::int64_t kReadings = 2;
  return size_of(table.dtype()) >= sizeof(float) && !op_tracing() && !recording(inputs) &&
         tokens.size() >= kReadings * table.dim(0);
}

}  // namespace

Tensor recurrent_layer(const char* op, RecurrentCell cell, const Tensor& x,
                       const RecurrentParameters& parameters, const RecurrentState& first,
                       const RecurrentOptions& options) {
  check_recurrent(op, cell, x, parameters, first, options);
  const std::array<const Tensor*, 7> inputs = {&x,
                                               &parameters.input_weight,
                                               &parameters.hidden_weight,
                                               &parameters.input_bias,
                                               &parameters.hidden_bias,
                                               &first.hidden,
                                               &first.cell};
  if (options.tokens.defined() && !looks_up(x, options.tokens, inputs)) {
    RecurrentOptions others = options;
    others.tokens = {};
    return recurrent_layer(op, cell, embedding(x, options.tokens), parameters, first, others);
  }
  if (size_of(x.dtype()) < sizeof(float)) {
    const auto wide = [](const Tensor& tensor) {
      return tensor.defined() ? cast(tensor, DType::kF32) : tensor;
    };
    const RecurrentParameters wider = {wide(parameters.input_weight),
                                       wide(parameters.hidden_weight), wide(parameters.input_bias),
                                       wide(parameters.hidden_bias)};
    return cast(
        recurrent_layer(op, cell, wide(x), wider, {wide(first.hidden), wide(first.cell)}, options),
        x.dtype());
  }
  RecurrentSaved saved;
  saved.run = {cell, options.reverse, recording(inputs)};
  saved.with_state = options.with_state;
  saved.inputs = {dense(x),
                  dense(parameters.input_weight),
                  dense(parameters.hidden_weight),
                  dense(parameters.input_bias),
                  dense(parameters.hidden_bias),
                  dense(first.hidden),
                  dense(first.cell),
                  {},
                  {}};
  if (options.tokens.defined()) {
    saved.inputs.tokens = IndexOperand(options.tokens).indexes(op, "tokens");
  }
  const Array& places = options.tokens.defined() ? options.tokens : x.array();
  saved.inputs.lengths = checked_lengths(op, options.lengths, places.dim(0));
  saved.trace = recurrent_forward(saved.inputs, saved.run);
  Array y = options.with_state
                ? recurrent_output_and_state(saved.trace, saved.inputs.lengths, saved.run)
                : recurrent_output(saved.trace, saved.inputs.lengths, saved.run);
  if (op_tracing()) {
    trace_attributes(op, {{"reverse", {options.reverse ? 1.0 : 0.0}},
                          {"with_state", {options.with_state ? 1.0 : 0.0}},
                          {"relu", {cell == RecurrentCell::kRelu ? 1.0 : 0.0}},
                          {"lengths", {}, options.lengths}});
  }
  return record(
      op, std::move(y), std::span<const Tensor* const>(inputs),
      [saved](const Array& dy, const InputGradients& dx) { run_recurrent_backward(saved, dy, dx); },
      [run = saved.run, with_state = saved.with_state, in = saved.inputs](
          const Tensor& dy, const TensorGradients& dx) {
        const Array values[] = {in.x,           in.input_weight, in.hidden_weight, in.input_bias,
                                in.hidden_bias, in.first_hidden, in.first_cell};
        add_composed_gradients(recurrent_composition(run, with_state, in.lengths), values, dy, dx);
      });
}

}  // namespace weft
