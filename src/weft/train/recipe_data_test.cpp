// Recipes and data that do not go together are refused before the first step.
#include "weft/train/recipe/recipe_data.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_folder.h"
#include "weft/data/image_file.h"
#include "weft/train/data/data_files.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/run/trainer.h"
#include "weft/train/run/wiring.h"

namespace weft::recipe_data_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class RecipeDataTest : public testing::Test, protected TestFolder {
 protected:
  std::string photos(int count) {
    for (int i = 0; i < count; ++i) {
      const Image image{{3, 12, 16}, Bytes(3 * 12 * 16, static_cast<std::uint8_t>(i))};
      put(fmt::format("photos/{}/{}.png", i % 2 == 0 ? "ant" : "bee", i),
          to_text(*encode_png(image)));
    }
    return (root_ / "photos").string();
  }
  std::string table(int rows) {
    std::string text = "a;b;kind\n";
    for (int i = 0; i < rows; ++i)
      text += fmt::format("{},5;{};{}\n", i, 2 * i, i % 2 == 0 ? "x" : "y");
    return put("table.csv", text);
  }
  // What refuses it before the first step, or "".
  std::string refusal(const Recipe& recipe, const DataPlaces& places = {}) {
    static const SystemClock clock;
    const auto made = Trainer::make(recipe, places, clock);
    return made.ok() ? std::string() : made.status().message();
  }
  Recipe recipe_on(const char* name, const std::string& path) {
    Recipe recipe = small_recipe();
    recipe.data = {};
    recipe.data.name = name;
    recipe.data.path = path;
    recipe.run.global_batch = 4;
    return recipe;
  }
};

TEST_F(RecipeDataTest, AKeyThatNobodyReadsIsRefused) {
  Recipe recipe = small_recipe();
  recipe.data.path = "data/photos";
  EXPECT_THAT(
      check_recipe(recipe).message(),
      AllOf(HasSubstr("data.path: \"data/photos\" has no effect with data.name = \"synthetic\""),
            HasSubstr("\"images\", \"rows\", \"text\" or \"tokens\"")));
  recipe = recipe_on("images", "photos");
  EXPECT_TRUE(check_recipe(recipe).ok());
  recipe.data.header = false;
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("data.header: false has no effect"));
  recipe = recipe_on("rows", "t.csv");
  recipe.data.transforms = "flip";
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("only with images"));
  recipe = recipe_on("text", "t.txt");
  recipe.data.context = 9;
  EXPECT_TRUE(check_recipe(recipe).ok());
  recipe.data.image_size = 64;
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("data.image_size"));
}

TEST_F(RecipeDataTest, EveryDatasetOfTheListIsOfSomeKind) {
  for (const std::string& name : dataset_names()) {
    Recipe recipe;
    recipe.data.name = name;
    EXPECT_TRUE(check_recipe(recipe).ok()) << name;
  }
  Recipe recipe;
  recipe.data.name = "image";
  EXPECT_THAT(check_recipe(recipe).message(),
              AllOf(HasSubstr("images, jargon"), HasSubstr("rows"), HasSubstr("text, tokens"),
                    HasSubstr("did you mean \"images\"?")));
}

TEST_F(RecipeDataTest, PhotosInFoldersAreTrainedOn) {
  Recipe recipe = recipe_on("images", photos(40));
  recipe.data.split = "random";
  recipe.data.image_size = 8;
  recipe.data.image_width = 10;
  recipe.data.transforms = "crop:1 flip jitter:0.2:0.2:0.2";
  recipe.model.name = "cnn";
  EXPECT_EQ(refusal(recipe), "");
  const Dataset training = *open_recipe_dataset(recipe, Split::kTrain, {});
  EXPECT_EQ(training.size, 36);
  EXPECT_EQ(training.height, 8);
  EXPECT_EQ(training.width, 10);
  EXPECT_FALSE(training.images.empty());
  EXPECT_EQ(open_recipe_dataset(recipe, Split::kTest, {})->size, 4);
  recipe.data.channels = 1;
  EXPECT_EQ(model_options(recipe, *open_recipe_dataset(recipe, Split::kTrain, {}))->channels, 1);
}

TEST_F(RecipeDataTest, ADamagedPhotoIsNamedBeforeTheFirstStep) {
  const Recipe recipe = recipe_on("images", photos(40));
  put("photos/ant/38.png", "no image");  // of the test split
  EXPECT_THAT(refusal(recipe), HasSubstr("ant/38.png"));
}

TEST_F(RecipeDataTest, SemicolonsAndDecimalCommasNeedNoKey) {
  Recipe recipe = recipe_on("rows", table(40));
  EXPECT_EQ(refusal(recipe), "");
  EXPECT_EQ(open_recipe_dataset(recipe, Split::kTrain, {})->rows.dim(1), 2);
  EXPECT_EQ(open_recipe_dataset(recipe, Split::kTrain, {})->class_names.size(), 2U);
  recipe.data.separator = "tab";
  EXPECT_NE(refusal(recipe), "");
  recipe.data.separator = "semicolon";
  recipe.data.header = false;
  EXPECT_THAT(refusal(recipe), HasSubstr("set data.header = true"));
  EXPECT_THAT(refusal(recipe_on("rows", put("t.dat", "a,b\n1,2\n"))), HasSubstr(".csv or .tsv"));
}

