#include "learning/optim_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/errors.h"
#include "weft/kernel/optimizer/adafactor.h"
#include "weft/kernel/optimizer/matrix_optimizer.h"
#include "weft/kernel/optimizer/optimizer.h"

namespace weft::python {
namespace {

namespace py = pybind11;

// Gives a rule with a template move_as<Value>(step) its virtual move().
template <class Rule>
class RuleOf : public OptimizerRule {
 protected:
  using OptimizerRule::OptimizerRule;

 private:
  void move(ParameterStep& step) const final {
    const Rule& rule = static_cast<const Rule&>(*this);
    if (step.value.dtype() == DType::kF64) {
      rule.template move_as<double>(step);
    } else {
      rule.template move_as<float>(step);
    }
  }
};

class SgdRule : public RuleOf<SgdRule> {
 public:
  explicit SgdRule(const GroupSettings& group)
      : RuleOf({{.name = "momentum_buffer",
                 .used = group.number("momentum") != 0.0,
                 .optional = true}},
               false) {
    constants_ = {.learning_rate = group.number("lr"),
                  .momentum = group.number("momentum"),
                  .dampening = group.number("dampening"),
                  .weight_decay = group.number("weight_decay"),
                  .nesterov = group.flag("nesterov")};
  }
  template <class Value>
  void move_as(ParameterStep& step) const {
    SgdConstants constants = constants_;
    constants.first_step = step.is_new[0];
    sgd_step<Value>(constants, step.gradients<Value>(), step.state<Value>(0), step.values<Value>());
  }

 private:
  SgdConstants constants_;
};

template <bool kDecoupled>
class AdamRule : public RuleOf<AdamRule<kDecoupled>> {
 public:
  explicit AdamRule(const GroupSettings& group)
      : RuleOf<AdamRule<kDecoupled>>(
            {{.name = "exp_avg"},
             {.name = "exp_avg_sq"},
             {.name = "max_exp_avg_sq", .used = group.flag("amsgrad"), .optional = true}},
            true) {
    const std::vector<double> betas = group.numbers("betas", 2);
    constants_ = {.learning_rate = group.number("lr"),
                  .beta1 = betas[0],
                  .beta2 = betas[1],
                  .epsilon = group.number("eps"),
                  .weight_decay = group.number("weight_decay"),
                  .decoupled_weight_decay = kDecoupled};
  }
  template <class Value>
  void move_as(ParameterStep& step) const {
    AdamConstants constants = constants_;
    constants.step = step.step;
    const AdamStateOf<Value> state{step.state<Value>(0), step.state<Value>(1),
                                   step.state<Value>(2)};
    adam_step<Value>(constants, step.gradients<Value>(), state, step.values<Value>());
  }

 private:
  AdamConstants constants_;
};

class AdagradRule : public RuleOf<AdagradRule> {
 public:
  explicit AdagradRule(const GroupSettings& group)
      : RuleOf({{.name = "sum", .start = group.number("initial_accumulator_value")}}, true),
        rate_decay_(group.number("lr_decay")) {
    constants_ = {.learning_rate = group.number("lr"),
                  .epsilon = group.number("eps"),
                  .weight_decay = group.number("weight_decay")};
  }
  template <class Value>
  void move_as(ParameterStep& step) const {
    AdagradConstants constants = constants_;
    constants.learning_rate /= 1.0 + static_cast<double>(step.step - 1) * rate_decay_;
    adagrad_step<Value>(constants, step.gradients<Value>(), step.state<Value>(0),
                        step.values<Value>());
  }

 private:
  AdagradConstants constants_;
  double rate_decay_;
};

class RmsPropRule : public RuleOf<RmsPropRule> {
 public:
  explicit RmsPropRule(const GroupSettings& group)
      : RuleOf(
            {{.name = "square_avg"},
             {.name = "momentum_buffer", .used = group.number("momentum") != 0.0, .optional = true},
             {.name = "grad_avg", .used = group.flag("centered"), .optional = true}},
            true) {
    constants_ = {.learning_rate = group.number("lr"),
                  .smoothing = group.number("alpha"),
                  .momentum = group.number("momentum"),
                  .epsilon = group.number("eps"),
                  .weight_decay = group.number("weight_decay")};
  }
  template <class Value>
  void move_as(ParameterStep& step) const {
    const RmsPropStateOf<Value> state{.square_mean = step.state<Value>(0),
                                      .mean = step.state<Value>(2),
                                      .momentum = step.state<Value>(1)};
    rms_prop_step<Value>(constants_, step.gradients<Value>(), state, step.values<Value>());
  }

