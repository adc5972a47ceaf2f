// Operations over sequences: recurrent layers, convolutions and pooling along one axis.

#include "core/autocast.h"
#include "core/define.h"
#include "core/module.h"
#include "weft/op/conv.h"
#include "weft/op/pool.h"
#include "weft/op/recurrent.h"

namespace weft::python {
namespace {

namespace py = pybind11;

using MaybeTensor = std::optional<Tensor>;
using ReleaseGil = py::call_guard<py::gil_scoped_release>;

Tensor tensor_or_none(const MaybeTensor& tensor) { return tensor.value_or(Tensor()); }

std::int64_t only_one(const char* name, const Dims& dims) {
  if (dims.size() == 1) return dims[0];
  throw std::invalid_argument(std::string("expected one whole number as ") + name + ", got " +
                              to_string(dims));
}

// One layer in one direction. The outputs [T, N, width], behind them the last hidden state and, of
// an LSTM, the last cell.
Tensor recurrent_layer(const std::string& mode, const Tensor& x,
                       const std::vector<MaybeTensor>& weights,
                       const std::vector<MaybeTensor>& state, const MaybeTensor& lengths,
                       bool reverse) {
  if (weights.size() != 4 || state.size() != 2) {
    throw std::invalid_argument("[recurrent] expected 4 weights and 2 states, got " +
                                std::to_string(weights.size()) + " and " +
                                std::to_string(state.size()));
  }
  const RecurrentParameters parameters{tensor_or_none(weights[0]), tensor_or_none(weights[1]),
                                       tensor_or_none(weights[2]), tensor_or_none(weights[3])};
  const RecurrentState first{tensor_or_none(state[0]), tensor_or_none(state[1])};
  RecurrentOptions options;
  options.reverse = reverse;
  options.with_state = true;
  if (lengths) options.lengths = lengths->array();
  const Tensor single = widened(x);
  if (mode == "LSTM") return lstm(single, parameters, first, options);
  if (mode == "GRU") return gru(single, parameters, first, options);
  if (mode == "RNN_TANH") return rnn(single, parameters, first, options, RnnActivation::kTanh);
  if (mode == "RNN_RELU") return rnn(single, parameters, first, options, RnnActivation::kRelu);
  throw std::invalid_argument("[recurrent] expected LSTM, GRU, RNN_TANH or RNN_RELU, got " + mode);
}

Tensor conv_transposed_1d(const Tensor& x, const Tensor& weight, const MaybeTensor& bias,
                          const Dims& stride, const Dims& padding, const Dims& output_padding,
                          std::int64_t groups, const Dims& dilation) {
  ConvTranspose1dOptions options;
  options.stride = only_one("stride", stride);
  options.padding = only_one("padding", padding);
  options.output_padding = only_one("output_padding", output_padding);
  options.groups = groups;
  options.dilation = only_one("dilation", dilation);
  return conv_transpose1d(x, weight, tensor_or_none(bias), options);
}

void bind_pools_of_sequences(Definer& define) {
  const auto options_of = [](const Dims& kernel, const std::optional<Dims>& stride,
                             const Dims& padding, bool ceil_mode, bool count_include_pad) {
    Pool1dOptions options;
    options.kernel = only_one("kernel_size", kernel);
    options.stride = only_one("stride", stride.value_or(kernel));
    options.padding = only_one("padding", padding);
    options.ceil_mode = ceil_mode;
    options.count_include_pad = count_include_pad;
    return options;
  };
  define.function(
      "max_pool1d",
      [options_of](const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride,
                   const Dims& padding, bool ceil_mode) {
        return max_pool1d(x, options_of(kernel, stride, padding, ceil_mode, true));
      },
      py::arg("input"), py::arg("kernel_size"), py::arg("stride") = py::none(),
      py::arg("padding") = Dims{0}, py::arg("ceil_mode") = false, ReleaseGil(),
      "The largest value of each window of [N, C, L].");
  define.function(
      "avg_pool1d",
      [options_of](const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride,
                   const Dims& padding, bool ceil_mode, bool count_include_pad) {
        return avg_pool1d(x, options_of(kernel, stride, padding, ceil_mode, count_include_pad));
      },
      py::arg("input"), py::arg("kernel_size"), py::arg("stride") = py::none(),
      py::arg("padding") = Dims{0}, py::arg("ceil_mode") = false,
      py::arg("count_include_pad") = true, ReleaseGil(), "The mean of each window of [N, C, L].");
  const auto adaptive = [&define](const char* name, Tensor (*of)(const Tensor&, std::int64_t),
                                  const char* text) {
    define.function(
        name, [of](const Tensor& x, const Dims& size) { return of(x, only_one("size", size)); },
        py::arg("input"), py::arg("output_size"), ReleaseGil(), text);
  };
  adaptive("adaptive_avg_pool1d", &adaptive_avg_pool1d, "Means of windows that cover [N, C, L].");
  adaptive("adaptive_max_pool1d", &adaptive_max_pool1d,
           "Extremes of windows that cover [N, C, L].");
}

}  // namespace

void bind_op_sequence(py::module_& module) {
  Definer define(module);
  define.function("_recurrent", recurrent_layer, py::arg("mode"), py::arg("input"),
                  py::arg("weights"), py::arg("state"), py::arg("lengths") = py::none(),
                  py::arg("reverse") = false, ReleaseGil());
  define.function("conv_transpose1d", conv_transposed_1d, py::arg("input"), py::arg("weight"),
                  py::arg("bias") = py::none(), py::arg("stride") = Dims{1},
                  py::arg("padding") = Dims{0}, py::arg("output_padding") = Dims{0},
                  py::arg("groups") = 1, py::arg("dilation") = Dims{1}, ReleaseGil(),
                  "The transpose of conv1d: weight [C, O / groups, k].");
  bind_pools_of_sequences(define);
}

}  // namespace weft::python
