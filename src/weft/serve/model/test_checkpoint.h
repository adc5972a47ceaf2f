// Checkpoints of small models that were not trained, for the tests of this folder.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "weft/base/status.h"
#include "weft/base/testing/test_folder.h"
#include "weft/base/time.h"
#include "weft/serve/model/served_model.h"
#include "weft/train/run/checkpoints.h"
#include "weft/train/run/trainer.h"

namespace weft {

// The trainer of a recipe, and its checkpoint before the first step.
struct TestCheckpoint {
  SystemClock clock;
  std::unique_ptr<Trainer> trainer;
  std::string path;
};

inline std::unique_ptr<TestCheckpoint> make_test_checkpoint(const TestFolder& folder,
                                                            const std::string& recipe_text) {
  auto made = std::make_unique<TestCheckpoint>();
  const Result<Recipe> recipe = parse_recipe(recipe_text, "test.toml");
  EXPECT_TRUE(recipe.ok()) << recipe.status().to_string();
  auto trainer = Trainer::make(*recipe, {}, made->clock);
  EXPECT_TRUE(trainer.ok()) << trainer.status().to_string();
  made->trainer = std::move(*trainer);
  const auto saved = Checkpoints(folder.path("checkpoints"), 1, "00").save(*made->trainer);
  EXPECT_TRUE(saved.ok()) << saved.status().to_string();
  made->path = saved->path;
  return made;
}

inline std::unique_ptr<ServedModel> load_served(const std::string& path) {
  auto model = ServedModel::load(path, {});
  EXPECT_TRUE(model.ok()) << model.status().to_string();
  return model.ok() ? std::move(*model) : nullptr;
}

inline const char* const kImageRecipe =
    "[model]\nname = \"mlp\"\nhidden_units = 16\n[data]\nname = \"synthetic\"\n"
    "synthetic_samples = 64\n[run]\nname = \"images\"\nglobal_batch = 8\n";

inline std::string text_recipe(const std::string& path, const std::string& model = "char_gpt") {
  return "[model]\nname = \"" + model +
         "\"\nlayers = 2\nembedding_width = 32\nheads = 2\nhidden_units = 32\n[data]\n"
         "name = \"text\"\npath = \"" +
         path +
         "\"\ntokenizer = \"byte\"\ncontext = 48\n[run]\nname = \"text\"\nglobal_batch = 2\n";
}

// Enough for a context of 48 tokens in both splits.
inline std::string test_text() {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the quick brown fox jumps over the lazy dog. ";
  return text;
}

}  // namespace weft
