#include "weft/nn/zoo.h"

#include <stdexcept>

#include <fmt/format.h>

#include "weft/base/nearest_name.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const ModelDef name##_model;
#include "model_table.inc"
#undef WEFT_PLUGIN

std::span<const ModelDef* const> model_table() {
  static constexpr const ModelDef* kTable[] = {
#define WEFT_PLUGIN(name) &name##_model,
#include "model_table.inc"
#undef WEFT_PLUGIN
  };
  return kTable;
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ModelDef* def : model_table()) names.emplace_back(def->name);
  return names;
}

const ModelDef* find_model(std::string_view name) {
  for (const ModelDef* def : model_table()) {
    if (def->name == name) return def;
  }
  return nullptr;
}

Result<std::unique_ptr<Module>> make_model(std::string_view name, const ModelOptions& options) {
  if (const ModelDef* const def = find_model(name); def != nullptr) {
    try {
      std::unique_ptr<Module> model = def->make(options);
      model->initialize(options.seed);
      return model;
    } catch (const std::invalid_argument& mistake) {
      return invalid_argument(fmt::format("model {}: {}", name, mistake.what()));
    }
  }
  return invalid_argument(fmt::format("model: expected one of {}, got \"{}\"{}",
                                      fmt::join(model_names(), ", "), name,
                                      did_you_mean(name, model_names())));
}

}  // namespace weft
