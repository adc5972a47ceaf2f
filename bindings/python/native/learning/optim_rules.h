// OptimizerRule: how one optimizer moves one parameter, with a group's settings by PyTorch's names.
//
// Where it stands: bind_optim.cpp reads groups and states of Python and hands each parameter to the
// rule; rules call the loops of weft/kernel. To add an optimizer: a class and a row of the table in
// optim_rules.cpp, and a class in weft/optim/optimizers.py with its settings.
// Threads: rules are made with the GIL and move parameters without it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/pybind11.h>

#include "weft/array/array.h"

namespace weft::python {

// A key of Python's dicts, made once for each literal. Borrowed. REQUIRES: the GIL.
PyObject* key_of(const char* name);

// A group of parameters: its settings. Throws TypeProblem naming what is missing or no number.
class GroupSettings {
 public:
  GroupSettings(const char* rule, pybind11::dict group) : rule_(rule), group_(std::move(group)) {}
  pybind11::handle operator[](const char* name) const;
  double number(const char* name) const;
  bool flag(const char* name) const;
  // `count` numbers of a tuple or list.
  std::vector<double> numbers(const char* name, std::size_t count) const;

 private:
  double number_in(const char* name, const pybind11::handle& object) const;
  const char* rule_;
  pybind11::dict group_;
};

// A tensor that a rule keeps for each parameter.
struct StateDef {
  const char* name;
  bool used = true;       // with these settings
  bool optional = false;  // whether it may be missing where others are
  double start = 0.0;     // every element's first value
};
inline constexpr std::size_t kStatesMax = 3;

// One parameter in a step. `states` runs beside the rule's; undefined: not there yet, or not used.
struct ParameterStep {
  Array value;  // contiguous, as all here
  Array gradient;
  std::array<Array, kStatesMax> states;
  std::array<bool, kStatesMax> is_new = {};  // made for this step
  std::int64_t step = 1;                     // this one's number

  template <class Value>
  std::span<Value> values() {
    return value.flat<Value>();
  }
  template <class Value>
  std::span<const Value> gradients() const {
    return std::as_const(gradient).flat<Value>();
  }
  // Empty where the state is not used.
  template <class Value>
  std::span<Value> state(std::size_t i) {
    return states[i].defined() ? states[i].flat<Value>() : std::span<Value>();
  }
};

class OptimizerRule {
 public:
  virtual ~OptimizerRule() = default;
  OptimizerRule(const OptimizerRule&) = delete;
  OptimizerRule& operator=(const OptimizerRule&) = delete;

  // At most kStatesMax.
  const std::vector<StateDef>& states() const { return states_; }
  // Whether the state of a parameter has the number of its steps, as "step".
  bool counts_steps() const { return counts_steps_; }
  // None: a parameter of this shape has no such state.
  virtual std::optional<Shape> state_shape(std::size_t /*state*/, const Shape& parameter) const {
    return parameter;
  }
  // Why a parameter of this shape is not taken; empty if it is.
  virtual std::string refusal(const Shape& /*parameter*/) const { return {}; }
  // By the dtype of the parameter, f32 or f64.
  virtual void move(ParameterStep& step) const = 0;

 protected:
  OptimizerRule(std::vector<StateDef> states, bool counts_steps)
      : states_(std::move(states)), counts_steps_(counts_steps) {}

 private:
  std::vector<StateDef> states_;
  bool counts_steps_;
};

// All rules: the names of the Python classes.
std::vector<std::string> optimizer_rule_names();
// Throws std::invalid_argument for a name that is none.
std::unique_ptr<OptimizerRule> make_optimizer_rule(const std::string& name,
                                                   const pybind11::dict& group);

}  // namespace weft::python