 private:
  RmsPropConstants constants_;
};

class AdadeltaRule : public RuleOf<AdadeltaRule> {
 public:
  explicit AdadeltaRule(const GroupSettings& group)
      : RuleOf({{.name = "square_avg"}, {.name = "acc_delta"}}, true) {
    constants_ = {.learning_rate = group.number("lr"),
                  .smoothing = group.number("rho"),
                  .epsilon = group.number("eps"),
                  .weight_decay = group.number("weight_decay")};
  }
  template <class Value>
  void move_as(ParameterStep& step) const {
    const AdadeltaStateOf<Value> state{step.state<Value>(0), step.state<Value>(1)};
    adadelta_step<Value>(constants_, step.gradients<Value>(), state, step.values<Value>());
  }

 private:
  AdadeltaConstants constants_;
};

class LionRule : public RuleOf<LionRule> {
 public:
  explicit LionRule(const GroupSettings& group) : RuleOf({{.name = "exp_avg"}}, false) {
    const std::vector<double> betas = group.numbers("betas", 2);
    constants_ = {.learning_rate = group.number("lr"),
                  .beta1 = betas[0],
                  .beta2 = betas[1],
                  .weight_decay = group.number("weight_decay")};
  }
  template <class Value>
  void move_as(ParameterStep& step) const {
    lion_step<Value>(constants_, step.gradients<Value>(), step.state<Value>(0),
                     step.values<Value>());
  }

 private:
  LionConstants constants_;
};

class AdafactorRule : public RuleOf<AdafactorRule> {
 public:
  explicit AdafactorRule(const GroupSettings& group)
      : RuleOf({{.name = "row_var"}, {.name = "col_var"}, {.name = "variance"}}, true) {
    constants_ = {.learning_rate = group.number("lr"),
                  .beta2_decay = group.number("beta2_decay"),
                  .clip_threshold = group.number("d"),
                  .weight_decay = group.number("weight_decay")};
    const auto epsilons = py::reinterpret_borrow<py::sequence>(group["eps"]);
    constants_.scale_least = py::cast<double>(py::object(epsilons[1]));
    if (!py::object(epsilons[0]).is_none()) epsilon_ = py::cast<double>(py::object(epsilons[0]));
  }
  std::optional<Shape> state_shape(std::size_t state, const Shape& parameter) const override {
    const bool factored = parameter.size() >= 2;
    if (factored == (state == 2)) return std::nullopt;
    if (!factored) return parameter;
    return state == 0 ? adafactor_row_shape(parameter) : adafactor_column_shape(parameter);
  }
  template <class Value>
  void move_as(ParameterStep& step) const {
    TorchAdafactorConstants constants = constants_;
    constants.epsilon = epsilon_.value_or(std::numeric_limits<Value>::epsilon());
    constants.step = static_cast<double>(step.step);
    const AdafactorMoments<Value> moments{step.state<Value>(0), step.state<Value>(1),
                                          step.state<Value>(2)};
    torch_adafactor_step<Value>(constants, step.value.shape(), step.gradients<Value>(), moments,
                                step.values<Value>());
  }

 private:
  TorchAdafactorConstants constants_;
  std::optional<double> epsilon_;  // none: of the parameter's type
};

class MuonRule : public RuleOf<MuonRule> {
 public:
  explicit MuonRule(const GroupSettings& group)
      : RuleOf({{.name = "momentum_buffer"}}, false),
        rate_(group.number("lr")),
        momentum_(group.number("momentum")),
        weight_decay_(group.number("weight_decay")),
        epsilon_(group.number("eps")),
        nesterov_(group.flag("nesterov")),
        as_adamw_(!group["adjust_lr_fn"].is_none() &&
                  py::cast<std::string>(group["adjust_lr_fn"]) == "match_rms_adamw") {
    const std::vector<double> coefficients = group.numbers("ns_coefficients", 3);
    polynomial_ = {.a = coefficients[0],
                   .b = coefficients[1],
                   .c = coefficients[2],
                   .steps = static_cast<int>(group.number("ns_steps"))};
  }
  std::string refusal(const Shape& parameter) const override {
    if (parameter.size() >= 2) return {};
    return "Muon moves matrices: give parameters of fewer than two dimensions to another "
           "optimizer, such as AdamW";
  }
  template <class Value>
  void move_as(ParameterStep& step) const {
    const Shape& shape = step.value.shape();
    const std::span<Value> values = step.values<Value>();
    if (values.empty()) return;
    const MatrixSize size = {shape[0], step.value.size() / shape[0]};
    const std::span<const Value> gradients = step.gradients<Value>();
    const std::span<Value> momentum = step.state<Value>(0);
    blend<Value>(momentum, momentum_, gradients, 1.0 - momentum_, momentum);
    std::vector<Value> update(momentum.begin(), momentum.end());
    if (nesterov_) blend<Value>(gradients, 1.0 - momentum_, momentum, momentum_, update);
    const double norm =
        root_mean_square<Value>(update) * std::sqrt(static_cast<double>(update.size()));
    const double scale = 1.0 / std::max(norm, epsilon_);
    for (Value& value : update) value = static_cast<Value>(static_cast<double>(value) * scale);
    newton_schulz<Value>(size, polynomial_, update);
    blend<Value>(values, 1.0 - rate_ * weight_decay_, update, -rate_ * rate_factor(size), values);
  }