TEST_F(RecipeDataTest, IgnoredColumnsAreNamesWithCommasBetween) {
  const std::vector<std::vector<std::string>> lists = {
      {}, {"id"}, {"id", "a name"}, {"a, b", "c"}, {"x", "y, z", "\xC3\xA4"}};
  for (const std::vector<std::string>& names : lists) {
    Recipe recipe = recipe_on("rows", "t.csv");
    recipe.data.columns_ignored = ignored_text(names);
    EXPECT_EQ(*ignored_columns(recipe), names) << recipe.data.columns_ignored;
    EXPECT_TRUE(check_recipe(recipe).ok());
  }
  Recipe recipe = recipe_on("rows", table(40));
  for (const char* const torn : {",", "a,,b", "\"a", "\"a\"b", "\"\""}) {
    recipe.data.columns_ignored = torn;
    EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("names with commas between")) << torn;
  }
  recipe.data.columns_ignored = "nothing";
  EXPECT_THAT(refusal(recipe), AllOf(HasSubstr("table.csv: data.columns_ignored: expected columns"),
                                     HasSubstr("\"nothing\"")));
  recipe.data.target = "nothing";
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("which data.target has"));
  recipe = recipe_on("text", "t.txt");
  recipe.data.columns_ignored = "id";
  EXPECT_THAT(check_recipe(recipe).message(),
              HasSubstr("data.columns_ignored: \"id\" has no effect"));
}

TEST_F(RecipeDataTest, TooFewDataAreRefusedBeforeTheFirstStep) {
  Recipe recipe = recipe_on("rows", table(9));
  EXPECT_THAT(refusal(recipe), HasSubstr("expected 10 rows or more for a test split, got 9"));
  recipe = recipe_on("rows", table(20));
  recipe.run.global_batch = 64;
  EXPECT_THAT(refusal(recipe),
              AllOf(HasSubstr("run.global_batch: expected at most the 18 samples of "),
                    HasSubstr("table.csv"), HasSubstr("got 64")));
  recipe = recipe_on("text", put("tiny.txt", std::string(500, 'a') + "b"));
  recipe.model.name = "char_gpt";
  recipe.run.global_batch = 1;
  recipe.data.context = 100;
  EXPECT_THAT(refusal(recipe), AllOf(HasSubstr("data.context: expected at most 50"),
                                     HasSubstr("51 tokens to test with, got 100")));
  recipe.data.path = put("none.txt", "abc");
  EXPECT_THAT(refusal(recipe), HasSubstr("expected 40 bytes or more"));
}

TEST_F(RecipeDataTest, ComputedDataObeyTheirLimits) {
  Recipe recipe = small_recipe();
  recipe.data.test_samples_max = 10;
  recipe.data.train_samples_max = 100;
  EXPECT_EQ(open_recipe_dataset(recipe, Split::kTest, {})->size, 10);
  EXPECT_EQ(open_recipe_dataset(recipe, Split::kTrain, {})->size, 100);
}

TEST_F(RecipeDataTest, WhatIsNotThereIsNamedWithItsKeyAndTheRemedy) {
  DataPlaces places;
  places.data_dir = root_.string();
  EXPECT_THAT(refusal(recipe_on("rows", "none.csv"), places),
              AllOf(HasSubstr("data.path: the recipe reads \"none.csv\""),
                    HasSubstr(root_.string()), HasSubstr("--data PATH")));
  places.foreign_recipe = true;
  EXPECT_THAT(refusal(recipe_on("rows", "none.csv"), places),
              AllOf(HasSubstr("data.path: the run reads \"none.csv\""), HasSubstr("WEFT_DATA_DIR"),
                    HasSubstr("--data PATH")));
}

TEST_F(RecipeDataTest, AChosenFolderIsTheDataOrHoldsThem) {
  const std::string folder = photos(4);
  DataPlaces places;
  places.foreign_recipe = true;
  places.data_dir = places.folder = folder;
  EXPECT_EQ(find_data_files(recipe_on("images", "/somewhere/else"), places)->data, folder);
  EXPECT_EQ(find_data_files(recipe_on("images", "pictures"), places)->data, folder);
  EXPECT_EQ(find_data_files(recipe_on("tokens", "tokens"), places)->data, folder);
  places.data_dir = places.folder = root_.string();
  EXPECT_EQ(find_data_files(recipe_on("images", "photos"), places)->data,
            fs::canonical(folder).string());
  // Others' recipes do not follow a link out of the data folder, however deep it is.
  fs::create_directory_symlink("/etc", root_ / "photos/ant/out");
  EXPECT_THAT(find_data_files(recipe_on("images", "photos"), places).status().message(),
              HasSubstr("the link out leads out"));
}

}  // namespace
}  // namespace weft::recipe_data_test
