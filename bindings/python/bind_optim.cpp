// One step of an optimizer over a list of parameters, each by one pass over its memory.
//
// Lists of state run beside the list of parameters; what is None is made here at the first step
// of its parameter. A parameter without a gradient is left out, and its state too, as in PyTorch.
// The memory is written in place: the backward of what was computed before and needs the old
// values throws.
#include "define.h"
#include "module.h"
#include "weft/kernel/optimizer.h"
#include "weft/optim/clip.h"

namespace weft::python {
namespace {

namespace py = pybind11;

// f32 and contiguous, which the loops want.
std::span<float> values_of(const char* what, const Array& array) {
  if (array.dtype() != DType::kF32 || !array.is_contiguous()) {
    throw TypeProblem(std::string("an optimizer expects contiguous float32 ") + what + ", got " +
                      std::string(to_string(array.dtype())) + " of shape " +
                      to_string(array.shape()));
  }
  return {static_cast<float*>(array.raw_data()), static_cast<std::size_t>(array.size())};
}

struct Parameter {
  Array value;
  Array gradient;
  std::span<float> values;
  std::span<const float> gradients;
  void note_write() const {
    const std::size_t begin = static_cast<std::size_t>(value.offset()) * sizeof(float);
    value.storage()->note_write(begin, begin + value.size_bytes(), "optimizer step");
  }
};

// Entry i of `parameters`, if it has a gradient.
std::optional<Parameter> parameter_at(const py::list& parameters, std::size_t i) {
  const Tensor& tensor = required_tensor(parameters[i]);
  if (!tensor.requires_grad() || !tensor.grad().defined()) return std::nullopt;
  Parameter parameter;
  parameter.value = tensor.array();
  parameter.gradient = tensor.grad().contiguous();
  parameter.values = values_of("parameters", parameter.value);
  parameter.gradients = values_of("gradients", parameter.gradient);
  return parameter;
}

// The state of a parameter, made of zeros if there is none.
Array state_at(const py::list& states, std::size_t i, const Parameter& parameter) {
  if (states[i].is_none()) states[i] = py::cast(Tensor(Array::zeros(parameter.value.shape())));
  const Array state = required_tensor(states[i]).array();
  if (state.size() != parameter.value.size()) {
    throw std::invalid_argument("[optimizer] expected state of shape " +
                                to_string(parameter.value.shape()) + ", got " +
                                to_string(state.shape()));
  }
  return state;
}

void sgd(const py::list& parameters, const py::list& momentum_buffers, double lr, double momentum,
         double dampening, double weight_decay, bool nesterov) {
  SgdConstants constants;
  constants.learning_rate = static_cast<float>(lr);
  constants.momentum = static_cast<float>(momentum);
  constants.dampening = static_cast<float>(dampening);
  constants.weight_decay = static_cast<float>(weight_decay);
  constants.nesterov = nesterov;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::optional<Parameter> parameter = parameter_at(parameters, i);
    if (!parameter) continue;
    std::span<float> state;
    Array buffer;
    if (momentum != 0.0) {
      constants.first_step = momentum_buffers[i].is_none();
      buffer = state_at(momentum_buffers, i, *parameter);
      state = values_of("state", buffer);
    }
    {
      const Released released(parameter->value.size());
      sgd_step(constants, parameter->gradients, state, parameter->values);
    }
    parameter->note_write();
  }
}

struct AdamLists {
  py::list steps;
  py::list means;
  py::list variances;
  py::list variances_max;  // empty without amsgrad
};

void adam(const py::list& parameters, const AdamLists& states, AdamConstants constants) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::optional<Parameter> parameter = parameter_at(parameters, i);
    if (!parameter) continue;
    constants.step = py::cast<std::int64_t>(py::object(states.steps[i])) + 1;
    states.steps[i] = py::int_(constants.step);
    const Array mean = state_at(states.means, i, *parameter);
    const Array variance = state_at(states.variances, i, *parameter);
    AdamState state{values_of("state", mean), values_of("state", variance), {}};
    Array variance_max;
    if (!states.variances_max.empty()) {
      variance_max = state_at(states.variances_max, i, *parameter);
      state.variance_max = values_of("state", variance_max);
    }
    {
      const Released released(parameter->value.size());
      adam_step(constants, parameter->gradients, state, parameter->values);
    }
    parameter->note_write();
  }
}

void zero_grad(const py::list& parameters, bool set_to_none) {
  for (const py::handle object : parameters) {
    Tensor& tensor = required_tensor(object);
    if (!tensor.requires_grad()) continue;
    if (!set_to_none) {
      if (tensor.grad().defined()) Array(tensor.grad()).fill(0.0);
      continue;
    }
    tensor.zero_grad();
    // Memory that was given for the gradient is only zeroed: a leaf of its own takes its place.
    if (tensor.is_leaf() && tensor.grad().defined()) tensor = Tensor(tensor.array(), true);
  }
}

}  // namespace

void bind_optim(py::module_& module) {
  module.def("_sgd_step", sgd, py::arg("parameters"), py::arg("momentum_buffers"), py::arg("lr"),
             py::arg("momentum"), py::arg("dampening"), py::arg("weight_decay"),
             py::arg("nesterov"));
  module.def(
      "_adam_step",
      [](const py::list& parameters, const py::list& steps, const py::list& means,
         const py::list& variances, const py::list& variances_max, double lr,
         const std::pair<double, double>& betas, double eps, double weight_decay, bool decoupled) {
        AdamConstants constants;
        constants.learning_rate = lr;
        constants.beta1 = betas.first;
        constants.beta2 = betas.second;
        constants.epsilon = eps;
        constants.weight_decay = weight_decay;
        constants.decoupled_weight_decay = decoupled;
        adam(parameters, {steps, means, variances, variances_max}, constants);
      },
      py::arg("parameters"), py::arg("steps"), py::arg("exp_avgs"), py::arg("exp_avg_sqs"),
      py::arg("max_exp_avg_sqs"), py::arg("lr"), py::arg("betas"), py::arg("eps"),
      py::arg("weight_decay"), py::arg("decoupled"));
  module.def("_zero_grad", zero_grad, py::arg("parameters"), py::arg("set_to_none") = true);
}

}  // namespace weft::python