 private:
  double rate_factor(const MatrixSize& size) const {
    const auto rows = static_cast<double>(size.rows);
    const auto columns = static_cast<double>(size.columns);
    return as_adamw_ ? 0.2 * std::sqrt(std::max(rows, columns))
                     : std::sqrt(std::max(1.0, rows / columns));
  }

  NewtonSchulz polynomial_;
  double rate_;
  double momentum_;
  double weight_decay_;
  double epsilon_;
  bool nesterov_;
  bool as_adamw_;
};

struct RuleDef {
  const char* name;
  std::unique_ptr<OptimizerRule> (*make)(const GroupSettings& group);
};

template <class Rule>
std::unique_ptr<OptimizerRule> make_rule(const GroupSettings& group) {
  return std::make_unique<Rule>(group);
}

constexpr RuleDef kRules[] = {
    {"SGD", make_rule<SgdRule>},
    {"Adam", make_rule<AdamRule<false>>},
    {"AdamW", make_rule<AdamRule<true>>},
    {"Adagrad", make_rule<AdagradRule>},
    {"Adadelta", make_rule<AdadeltaRule>},
    {"RMSprop", make_rule<RmsPropRule>},
    {"Adafactor", make_rule<AdafactorRule>},
    {"Lion", make_rule<LionRule>},
    {"Muon", make_rule<MuonRule>},
};

}  // namespace

PyObject* key_of(const char* name) {
  static std::unordered_map<const char*, PyObject*> keys;  // never given back
  PyObject*& key = keys[name];
  if (key == nullptr) key = PyUnicode_InternFromString(name);
  if (key == nullptr) throw PythonError();
  return key;
}

py::handle GroupSettings::operator[](const char* name) const {
  PyObject* const found = PyDict_GetItemWithError(group_.ptr(), key_of(name));
  if (found != nullptr) return found;
  if (PyErr_Occurred() != nullptr) throw PythonError();
  throw TypeProblem(std::string("[") + rule_ + "] a group of parameters has no setting \"" + name +
                    "\"");
}

double GroupSettings::number_in(const char* name, const py::handle& object) const {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value != -1.0 || PyErr_Occurred() == nullptr) return value;
  PyErr_Clear();
  throw TypeProblem(std::string("[") + rule_ + "] expected " + name + " of numbers, got " +
                    Py_TYPE(object.ptr())->tp_name);
}

double GroupSettings::number(const char* name) const { return number_in(name, (*this)[name]); }

bool GroupSettings::flag(const char* name) const {
  const int truth = PyObject_IsTrue((*this)[name].ptr());
  if (truth < 0) throw PythonError();
  return truth != 0;
}

std::vector<double> GroupSettings::numbers(const char* name, std::size_t count) const {
  const py::handle object = (*this)[name];
  const bool is_list = PyTuple_Check(object.ptr()) || PyList_Check(object.ptr());
  if (!is_list || py::len(object) != count) {
    throw TypeProblem(std::string("[") + rule_ + "] expected " + name + " of " +
                      std::to_string(count) + " numbers");
  }
  std::vector<double> values;
  for (const py::handle item : py::reinterpret_borrow<py::sequence>(object)) {
    values.push_back(number_in(name, item));
  }
  return values;
}

std::vector<std::string> optimizer_rule_names() {
  std::vector<std::string> names;
  for (const RuleDef& def : kRules) names.emplace_back(def.name);
  return names;
}

std::unique_ptr<OptimizerRule> make_optimizer_rule(const std::string& name, const py::dict& group) {
  for (const RuleDef& def : kRules) {
    if (name == def.name) return def.make(GroupSettings(def.name, group));
  }
  throw std::invalid_argument("[optimizer] no rule is named \"" + name + "\"");
}

}  // namespace weft::python
