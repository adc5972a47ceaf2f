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
  std::int64_t hidden_units = 256;  // mlp; lstm_lm: of one layer
  // Sizes of the inputs, f32 [N, channels, height, width].
  std::int64_t channels = 1;
  std::int64_t height = 28;
  std::int64_t width = 28;
  std::int64_t classes = 10;
  // For text models (ModelInput::kTokens). 0: the model's own default.
  std::int64_t vocabulary = 96;
  std::int64_t context = 128;  // tokens of a sequence at most
  std::int64_t layers = 0;
  std::int64_t embedding_width = 0;  // values a token
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  // llama
  // Keep only the inputs of each block in the forward pass, and recompute the rest in the backward
  // pass.
  bool checkpoint_blocks = false;
};

enum class ModelInput : std::uint8_t {
  kImages,  // f32 [N, channels, height, width] to logits [N, classes]
  kTokens,  // i64 [N, T] to logits [N, T, vocabulary], of the token that follows each
};

struct ModelDef {
  const char* name;
  const char* description;
  // Makes the model, with parameters still zero; throws std::invalid_argument if the options do not
  // fit it.
  std::unique_ptr<Module> (*make)(const ModelOptions& options);
  ModelInput input = ModelInput::kImages;
};

// All models, sorted by name.
std::span<const ModelDef* const> model_table();
std::vector<std::string> model_names();

// Returns null if there is no model of this name.
const ModelDef* find_model(std::string_view name);

// Its inputs and outputs are those of ModelDef::input; it is initialised with options.seed.
// Fails: kInvalidArgument for an unknown name (lists the known ones) or options that do not fit.
Result<std::unique_ptr<Module>> make_model(std::string_view name, const ModelOptions& options);

}  // namespace weft
