#include "weft/train/data/data_files.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_folder.h"
#include "weft/train/run/wiring.h"

namespace weft::data_files_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// A data folder with a text and a table in it, and a secret beside it.
class DataFilesTest : public testing::Test, protected TestFolder {
 protected:
  void SetUp() override {
    put("secret", "the key of somebody");
    put("data-2/other", "begins with the same letters");
    put("data/inner/words.txt", "one two three four five six seven eight nine ten eleven");
    recipe_.data.name = "text";
    recipe_.data.path = "inner/words.txt";
    recipe_.data.context = 4;
    places_.data_dir = (root_ / "data").string();
    places_.foreign_recipe = true;
  }
  Status refusal(const std::string& path) {
    recipe_.data.path = path;
    return find_data_files(recipe_, places_).status();
  }

  Recipe recipe_;
  DataPlaces places_;
};

TEST_F(DataFilesTest, OthersRecipesReadBelowTheDataFolder) {
  const Result<DataFiles> files = find_data_files(recipe_, places_);
  ASSERT_TRUE(files.ok()) << files.status().message();
  EXPECT_EQ(files->data, fs::canonical(path("data/inner/words.txt")).string());
  EXPECT_TRUE(open_recipe_dataset(recipe_, Split::kTrain, places_).ok());
  recipe_.data.path = "inner/../inner/./words.txt";
  EXPECT_TRUE(find_data_files(recipe_, places_).ok());
}

TEST_F(DataFilesTest, OthersRecipesReadNothingElse) {
  fs::create_symlink("../secret", root_ / "data/link");
  fs::create_directory_symlink("..", root_ / "data/up");
  fs::create_symlink(path("secret"), root_ / "data/inner/absolute");
  for (const std::string& chosen :
       {path("secret"), std::string("/etc/hostname"), std::string("../secret"),
        std::string("inner/../../secret"), std::string("../data-2/other"), std::string("link"),
        std::string("up/secret"), std::string("inner/absolute"), std::string("../missing"),
        path("data/inner/words.txt")}) {
    const Status status = refusal(chosen);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << chosen;
    EXPECT_THAT(status.message(),
                testing::AllOf(HasSubstr("data.path: the run's recipe names \"" + chosen + "\""),
                               HasSubstr("--data FILE")));
    // Nor does the dataset open.
    EXPECT_EQ(open_recipe_dataset(recipe_, Split::kTrain, places_).status().code(),
              Code::kInvalidArgument)
        << chosen;
  }
  EXPECT_EQ(refusal("inner/missing.txt").code(), Code::kUnavailable);
}

TEST_F(DataFilesTest, AFolderOfRowsHoldsNoLinksThatLeadOut) {
  recipe_.data.name = "rows";
  put("data/x.npy", "x");
  EXPECT_TRUE(refusal(".").ok());
  fs::create_symlink("../secret", root_ / "data/y.npy");
  EXPECT_THAT(refusal(".").message(), HasSubstr("y.npy"));
}

TEST_F(DataFilesTest, ATokenizerIsAPathLikeAnyOther) {
  recipe_.data.tokenizer = "../secret";
  EXPECT_THAT(find_data_files(recipe_, places_).status().message(),
              testing::AllOf(HasSubstr("data.tokenizer"), HasSubstr("--tokenizer FILE")));
  places_.tokenizer = path("secret");
  EXPECT_EQ(find_data_files(recipe_, places_)->tokenizer, path("secret"));
  for (const char* const plain : {"byte", "character", "bpe:300"}) {
    places_.tokenizer.clear();
    recipe_.data.tokenizer = plain;
    EXPECT_EQ(find_data_files(recipe_, places_)->tokenizer, "");
  }
}

TEST_F(DataFilesTest, ThePersonsChoiceStandsForThePathOfTheRecipe) {
  places_.data = path("secret");
  recipe_.data.path = "/etc/hostname";
  const DataFiles files = *find_data_files(recipe_, places_);
  EXPECT_EQ(files.data, path("secret"));
  EXPECT_THAT(data_flags(files), ElementsAre("--data", path("secret")));
  recipe_.data.name = "synthetic";
  EXPECT_THAT(find_data_files(recipe_, places_).status().message(),
              HasSubstr("--data " + path("secret")));
}

TEST_F(DataFilesTest, WithoutADataFolderNothingIsBelowIt) {
  places_.data_dir.clear();
  EXPECT_EQ(refusal("inner/words.txt").code(), Code::kInvalidArgument);
  places_.home = path("home");
  // Nobody has made it yet, so the file is missing; and still nothing outside of it is chosen.
  EXPECT_EQ(refusal("inner/words.txt").code(), Code::kUnavailable);
  EXPECT_THAT(refusal("inner/words.txt").message(), HasSubstr(path("home/.cache/weft")));
  EXPECT_EQ(refusal("../../../secret").code(), Code::kInvalidArgument);
  fs::create_directories(path("home/.cache/weft"));
  put("home/.cache/weft/words.txt", "words");
  EXPECT_TRUE(refusal("words.txt").ok());
}

TEST_F(DataFilesTest, OnesOwnRecipeNamesAnyFile) {
  places_.foreign_recipe = false;
  recipe_.data.path = path("secret");
  EXPECT_EQ(find_data_files(recipe_, places_)->data, path("secret"));
  recipe_.data.path = "inner/words.txt";
  EXPECT_EQ(find_data_files(recipe_, places_)->data, path("data/inner/words.txt"));
}

}  // namespace
}  // namespace weft::data_files_test
