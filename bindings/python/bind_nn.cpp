// The zoo: models of the C++ library, which weft.models shows as modules.
#include "define.h"
#include "module.h"
#include "weft/nn/zoo.h"

namespace weft::python {
namespace {

namespace py = pybind11;

// Parameters and buffers share their memory, and parameters their gradients, with the model.
class ZooModel {
 public:
  ZooModel(const std::string& name, const ModelOptions& options)
      : model_(value_or_raise(make_model(name, options))) {}

  Tensor forward(const Tensor& x) {
    const py::gil_scoped_release released;
    return model_->forward(x);
  }
  void train(bool on) { model_->train(on); }
  // What dropout depends on.
  void set_step(std::uint64_t seed, std::uint64_t step) {
    model_->set_step_context({.seed = seed, .step = step});
  }
  std::vector<std::pair<std::string, Tensor>> parameters() const {
    std::vector<std::pair<std::string, Tensor>> named;
    for (const NamedParameter& parameter : model_->named_parameters()) {
      named.emplace_back(parameter.name, parameter.value);
    }
    return named;
  }
  std::vector<std::pair<std::string, Tensor>> buffers() const {
    std::vector<std::pair<std::string, Tensor>> named;
    for (const NamedValue& value : model_->values()) {
      if (value.kind == ParameterKind::kBuffer) named.emplace_back(value.name, value.value);
    }
    return named;
  }

 private:
  std::unique_ptr<Module> model_;
};

ModelOptions options_of(const py::dict& given) {
  ModelOptions options;
  const std::map<std::string, std::int64_t*> numbers = {
      {"hidden_units", &options.hidden_units},
      {"channels", &options.channels},
      {"height", &options.height},
      {"width", &options.width},
      {"classes", &options.classes},
      {"vocabulary", &options.vocabulary},
      {"context", &options.context},
      {"layers", &options.layers},
      {"heads", &options.heads},
      {"kv_heads", &options.kv_heads},
      {"embedding_width", &options.embedding_width}};
  for (const auto& [key, value] : given) {
    const auto name = py::cast<std::string>(key);
    if (name == "seed") {
      options.seed = py::cast<std::uint64_t>(value);
    } else if (name == "dropout") {
      options.dropout = py::cast<bool>(value);
    } else if (name == "checkpoint_blocks") {
      options.checkpoint_blocks = py::cast<bool>(value);
    } else if (const auto found = numbers.find(name); found != numbers.end()) {
      *found->second = py::cast<std::int64_t>(value);
    } else {
      throw TypeProblem("models have no option " + name);
    }
  }
  return options;
}

}  // namespace

void bind_nn(py::module_& module) {
  py::class_<ZooModel>(module, "_ZooModel")
      .def(py::init([](const std::string& name, const py::dict& options) {
             return std::make_unique<ZooModel>(name, options_of(options));
           }),
           py::arg("name"), py::arg("options"))
      .def("forward", &ZooModel::forward, py::arg("input"))
      .def("train", &ZooModel::train, py::arg("mode"))
      .def("set_step", &ZooModel::set_step, py::arg("seed"), py::arg("step"))
      .def("parameters", &ZooModel::parameters)
      .def("buffers", &ZooModel::buffers);
  module.def("_model_names", &model_names);
}

}  // namespace weft::python
