// Steps of the optimizers over groups of parameters and the states that Python keeps for them.
//
// All groups are looked at before the first parameter moves: a step that is refused moves nothing.
// A state is made at the first step of its parameter; a parameter without a gradient is left out,
// and its state too, as in PyTorch. The memory is written in place: the backward of what was
// computed before and needs the old values throws.
#include <cmath>

#include "array/conversion.h"
#include "core/define.h"
#include "core/module.h"
#include "learning/optim_rules.h"
#include "weft/optim/optimizer.h"

namespace weft::python {
namespace {

namespace py = pybind11;

// How a message names a parameter.
struct Place {
  const std::string& rule;
  std::size_t group;
  std::size_t index;  // in its group
  const Array& value;
  std::string text() const {
    return "[" + rule + "] parameter " + std::to_string(index) + " of group " +
           std::to_string(group) + " (shape " + to_string(value.shape()) + ")";
  }
};

struct Slot {
  const OptimizerRule* rule = nullptr;
  py::object parameter;
  py::object state;  // a dict, or null before the first step
  Array value;       // the parameter itself, of any strides
  ParameterStep step;
};

bool is_trainable(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF64; }

// Throws where the rule cannot move the parameter.
void check_parameter(const OptimizerRule& rule, const Place& place) {
  const Array& value = place.value;
  if (!is_trainable(value.dtype())) {
    throw TypeProblem(place.text() + " is " + std::string(to_string(value.dtype())) +
                      ": optimizers move float32 and float64 parameters; make the model one of "
                      "these with model.float() or model.double()");
  }
  for (int axis = 0; axis < value.ndim(); ++axis) {
    const bool repeated = value.shape()[axis] > 1 && value.strides()[axis] == 0;
    if (!repeated && value.is_strided()) continue;
    throw TypeProblem(place.text() +
                      " has elements that share memory: optimizers move "
                      "parameters with memory of their own, as by .clone()");
  }
  const std::string refusal = rule.refusal(value.shape());
  if (!refusal.empty()) throw std::invalid_argument(place.text() + ": " + refusal);
}

// A state of Python's as the rule wants it; throws where it does not fit.
Array fitting_state(const Place& place, const char* name, const py::handle& object,
                    const std::optional<Shape>& shape) {
  const Array state = required_tensor(object).array();
  if (shape && state.shape() == *shape && state.dtype() == place.value.dtype() &&
      state.is_contiguous()) {
    return state;
  }
  throw std::invalid_argument(
      place.text() + ": expected the state " + name +
      (shape ? " as contiguous " + std::string(to_string(place.value.dtype())) + " of shape " +
                   to_string(*shape)
             : " to be absent") +
      ", got " + std::string(to_string(state.dtype())) + " of shape " + to_string(state.shape()));
}

PyObject* found_or_null(const py::handle& dict, PyObject* key) {
  PyObject* const found = PyDict_GetItemWithError(dict.ptr(), key);
  if (found == nullptr && PyErr_Occurred() != nullptr) throw PythonError();
  return found;
}

std::int64_t count_of_steps(const py::handle& object) {
  const double count = PyFloat_AsDouble(object.ptr());
  if (count == -1.0 && PyErr_Occurred() != nullptr) throw PythonError();
  return static_cast<std::int64_t>(count);
}

void read_state(const Place& place, const py::handle& states, Slot& slot) {
  PyObject* const own = found_or_null(states, slot.parameter.ptr());
  if (own == nullptr) return;
  if (PyDict_Check(own) == 0) throw TypeProblem(place.text() + ": expected its state as a dict");
  slot.state = py::reinterpret_borrow<py::object>(own);
  const std::vector<StateDef>& defs = slot.rule->states();
  for (std::size_t i = 0; i < defs.size(); ++i) {
    if (!defs[i].used) continue;
    PyObject* const found = found_or_null(own, key_of(defs[i].name));
    if (found == nullptr || found == Py_None) continue;
    slot.step.states[i] =
        fitting_state(place, defs[i].name, found, slot.rule->state_shape(i, place.value.shape()));
  }
  if (!slot.rule->counts_steps()) return;
  if (PyObject* const found = found_or_null(own, key_of("step")); found != nullptr) {
    slot.step.step = count_of_steps(found) + 1;
  }
}

// The parameters of a group that have a gradient.
void read_group(const OptimizerRule& rule, Place place, const py::handle& parameters,
                const py::handle& states, std::vector<Slot>& slots) {
  slots.reserve(py::len(parameters));
  for (const py::handle object : parameters) {
    const Tensor& tensor = required_tensor(object);
    const std::size_t index = place.index++;
    if (!tensor.requires_grad() || !tensor.grad().defined()) continue;
    Slot& slot = slots.emplace_back();
    slot.rule = &rule;
    slot.parameter = py::reinterpret_borrow<py::object>(object);
    slot.value = tensor.array();
    const Place here{place.rule, place.group, index, slot.value};
    check_parameter(rule, here);
    slot.step.value = slot.value.contiguous();
    slot.step.gradient = tensor.grad().contiguous();
    read_state(here, states, slot);
  }
}

Array negated_gradient(const Array& gradient) {
  Array result = gradient.clone();
  const auto negate = [](auto values) {
    for (auto& value : values) value = -value;
  };
  if (result.dtype() == DType::kF64) {
    negate(result.flat<double>());
  } else {
    negate(result.flat<float>());
  }
  return result;
}

// Makes the states that are missing.
void complete_state(const py::handle& states, Slot& slot) {
  if (!slot.state) {
    slot.state = py::dict();
    if (PyDict_SetItem(states.ptr(), slot.parameter.ptr(), slot.state.ptr()) != 0) {
      throw PythonError();
    }
  }
  const auto put = [&](const char* name, const py::object& value) {
    if (PyDict_SetItem(slot.state.ptr(), key_of(name), value.ptr()) != 0) throw PythonError();
  };
  if (slot.rule->counts_steps()) put("step", py::int_(slot.step.step));
  const std::vector<StateDef>& defs = slot.rule->states();
  for (std::size_t i = 0; i < defs.size(); ++i) {
    if (!defs[i].used || slot.step.states[i].defined()) continue;
    const std::optional<Shape> shape = slot.rule->state_shape(i, slot.value.shape());
    if (!shape) continue;
    slot.step.is_new[i] = true;
    slot.step.states[i] = Array::full(*shape, defs[i].start, slot.value.dtype());
    put(defs[i].name, py::cast(Tensor(slot.step.states[i])));
  }
}

bool keeps_something(const OptimizerRule& rule) {
  for (const StateDef& def : rule.states()) {
    if (def.used) return true;
  }
  return rule.counts_steps();
}

void move_slot(const py::handle& states, bool keeps, bool maximize, Slot& slot) {
  if (keeps) complete_state(states, slot);
  {
    const Released released(slot.value.size());
    if (maximize) slot.step.gradient = negated_gradient(slot.step.gradient);
    slot.rule->move(slot.step);
    if (!slot.value.is_contiguous()) slot.value.copy_from(slot.step.value);
  }
  std::size_t begin = 0;
  std::size_t end = slot.value.storage()->size_bytes();
  if (slot.value.is_contiguous()) {
    begin = static_cast<std::size_t>(slot.value.offset()) * size_of(slot.value.dtype());
    end = begin + slot.value.size_bytes();
  }
  slot.value.storage()->note_write(begin, end, "optimizer step");
}

void optimizer_step(const std::string& name, const py::list& groups, const py::dict& states) {
  struct Group {
    std::unique_ptr<OptimizerRule> rule;
    bool maximize;
    std::vector<Slot> slots;
  };
  std::vector<Group> read;
  for (const py::handle object : groups) {
    if (PyDict_Check(object.ptr()) == 0) throw TypeProblem("[" + name + "] a group is no dict");
    const py::dict group = py::reinterpret_borrow<py::dict>(object);
    const GroupSettings settings(name.c_str(), group);
    Group& added =
        read.emplace_back(Group{make_optimizer_rule(name, group), settings.flag("maximize"), {}});
    read_group(*added.rule, {name, read.size() - 1, 0, {}}, settings["params"], states,
               added.slots);
  }
  for (Group& group : read) {
    const bool keeps = keeps_something(*group.rule);
    for (Slot& slot : group.slots) move_slot(states, keeps, group.maximize, slot);
  }
}

// Throws where the rule cannot move the parameter, whatever its gradient.
void optimizer_check(const std::string& name, const py::dict& group, std::size_t group_index,
                     std::size_t index, const Tensor& parameter) {
  const Array value = parameter.array();
  check_parameter(*make_optimizer_rule(name, group), {name, group_index, index, value});
}

// A copy of the saved tensor, in the parameter's type. Throws where its shape is another.
py::object loaded_state(const std::string& where, const StateDef& def,
                        const std::optional<Shape>& shape, DType dtype, const py::handle& saved) {
  const Array given = array_from(saved.ptr(), dtype);
  if (!shape) {
    throw std::invalid_argument(where + ": a parameter of this shape has no state " + def.name);
  }
  if (given.shape() != *shape) {
    throw std::invalid_argument(where + ": expected the state " + def.name + " of shape " +
                                to_string(*shape) + ", got " + to_string(given.shape()));
  }
  return py::cast(Tensor(given.contiguous()));
}

py::object loaded_count(const std::string& where, const py::handle& saved) {
  const double count = PyFloat_AsDouble(saved.ptr());
  const bool failed = count == -1.0 && PyErr_Occurred() != nullptr;
  PyErr_Clear();
  if (failed || !(count >= 0.0) || count != std::floor(count) || count > 9e15) {
    throw std::invalid_argument(where +
                                ": expected the state step of a whole number of at least 0");
  }
  return py::int_(static_cast<std::int64_t>(count));
}

// What load_state_dict() keeps of the saved state of one parameter, which `where` names.
py::dict optimizer_load(const std::string& name, const py::dict& group, const std::string& where,
                        const Tensor& parameter, const py::dict& saved) {
  const std::unique_ptr<OptimizerRule> rule = make_optimizer_rule(name, group);
  const std::vector<StateDef>& defs = rule->states();
  const Array value = parameter.array();
  py::dict result;
  for (const auto& [key, object] : saved) {
    const std::string key_text = py::cast<std::string>(py::str(key));
    if (rule->counts_steps() && key_text == "step") {
      result[key] = loaded_count(where, object);
      continue;
    }
    std::size_t i = 0;
    while (i < defs.size() && key_text != defs[i].name) ++i;
    if (i == defs.size()) {
      throw std::invalid_argument(where + ": " + name + " keeps no state \"" + key_text + "\"");
    }
    if (object.is_none()) continue;
    result[key] =
        loaded_state(where, defs[i], rule->state_shape(i, value.shape()), value.dtype(), object);
  }
  if (result.empty()) return result;
  for (std::size_t i = 0; i < defs.size(); ++i) {
    if (defs[i].optional || result.contains(defs[i].name)) continue;
    if (!rule->state_shape(i, value.shape())) continue;
    throw std::invalid_argument(where + ": the state " + defs[i].name + " is missing");
  }
  if (rule->counts_steps() && !result.contains("step")) {
    throw std::invalid_argument(where + ": the state step is missing");
  }
  return result;
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
  module.def("_optimizer_step", optimizer_step, py::arg("rule"), py::arg("param_groups"),
             py::arg("state"));
  module.def("_optimizer_check", optimizer_check, py::arg("rule"), py::arg("group"),
             py::arg("group_index"), py::arg("index"), py::arg("parameter"));
  module.def("_optimizer_load", optimizer_load, py::arg("rule"), py::arg("group"), py::arg("where"),
             py::arg("parameter"), py::arg("saved"));
  // Those bound here, and those that recipes have, whose names are the same in small letters.
  module.def("_optimizer_rules", optimizer_rule_names);
  module.def("_recipe_optimizers", optimizer_names);
  module.def("_zero_grad", zero_grad, py::arg("parameters"), py::arg("set_to_none") = true);
}

}  // namespace weft::python
