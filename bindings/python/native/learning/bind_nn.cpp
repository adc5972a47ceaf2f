// The zoo: models of the C++ library, new ones and those of files, which weft.models shows as
// modules.
#include "core/define.h"
#include "core/module.h"
#include "weft/data/tokenizer.h"
#include "weft/io/continue_text.h"
#include "weft/io/model_file.h"
#include "weft/io/onnx_card.h"
#include "weft/io/onnx_export.h"
#include "weft/nn/zoo.h"

namespace weft::python {
namespace {

namespace py = pybind11;

constexpr std::uint64_t kOnnxCheckSeed = 2;

// Parameters and buffers share their memory, and parameters their gradients, with the model.
class ZooModel {
 public:
  ZooModel(const std::string& name, const ModelOptions& options) {
    loaded_.model = value_or_raise(make_model(name, options));
  }
  explicit ZooModel(LoadedModel loaded) : loaded_(std::move(loaded)) {}

  Tensor forward(const Tensor& x) {
    const py::gil_scoped_release released;
    return loaded_.model->forward(x);
  }
  void train(bool on) { loaded_.model->train(on); }
  // What dropout depends on.
  void set_step(std::uint64_t seed, std::uint64_t step) {
    loaded_.model->set_step_context({.seed = seed, .step = step});
  }
  std::vector<std::pair<std::string, Tensor>> parameters() const {
    std::vector<std::pair<std::string, Tensor>> named;
    for (const NamedParameter& parameter : loaded_.model->named_parameters()) {
      named.emplace_back(parameter.name, parameter.value);
    }
    return named;
  }
  std::vector<std::pair<std::string, Tensor>> buffers() const {
    std::vector<std::pair<std::string, Tensor>> named;
    for (const NamedValue& value : loaded_.model->values()) {
      if (value.kind == ParameterKind::kBuffer) named.emplace_back(value.name, value.value);
    }
    return named;
  }

  // Those of files alone.
  const LoadedModel& loaded() const { return loaded_; }
  Tensor prepare(const Tensor& inputs) const {
    const py::gil_scoped_release released;
    return Tensor(value_or_raise(loaded_.prepare(inputs.array())));
  }
  Tensor compute(const Tensor& prepared) const {
    const py::gil_scoped_release released;
    return Tensor(value_or_raise(loaded_.compute(prepared.array())));
  }
  // With the arithmetic before and after the model, and how far its outputs are from the model's.
  std::pair<OnnxModel, double> onnx() const {
    const py::gil_scoped_release released;
    OnnxModel model = value_or_raise(export_loaded(loaded_));
    const double off = value_or_raise(onnx_difference(loaded_, model, kOnnxCheckSeed));
    return {std::move(model), off};
  }
  std::vector<std::int32_t> encode(const std::string& text) const {
    return value_or_raise(tokenizer().encode(text));
  }
  py::bytes decode(const std::vector<std::int32_t>& tokens) const {
    return py::bytes(value_or_raise(tokenizer().decode(tokens)));
  }
  std::vector<std::int32_t> go_on(const std::vector<std::int32_t>& text, std::int64_t tokens,
                                  double temperature, std::uint64_t seed) {
    auto* const model = dynamic_cast<CausalLanguageModel*>(loaded_.model.get());
    if (model == nullptr || text.empty()) {
      throw std::invalid_argument("[generate] expected a model of text and a text to go on with");
    }
    const py::gil_scoped_release released;
    return continue_tokens(*model, text, {tokens, temperature, seed});
  }

 private:
  const Tokenizer& tokenizer() const {
    if (loaded_.data.tokenizer != nullptr) return *loaded_.data.tokenizer;
    throw std::invalid_argument("[tokenizer] this model has none: give it tokens");
  }

  LoadedModel loaded_;
};

std::unique_ptr<ZooModel> load_zoo_model(const std::string& path) {
  const py::gil_scoped_release released;
  return std::make_unique<ZooModel>(value_or_raise(load_model(path)));
}

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
      .def("buffers", &ZooModel::buffers)
      .def("architecture", [](const ZooModel& self) { return self.loaded().architecture; })
      .def("step", [](const ZooModel& self) { return self.loaded().step; })
      .def("description", [](const ZooModel& self) { return description_text(self.loaded().data); })
      .def("has_tokenizer",
           [](const ZooModel& self) { return self.loaded().data.tokenizer != nullptr; })
      .def("prepare", &ZooModel::prepare, py::arg("inputs"))
      .def("compute", &ZooModel::compute, py::arg("prepared"))
      .def("onnx", &ZooModel::onnx)
      .def("encode", &ZooModel::encode, py::arg("text"))
      .def("decode", &ZooModel::decode, py::arg("tokens"))
      .def("go_on", &ZooModel::go_on, py::arg("text"), py::arg("tokens"), py::arg("temperature"),
           py::arg("seed"));
  module.def("_load_model", load_zoo_model, py::arg("path"));
  module.def("_model_names", &model_names);
}

}  // namespace weft::python
