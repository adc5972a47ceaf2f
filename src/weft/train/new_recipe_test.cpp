#include "weft/train/new_recipe.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/rng.h"
#include "weft/train/test_recipe.h"

namespace weft::new_recipe_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

const std::string kExamples = std::string(WEFT_SOURCE_DIR) + "/examples/data/";

class NewRecipeTest : public testing::Test {
 protected:
  Result<NewRecipe> recipe_for(const std::string& path, const std::string& target = "") {
    WEFT_TRY_ASSIGN(const DataLook look, look_at_data(path));
    return new_recipe(look, target);
  }
  std::string put(const std::string& name, const std::string& text) {
    fs::create_directories(root_);
    std::ofstream(root_ / name, std::ios::binary) << text;
    return (root_ / name).string();
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path root_ = fs::path(testing::TempDir()) / ("new_recipe_" + std::to_string(::getpid()));
  SystemClock clock_;
};

TEST_F(NewRecipeTest, TheExamplesOfEachKindAreTrainedOn) {
  struct Case {
    const char* path;
    const char* model;
    const char* data;
  };
  for (const Case& one : {Case{"shapes", "resnet9", "images"}, Case{"flats.csv", "mlp", "rows"},
                          Case{"story.txt", "char_gpt", "text"}}) {
    SCOPED_TRACE(one.path);
    const Result<NewRecipe> made = recipe_for(kExamples + one.path);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made->recipe.model.name, one.model);
    EXPECT_EQ(made->recipe.data.name, one.data);
    EXPECT_EQ(canonical_text(*parse_recipe(made->text, "again")), canonical_text(made->recipe));
    const Result<RecipeTrial> trial = try_recipe(made->recipe, {}, clock_, 2);
    ASSERT_TRUE(trial.ok()) << trial.status().message();
    EXPECT_EQ(trial->steps, 2);
    EXPECT_GT(trial->first_loss, 0);
  }
}

TEST_F(NewRecipeTest, TheTargetDecidesBetweenClassesAndValues) {
  const std::string table = kExamples + "flats.csv";
  EXPECT_FALSE(recipe_for(table)->recipe.data.classify);
  EXPECT_EQ(recipe_for(table)->recipe.data.target, "rent");
  EXPECT_TRUE(recipe_for(table, "district")->recipe.data.classify);
  EXPECT_THAT(recipe_for(table, "distrikt").status().message(),
              AllOf(HasSubstr("did you mean \"district\"?"), HasSubstr("area, age, rent")));
  EXPECT_THAT(recipe_for(kExamples + "story.txt", "x").status().message(), HasSubstr("no table"));
}

TEST_F(NewRecipeTest, FewDataGetSmallBatchesAndShortContexts) {
  std::string text = "a,b\n";
  for (int i = 0; i < 12; ++i) text += fmt::format("{},{}\n", i, i % 2);
  const Result<NewRecipe> small = recipe_for(put("small.csv", text));
  ASSERT_TRUE(small.ok()) << small.status().message();
  EXPECT_LE(small->recipe.run.global_batch, 11);
  EXPECT_TRUE(try_recipe(small->recipe, {}, clock_, 1).ok());
  const std::string sentence = "a quick brown fox jumps over the lazy dog; ";
  std::string letters;
  while (letters.size() < 1000) letters += sentence;
  const Result<NewRecipe> tale = recipe_for(put("tale.txt", letters));
  ASSERT_TRUE(tale.ok()) << tale.status().message();
  EXPECT_EQ(tale->recipe.model.name, "lstm_lm");
  const Result<RecipeTrial> trial = try_recipe(tale->recipe, {}, clock_, 2);
  EXPECT_TRUE(trial.ok()) << trial.status().message();
}

TEST_F(NewRecipeTest, WhatIsOfNoUseIsRefused) {
  EXPECT_THAT(recipe_for(put("short.txt", "too short")).status().message(),
              HasSubstr("400 characters or more"));
  EXPECT_THAT(recipe_for(put("same.csv", "a,b\n1,2\n2,2\n")).status().message(),
              AllOf(HasSubstr("column b"), HasSubstr("--target COLUMN")));
  EXPECT_THAT(recipe_for(put("t.bin", "tokens")).status().message(), HasSubstr("vocabulary"));
}

TEST_F(NewRecipeTest, ATrialThatDivergesSaysSo) {
  Recipe recipe = small_recipe();
  recipe.optimizer.learning_rate = 1000;
  recipe.optimizer.momentum = 0.99;
  const Result<RecipeTrial> trial = try_recipe(recipe, {}, clock_, 200);
  ASSERT_FALSE(trial.ok());
  EXPECT_THAT(trial.status().message(), HasSubstr("smaller optimizer.learning_rate"));
}

}  // namespace
}  // namespace weft::new_recipe_test
