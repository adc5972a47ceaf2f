#include "weft/data/look/look.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/base/testing/test_folder.h"
#include "weft/data/image_file.h"
#include "weft/data/image_folder.h"
#include "weft/data/npy.h"
#include "weft/data/open_path.h"
#include "weft/data/safe_text.h"
#include "weft/data/text_file.h"

namespace weft::look_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class LookTest : public testing::Test, protected TestFolder {
 protected:
  void put_image(const std::string& name, std::int64_t height, std::int64_t width,
                 std::uint8_t value) {
    Image image{{3, height, width}, Bytes(static_cast<std::size_t>(3 * height * width), value)};
    image.pixels[0] = static_cast<std::uint8_t>(value + 1);  // not grey
    put(name, to_text(*encode_png(image)));
  }
};

TEST(SafeText, NothingThatMovesACursorIsLeft) {
  EXPECT_EQ(safe_text("plain, \xC3\xBC\xE4\xB8\x96"), "plain, \xC3\xBC\xE4\xB8\x96");
  EXPECT_EQ(safe_text("a\x1B[31mb\r\n\tc\x7F"), "a\\x1b[31mb\\x0d\\n\\tc\\x7f");
  EXPECT_EQ(safe_text("\xC2\x9B"
                      "x"),
            "\\x9bx");                                    // C1
  EXPECT_EQ(safe_text("\xE2\x80\xAEgpj"), "\\u202egpj");  // writes backwards
  EXPECT_EQ(safe_text("\xFFz"), "\\xffz");
  EXPECT_EQ(safe_text("abcdef", 3), "abc...");
}

TEST_F(LookTest, ImagesAreCountedAndOddOnesNamed) {
  for (int i = 0; i < 25; ++i)
    put_image(fmt::format("p/cat/{:02}.png", i), 40, 60, static_cast<std::uint8_t>(i));
  for (int i = 0; i < 3; ++i)
    put_image(fmt::format("p/dog/{}.PNG", i), 20, 20, static_cast<std::uint8_t>(50 + i));
  put_image("p/dog/again.png", 40, 60, 3);
  put("p/dog/torn\x1B[2J.jpg", "no image");
  put("p/.hidden/x.png", "x");
  fs::create_directories(root_ / "p/empty");
  const Result<DataLook> look = look_at_data(path("p/"));
  ASSERT_TRUE(look.ok()) << look.status().message();
  EXPECT_EQ(look->kind, LookKind::kImages);
  using Pair = std::pair<std::string, std::int64_t>;
  EXPECT_THAT(look->images.classes, ElementsAre(Pair{"cat", 25}, Pair{"dog", 5}));
  EXPECT_EQ(look->images.side_median, 40);
  EXPECT_EQ(look->images.width_min, 20);
  EXPECT_EQ(look->images.width_max, 60);
  EXPECT_FALSE(look->images.all_grey);
  EXPECT_THAT(look->oddities, Contains(AllOf(HasSubstr("1 picture cannot be read"),
                                             HasSubstr("torn\\x1b[2J.jpg"))));
  EXPECT_THAT(look->oddities, Contains(HasSubstr("dog/again.png = cat/03.png")));
  EXPECT_THAT(look->oddities, Contains(HasSubstr("dog (5)")));
  const std::string text = look_text(*look);
  EXPECT_EQ(text.find('\x1B'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("images in folders, 30 in 2 classes"));
  EXPECT_EQ(nlohmann::json::parse(look_json(*look))["classes"][1]["count"], 5);
}

TEST_F(LookTest, ATableIsToldColumnByColumn) {
  const std::string path = put("t.csv",
                               "kind;size;note;same\n"
                               "cat;1,5;x;7\n"
                               "dog;2,5;;7\n"
                               "cat;NA;\x1B[31mred;7\n"
                               "cat;1,5;x;7\n"
                               "dog;3\n");
  const Result<DataLook> look = look_at_data(path);
  ASSERT_TRUE(look.ok()) << look.status().message();
  const TableLook& table = look->table;
  EXPECT_EQ(table.rows, 4);
  ASSERT_EQ(table.columns.size(), 4U);
  EXPECT_FALSE(table.columns[0].of_numbers);
  EXPECT_EQ(table.columns[0].words[0], (std::pair<std::string, std::int64_t>{"cat", 3}));
  EXPECT_TRUE(table.columns[1].of_numbers);
  EXPECT_EQ(table.columns[1].missing, 1);
  EXPECT_EQ(table.columns[1].max, 2.5);
  EXPECT_THAT(look->oddities, Contains(HasSubstr("line 6 has 2")));
  EXPECT_THAT(look->oddities, Contains(HasSubstr("Column same has the same value")));
  EXPECT_THAT(look->oddities, Contains(HasSubstr("1 row was there before")));
  EXPECT_THAT(look_text(*look), AllOf(HasSubstr("semicolon"), HasSubstr("decimal comma"),
                                      testing::Not(HasSubstr("\x1B"))));
  EXPECT_EQ(nlohmann::json::parse(look_json(*look))["columns"][1]["max"], 2.5);
}

TEST_F(LookTest, AFolderOfTextsIsOneText) {
  put("texts/b.txt", "second");
  put("texts/a.txt", "first\n");
  put("texts/c.md", "no text");
  EXPECT_EQ(*read_text(path("texts")), "first\nsecond\n");
  const Result<DataLook> look = look_at_data(path("texts"));
  ASSERT_TRUE(look.ok()) << look.status().message();
  EXPECT_EQ(look->kind, LookKind::kText);
  EXPECT_EQ(look->text.files, 2);
  EXPECT_EQ(look->text.lines, 2);
  EXPECT_THAT(look_text(*look), HasSubstr("text, 13 characters in 2 lines"));
}

TEST_F(LookTest, WhatNoReaderTakesIsRefusedWithWhatCouldBe) {
  EXPECT_EQ(look_at_data(path("none")).status().code(), Code::kUnavailable);
  EXPECT_THAT(look_at_data(put("a.gif", "x")).status().message(), HasSubstr(".csv, .tsv"));
  fs::create_directories(root_ / "bare");
  EXPECT_THAT(look_at_data(path("bare")).status().message(), HasSubstr("no folders of images"));
  EXPECT_THAT(look_at_data(put("one.csv", "a\n1\n2\n")).status().message(),
              HasSubstr("two columns"));
  EXPECT_EQ(look_at_data(put("b.txt", "\xFF")).status().code(), Code::kCorrupt);
}

TEST_F(LookTest, ADrawnTestSplitHasEachClassAndStaysAsItIs) {
  for (const char* const name : {"cat", "dog"}) {
    for (int i = 0; i < 20; ++i)
      put_image(fmt::format("p/{}/{:02}.png", name, i), 6, 6, static_cast<std::uint8_t>(i));
  }
  put_image("p/owl/0.png", 6, 6, 1);
  put_image("p/owl/1.png", 6, 6, 2);
  const ImageListing test = *list_images(path("p"), Split::kTest, true);
  EXPECT_THAT(test.labels, testing::UnorderedElementsAre(0, 0, 1, 1, 2));
  const ImageListing training = *list_images(path("p"), Split::kTrain, true);
  EXPECT_EQ(training.files.size(), 37U);
  for (const std::string& file : training.files) {
    EXPECT_THAT(test.files, testing::Not(Contains(file)));
  }
  // The last tenth by name, which a class of two does not have.
  EXPECT_THAT(list_images(path("p"), Split::kTest, false)->labels, ElementsAre(0, 0, 1, 1));
}

TEST_F(LookTest, ArraysAreMixedAsTablesAre) {
  std::vector<float> x;
  std::vector<std::int64_t> y;
  for (int i = 0; i < 50; ++i) {
    x.insert(x.end(), {static_cast<float>(i), static_cast<float>(-i)});
    y.push_back(i % 7);
  }
  put("xy/x.npy", to_text(npy_bytes(Array::from(x, {50, 2}))));
  put("xy/y.npy", to_text(npy_bytes(Array::from(y, {50}))));
  PathOptions options;
  options.csv.mixed = true;
  const Dataset test = *open_path(path("xy"), Split::kTest, options);
  ASSERT_EQ(test.size, 5);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < test.size; ++i) {
    const std::vector<float> row = test.rows.select(0, i).to_vector<float>();
    EXPECT_EQ(row[1], -row[0]);
    rows.push_back(static_cast<std::int64_t>(row[0]));
    EXPECT_EQ(test.label(i), rows.back() % 7);
  }
  EXPECT_NE(rows, (std::vector<std::int64_t>{45, 46, 47, 48, 49}));
  EXPECT_EQ(look_at_data(path("xy"))->arrays.rows, 50);
}

