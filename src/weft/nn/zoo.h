// The zoo: models by name, one file NAME_model.cpp each; see docs/HACKING.md to add one.
//
// Two peers with equal name and options make models with equal layouts and equal bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/nn/module.h"

namespace weft {

struct ModelOptions {
  std::uint64_t seed = 1;  // of the first parameter values
  bool dropout = false;
  std::int64_t hidden_units = 256;  // mlp
  // Of the inputs, f32 [N, channels, height, width].
  std::int64_t channels = 1;
  std::int64_t height = 28;
  std::int64_t width = 28;
  std::int64_t classes = 10;
};

struct ModelDef {
  const char* name;
  const char* description;
  // The model, parameters still zero; throws std::invalid_argument if the options do not fit it.
  std::unique_ptr<Module> (*make)(const ModelOptions& options);
};

// All models, sorted by name.
std::span<const ModelDef* const> model_table();
std::vector<std::string> model_names();

// Takes images, gives logits [N, classes]; initialised with options.seed.
// Fails: kInvalidArgument for an unknown name (lists the known ones) or options that do not fit.
Result<std::unique_ptr<Module>> make_model(std::string_view name, const ModelOptions& options);

}  // namespace weft
