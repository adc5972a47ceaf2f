#include "weft/io/hugging_face_names.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/nn/text_model.h"

namespace weft {
namespace {

bool ends_in(std::string_view name, std::span<const std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

// GPT-2's Conv1D layers.
bool is_transposed(std::string_view model, std::string_view name) {
  constexpr std::array<std::string_view, 3> kLayers = {".c_attn.weight", ".c_proj.weight",
                                                       ".c_fc.weight"};
  return model == "char_gpt" && ends_in(name, kLayers);
}

bool is_no_parameter(std::string_view model, std::string_view name) {
  constexpr std::array<std::string_view, 3> kNone = {".attn.bias", ".attn.masked_bias",
                                                     ".rotary_emb.inv_freq"};
  return (model == "char_gpt" || model == "llama") && ends_in(name, kNone);
}

}  // namespace

Status check_hugging_face_model(std::string_view model) {
  if (model == "llama" || model == "char_gpt") return {};
  return invalid_argument(
      fmt::format("Hugging Face names: expected a model that has a counterpart there (llama, "
                  "char_gpt), got {}",
                  model));
}

ForeignName to_hugging_face(std::string_view model, std::string_view name) {
  return {std::string(name), is_transposed(model, name), false};
}

ForeignName from_hugging_face(std::string_view model, std::string_view name) {
  const std::string_view outer = model == "llama" ? "model." : "transformer.";
  const bool is_whole = name.starts_with(outer) || name.starts_with("lm_head.");
  return {(is_whole ? "" : std::string(outer)) + std::string(name), is_transposed(model, name),
          is_no_parameter(model, name)};
}

Result<std::string> hugging_face_config(std::string_view model, const ModelOptions& options,
                                        const Layout& layout) {
  WEFT_TRY(check_hugging_face_model(model));
  const TextModelShape sizes = text_model_shape(std::string(model).c_str(), options);
  nlohmann::ordered_json config;
  config["tie_word_embeddings"] = false;
  config["vocab_size"] = sizes.vocabulary;
  config["torch_dtype"] = "float32";
  if (model == "llama") {
    const int gate = layout.find("model.layers.0.mlp.gate_proj.weight");
    if (gate < 0) return invalid_argument("Hugging Face names: expected the layout of a llama");
    config["architectures"] = {"LlamaForCausalLM"};
    config["model_type"] = "llama";
    config["hidden_size"] = sizes.width;
    config["intermediate_size"] = layout[gate].shape[0];
    config["num_hidden_layers"] = sizes.layers;
    config["num_attention_heads"] = sizes.heads;
    config["num_key_value_heads"] = sizes.kv_heads;
    config["max_position_embeddings"] = sizes.context;
    config["rms_norm_eps"] = 1e-6;
    config["rope_theta"] = 10000.0;
    config["hidden_act"] = "silu";
    config["attention_bias"] = false;
  } else {
    config["architectures"] = {"GPT2LMHeadModel"};
    config["model_type"] = "gpt2";
    config["n_embd"] = sizes.width;
    config["n_layer"] = sizes.layers;
    config["n_head"] = sizes.heads;
    config["n_positions"] = sizes.context;
    config["activation_function"] = "gelu";
    config["layer_norm_epsilon"] = 1e-5;
  }
  return config.dump(2) + "\n";
}

}  // namespace weft
