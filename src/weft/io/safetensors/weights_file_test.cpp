#include "weft/io/weights_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/io/hugging_face_names.h"
#include "weft/io/safetensors.h"
#include "weft/nn/zoo.h"

namespace weft::weights_file_test {
namespace {

using testing::HasSubstr;

std::unique_ptr<Module> small_model(const char* name, std::uint64_t seed) {
  ModelOptions options;
  options.seed = seed;
  options.vocabulary = 20;
  options.context = 8;
  options.layers = 2;
  options.embedding_width = 16;
  options.heads = 4;
  options.hidden_units = 12;
  return make_model(name, options).value();
}

bool same_values(const Module& a, const Module& b) {
  const std::vector<NamedValue> left = a.values();
  const std::vector<NamedValue> right = b.values();
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].value.to_vector<float>() != right[i].value.to_vector<float>()) return false;
  }
  return left.size() == right.size();
}

TEST(WeightsFile, GivesBackEveryModelOfTheZoo) {
  for (const ModelDef* const def : model_table()) {
    if (std::string_view(def->name).starts_with("resnet")) continue;  // large
    const std::unique_ptr<Module> model = small_model(def->name, 1);
    const std::unique_ptr<Module> other = small_model(def->name, 2);
    EXPECT_FALSE(same_values(*model, *other)) << def->name;
    ASSERT_TRUE(load_weights(weights_bytes(*model).value(), *other).ok()) << def->name;
    EXPECT_TRUE(same_values(*model, *other)) << def->name;
  }
}

TEST(WeightsFile, HuggingFaceNamesGoThereAndBack) {
  for (const char* const name : {"llama", "char_gpt"}) {
    const WeightsFormat format = {WeightNames::kHuggingFace, name};
    const std::unique_ptr<Module> model = small_model(name, 1);
    const std::unique_ptr<Module> other = small_model(name, 2);
    ASSERT_TRUE(load_weights(weights_bytes(*model, format).value(), *other, format).ok()) << name;
    EXPECT_TRUE(same_values(*model, *other)) << name;
  }
}

TEST(WeightsFile, Gpt2sLayersHoldInputsByOutputs) {
  const std::unique_ptr<Module> model = small_model("char_gpt", 1);
  const Bytes bytes = weights_bytes(*model, {WeightNames::kHuggingFace, "char_gpt"}).value();
  const SafetensorsView view = parse_safetensors(bytes).value();
  EXPECT_EQ(view.metadata.at("format"), "pt");
  const SafetensorsEntry* const packed = view.find("transformer.h.0.attn.c_attn.weight");
  ASSERT_NE(packed, nullptr);
  EXPECT_EQ(packed->shape, (Shape{16, 48}));
  EXPECT_EQ(view.find("transformer.h.0.mlp.c_fc.weight")->shape, (Shape{16, 64}));
  EXPECT_EQ(view.find("transformer.wpe.weight")->shape, (Shape{8, 16}));
  for (const NamedValue& value : model->values()) {
    if (value.name != "transformer.h.0.attn.c_attn.weight") continue;
    EXPECT_EQ(to_array(*packed).value().transpose(0, 1).contiguous().to_vector<float>(),
              value.value.to_vector<float>());
  }
}

// Files of base models: no outer name, a head that is tied, masks.
TEST(WeightsFile, ReadsFilesOfBaseModels) {
  const std::unique_ptr<Module> model = small_model("char_gpt", 1);
  const WeightsFormat format = {WeightNames::kHuggingFace, "char_gpt"};
  const Bytes bytes = weights_bytes(*model, format).value();
  const SafetensorsView view = parse_safetensors(bytes).value();
  const std::vector<float> mask(4, 1.0F);
  const ByteSpan mask_bytes = as_bytes(std::span<const float>(mask));
  std::vector<SafetensorsTensor> tensors = {
      {"h.0.attn.bias", DType::kF32, {1, 1, 2, 2}, mask_bytes},
      {"h.0.attn.masked_bias", DType::kF32, {}, mask_bytes.first(sizeof(float))}};
  for (const SafetensorsEntry& entry : view.entries) {
    if (entry.name == "lm_head.weight") continue;
    tensors.push_back({entry.name.substr(std::string_view("transformer.").size()), DType::kF32,
                       entry.shape, entry.values});
  }
  const std::unique_ptr<Module> other = small_model("char_gpt", 2);
  ASSERT_TRUE(load_weights(write_safetensors(tensors, {}), *other, format).ok());
  const std::vector<NamedValue> values = other->values();
  EXPECT_EQ(values.front().name, "transformer.wte.weight");
  EXPECT_EQ(values.back().name, "lm_head.weight");
  EXPECT_EQ(values.front().value.to_vector<float>(), values.back().value.to_vector<float>());
  EXPECT_EQ(values.front().value.to_vector<float>(),
            model->values().front().value.to_vector<float>());
}

TEST(WeightsFile, RefusesWhatDoesNotFitAndChangesNothing) {
  const std::unique_ptr<Module> model = small_model("mlp", 1);
  const std::unique_ptr<Module> same = small_model("mlp", 1);
  const Bytes other = weights_bytes(*small_model("lenet", 1)).value();
  EXPECT_EQ(load_weights(other, *model).code(), Code::kInvalidArgument);
  EXPECT_EQ(load_weights(Bytes{1, 2, 3}, *model).code(), Code::kCorrupt);
  EXPECT_TRUE(same_values(*model, *same));
  EXPECT_THAT(weights_bytes(*model, {WeightNames::kHuggingFace, "mlp"}).status().message(),
              HasSubstr("(llama, char_gpt), got mlp"));
}

TEST(HuggingFaceConfig, SaysTheSizes) {
  ModelOptions options;
  options.vocabulary = 20;
  options.context = 8;
  options.embedding_width = 24;
  options.heads = 4;
  options.kv_heads = 2;
  const Layout layout = make_model("llama", options).value()->layout();
  const auto config = nlohmann::json::parse(hugging_face_config("llama", options, layout).value());
  EXPECT_EQ(config["model_type"], "llama");
  EXPECT_EQ(config["hidden_size"], 24);
  EXPECT_EQ(config["intermediate_size"], 64);
  EXPECT_EQ(config["num_key_value_heads"], 2);
  EXPECT_EQ(config["num_hidden_layers"], 4);
  EXPECT_EQ(config["tie_word_embeddings"], false);
  EXPECT_FALSE(hugging_face_config("cnn", options, layout).ok());
}

}  // namespace
}  // namespace weft::weights_file_test
