#include "weft/train/recipe/new_recipe.h"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/base/rng.h"
#include "weft/data/npy.h"
#include "weft/data/text_file.h"
#include "weft/train/recipe/recipe_data.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/run/try_recipe.h"

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
  std::string path(const std::string& name) const { return (root_ / name).string(); }
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

TEST_F(NewRecipeTest, IdentifiersAndDatesAreNoInputs) {
  std::string text =
      "id,Gr\xC3\xB6\xC3\x9F"
      "e,\"day, hour\",price,row\n";
  for (int i = 0; i < 60; ++i) {
    text +=
        fmt::format("k-{},{},2024-03-{:02},{},{}\n", i, i % 7, i % 28 + 1, (i % 7) * 2.5, i + 100);
  }
  const Result<NewRecipe> made = recipe_for(put("t.csv", text));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->recipe.data.target, "price") << "the last column counts rows";
  EXPECT_EQ(made->recipe.data.columns_ignored, "id, \"day, hour\", row");
  EXPECT_THAT(*ignored_columns(made->recipe), testing::ElementsAre("id", "day, hour", "row"));
  const Result<RecipeTrial> trial = try_recipe(made->recipe, {}, clock_, 2);
  EXPECT_TRUE(trial.ok()) << trial.status().message();
  const Result<NewRecipe> size = recipe_for(path("t.csv"),
                                            "Gr\xC3\xB6\xC3\x9F"
                                            "e");
  ASSERT_TRUE(size.ok()) << size.status().message();
  EXPECT_TRUE(try_recipe(size->recipe, {}, clock_, 1).ok());
  // All that there is to learn from is kept.
  text = "t,y\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{},{}\n", i, i % 9 * 0.5);
  EXPECT_EQ(recipe_for(put("u.csv", text))->recipe.data.columns_ignored, "");
}

TEST_F(NewRecipeTest, TokensAndArraysAreTrainedOn) {
  std::vector<std::int32_t> tokens(3000);
  for (int i = 0; i < 3000; ++i) tokens[i] = i * i % 97;
  for (const char* const name : {"t.bin", "f/train.bin", "f/val.bin"}) {
    fs::create_directories((root_ / name).parent_path());
    ASSERT_TRUE(write_token_file(path(name), tokens, 2).ok());
  }
  for (const char* const name : {"t.bin", "f"}) {
    const Result<NewRecipe> made = recipe_for(path(name));
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(made->recipe.data.name, "tokens");
    EXPECT_EQ(made->recipe.data.vocabulary, 97);
    EXPECT_EQ(made->recipe.data.token_bytes, 2);
    const Result<RecipeTrial> trial = try_recipe(made->recipe, {}, clock_, 2);
    EXPECT_TRUE(trial.ok()) << trial.status().message();
  }
  fs::create_directories(root_ / "xy");
  Rng rng(4);
  std::vector<float> x(200);
  for (float& value : x) value = static_cast<float>(rng.normal());
  ASSERT_TRUE(write_npy(path("xy/X.npy"), Array::from(x, {100, 2})).ok());
  ASSERT_TRUE(write_npy(path("xy/y.npy"),
                        Array::from(std::vector<float>(x.begin(), x.begin() + 100), {100, 1}))
                  .ok());
  const Result<NewRecipe> made = recipe_for(path("xy"));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->recipe.data.name, "rows");
  EXPECT_TRUE(try_recipe(made->recipe, {}, clock_, 2).ok());
}

TEST_F(NewRecipeTest, WhatIsOfNoUseIsRefused) {
  EXPECT_THAT(recipe_for(put("short.txt", "too short")).status().message(),
              HasSubstr("400 characters or more"));
  EXPECT_THAT(recipe_for(put("same.csv", "a,b\n1,2\n2,2\n")).status().message(),
              AllOf(HasSubstr("column b"), HasSubstr("--target COLUMN")));
  std::string prices = "size,price,\n";
  for (int i = 0; i < 40; ++i) prices += fmt::format("{},${}.50,\n", i % 7, 100 + i * i);
  EXPECT_THAT(recipe_for(put("prices.csv", prices)).status().message(),
              AllOf(HasSubstr("column price"), HasSubstr("40 different words in 40 rows")))
      << "the last column is empty";
  EXPECT_THAT(recipe_for(put("t.bin", "tokens")).status().message(), HasSubstr("400 tokens"));
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