TEST_F(LookTest, EndingsMayHaveCapitals) {
  EXPECT_EQ(look_at_data(put("T.CSV", "a,b\n1,2\n"))->kind, LookKind::kTable);
  EXPECT_EQ(look_at_data(put("T.Tsv", "a\tb\n1\t2\n"))->table.form.separator, '\t');
  EXPECT_EQ(open_path(path("T.Tsv"), Split::kTrain, {}).status().code(), Code::kOk);
  EXPECT_EQ(look_at_data(put("A.TXT", "text"))->kind, LookKind::kText);
  EXPECT_EQ(text_files(put("texts/B.Txt", "text").substr(0, path("texts").size()))->size(), 1U);
  EXPECT_EQ(look_at_data(put("C.BIN", "tokens"))->kind, LookKind::kTokens);
  put("xy/X.npy", to_text(npy_bytes(Array::from(std::vector<float>(20, 1), {20, 1}))));
  EXPECT_THAT(look_at_data(path("xy")).status().message(), HasSubstr("expected y.npy beside"));
  EXPECT_THAT(open_path(path("xy"), Split::kTrain, {}).status().message(), HasSubstr("y.npy"));
  put("xy/y.NPY", to_text(npy_bytes(Array::from(std::vector<float>(20, 1), {20}))));
  EXPECT_EQ(look_at_data(path("xy"))->arrays.rows, 20);
  EXPECT_EQ(open_path(path("xy"), Split::kTrain, {})->size, 18);
}

TEST_F(LookTest, ClassesToTestAreThoseThatAreTrained) {
  for (const char* const name : {"train/ant", "train/cat", "train/dog", "test/dog"}) {
    put_image(fmt::format("p/{}/0.png", name), 6, 6, 1);
  }
  const ImageListing test = *list_images(path("p"), Split::kTest, false);
  EXPECT_THAT(test.class_names, ElementsAre("ant", "cat", "dog"));
  EXPECT_THAT(test.labels, ElementsAre(2));
  put_image("p/test/owl/0.png", 6, 6, 1);
  EXPECT_THAT(list_images(path("p"), Split::kTest, false).status().message(),
              HasSubstr("test/owl: expected a class that the training images have"));
}

}  // namespace
}  // namespace weft::look_test
