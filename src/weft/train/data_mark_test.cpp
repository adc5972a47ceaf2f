#include "weft/train/data/data_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_folder.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/run/trainer.h"

namespace weft::data_mark_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class DataMark : public testing::Test, protected TestFolder {
 protected:
  static std::string table(double scale, const std::string& word) {
    std::string text = "a,kind,price\n";
    for (int i = 0; i < 60; ++i) {
      text += std::to_string(scale * i) + "," + (i % 3 == 0 ? word : "house") + "," +
              std::to_string(3 * i) + "\n";
    }
    return text;
  }
  static std::string words(const std::string& last) {
    std::string text;
    for (int i = 0; i < 50; ++i) text += "the quick brown fox jumps over the lazy dog. ";
    return last + text;
  }
  std::unique_ptr<Trainer> trainer(const std::string& kind, const std::string& path,
                                   bool is_private = false) {
    Recipe recipe = small_recipe();
    recipe.data = {};
    recipe.data.name = kind;
    recipe.data.path = "here";
    recipe.data.is_private = is_private;
    recipe.run.global_batch = 8;
    if (kind == "text") {
      recipe.data.context = 8;
      recipe.model.name = "char_gpt";
      recipe.model.layers = 1;
      recipe.model.heads = 1;
      recipe.model.embedding_width = 8;
    } else {
      recipe.data.classify = false;
    }
    DataPlaces places;
    places.data = path;
    auto made = Trainer::make(recipe, places, clock_);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }
  // What a newcomer with the data at `own` is told of the state of a member with those at `theirs`.
  std::string told(const std::string& kind, const std::string& theirs, const std::string& own,
                   bool is_private = false) {
    const Bytes state = trainer(kind, theirs, is_private)->encode("run");
    const Status taken = trainer(kind, own, is_private)->adopt(state);
    EXPECT_TRUE(taken.ok() || taken.code() == Code::kInvalidArgument) << taken.message();
    return taken.message();
  }

  SystemClock clock_;
};

TEST_F(DataMark, TheSameFilesInOtherFoldersAreTheSameData) {
  EXPECT_EQ(told("rows", put("one/t.csv", table(1, "hut")), put("two/u.csv", table(1, "hut"))), "");
  EXPECT_EQ(told("text", put("a.txt", words("")), put("b.txt", words(""))), "");
}

TEST_F(DataMark, ATableWithAnotherColumnIsTold) {
  const std::string first = put("t.csv", table(1, "hut"));
  EXPECT_THAT(told("rows", first, put("doubled.csv", table(2, "hut"))),
              AllOf(HasSubstr("(column \"a\")"), HasSubstr("data.private = true")));
  EXPECT_THAT(told("rows", first, put("renamed.csv", table(1, "barn"))),
              HasSubstr("(column \"kind\")"));
}

TEST_F(DataMark, ATextOfTheSameLettersInOtherWordsIsTold) {
  const std::string first = put("t.txt", words("dog fox "));
  EXPECT_THAT(told("text", first, put("u.txt", words("fox dog "))), HasSubstr("(text or tokens)"));
  EXPECT_THAT(told("text", first, put("v.txt", words("DOG FOX "))), HasSubstr("(vocabulary)"));
}

TEST_F(DataMark, PrivateDataAreNotCompared) {
  EXPECT_EQ(told("rows", put("t.csv", table(1, "hut")), put("u.csv", table(2, "hut")), true), "");
}

TEST(DataMarks, NothingOfAPeersMarkIsShown) {
  EXPECT_TRUE(check_data_mark("kind\trows\n", "").ok());
  for (const char* const theirs : {"\x1b[2J\tx\n", "kind\trows\nmore\x1b\t1\n", "\n", "\t"}) {
    const Status status = check_data_mark("kind\trows\n", theirs);
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), Not(HasSubstr("\x1b")));
  }
}

}  // namespace
}  // namespace weft::data_mark_test
