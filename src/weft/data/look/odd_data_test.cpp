// Data as people have them: other alphabets and marks, blank lines, units, pictures of every kind.
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_folder.h"
#include "weft/data/csv.h"
#include "weft/data/csv_sniff.h"
#include "weft/data/image_file.h"
#include "weft/data/look/look.h"
#include "weft/data/npy.h"
#include "weft/data/open_path.h"
#include "weft/data/rows_csv.h"
#include "weft/data/text_file.h"

namespace weft::odd_data_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class OddData : public testing::Test, protected TestFolder {
 protected:
  std::vector<std::string> oddities(const std::string& path) {
    const Result<DataLook> look = look_at_data(path);
    return look.ok() ? look->oddities : std::vector<std::string>{look.status().message()};
  }
  std::string fault(const std::string& path) { return look_at_data(path).status().message(); }
  void put_picture(const std::string& name, std::uint8_t value) {
    const Image image{{3, 6, 6}, Bytes(108, value)};
    put(name, to_text(*encode_png(image)));
  }
  void put_tokens(const std::string& name, const std::vector<std::int32_t>& tokens, int width) {
    put(name, "");
    ASSERT_TRUE(write_token_file(path(name), tokens, width).ok());
  }
};

double number(std::string_view text, char decimal) {
  double value = NAN;
  return parse_csv_number(text, decimal, value) ? value : NAN;
}

TEST_F(OddData, ThousandsMayBeSetApart) {
  EXPECT_EQ(number("1,234.50", '.'), 1234.5);
  EXPECT_EQ(number("-1,234,567", '.'), -1234567);
  EXPECT_EQ(number("1.234,50", ','), 1234.5);
  EXPECT_EQ(number("1.234", ','), 1234);
  EXPECT_EQ(number("1.234", '.'), 1.234);
  EXPECT_EQ(number("1,234", ','), 1.234);
  EXPECT_EQ(number("12 345,6", ','), 12345.6);
  EXPECT_EQ(number("1'234.5", '.'), 1234.5);
  EXPECT_EQ(number("1\xC2\xA0"
                   "234",
                   ','),
            1234);
  for (const char* const none :
       {"1,23", "1,2345", "12345,678", "0,123", ",123", "1,,234", "1,234,", "1,234.5.6", "1,234x",
        "1,234 567", "1.2.3", "--1,234", "1,-234", ""}) {
    EXPECT_TRUE(std::isnan(number(none, '.'))) << none;
  }
}

TEST_F(OddData, ACommaBeforeThreeDigitsIsReadAsTheOtherNumbersAre) {
  EXPECT_EQ(sniff_csv("a;b\n1.234,50;1\n2.345,75;2\n", true).decimal, ',');
  EXPECT_EQ(sniff_csv("a,b\n\"1,234.50\",1\n\"2,345.75\",2\n", true).decimal, '.');
  EXPECT_EQ(sniff_csv("a,b\n\"1,234\",1\n\"2,345\",2\n", true).decimal, '.');
  EXPECT_EQ(sniff_csv("a;b\n1,234;1\n2,345;2\n", true).decimal, ',');
  EXPECT_EQ(sniff_csv("a;b\n1,234;0.5\n2,345;0.25\n", true).decimal, '.');
  EXPECT_EQ(sniff_csv("a;b\n1.234;1\n2.345;2\n", true).decimal, '.');
  EXPECT_EQ(sniff_csv("a;b\n1.234;0,5\n2.345;0,25\n", true).decimal, ',');
}

TEST_F(OddData, UnitsAndSignsAboutNumbersAreNamed) {
  std::string text = "price,share,mass,part,size\n";
  for (int i = 0; i < 30; ++i) {
    text += fmt::format("${}.50,{}%,{} kg,A-{},{}\n", i * 37, i, i, i % 4, i % 5);
  }
  const std::vector<std::string> odd = oddities(put("t.csv", text));
  for (const char* const name : {"Column price", "Column share", "Column mass"}) {
    EXPECT_THAT(odd, Contains(AllOf(HasSubstr(name), HasSubstr("write the numbers alone"))));
  }
  EXPECT_THAT(odd, Each(Not(HasSubstr("Column part"))));
  EXPECT_THAT(odd, Each(Not(HasSubstr("columns_ignored"))));
}

TEST_F(OddData, BlankLinesBeforeATableAreNoHeader) {
  const std::string path = put("gaps.csv", "\n\r\na,b\n\n1,2\n\n3,4\n\n");
  const Result<DataLook> look = look_at_data(path);
  ASSERT_TRUE(look.ok()) << look.status().message();
  EXPECT_EQ(look->table.rows, 2);
  EXPECT_THAT(read_csv(path)->names, ElementsAre("a", "b"));
  DataDescription data;
  data.kind = DatasetKind::kRows;
  data.columns = {{.name = "b"}};
  data.target_columns = {{.name = "a"}};
  EXPECT_EQ(read_described_csv(path, {}, data, RowTargets::kIgnored)->dataset.size, 2);
}

TEST_F(OddData, ARowWithoutItsClassIsToldAsSuch) {
  CsvOptions options;
  options.missing = MissingValues::kNan;
  const CsvTable table = *parse_csv("x,pain\n1,None\n2,Mild\n3,None\n4,Severe\n", options);
  EXPECT_THAT(make_csv_dataset("t.csv", table, Split::kTrain).status().message(),
              AllOf(HasSubstr("got 2 rows without one"), HasSubstr("another name")));
}

TEST_F(OddData, OtherEncodingsAreRefusedByName) {
  EXPECT_THAT(fault(put("latin.csv", "town,price\nBonn,1\nK\xF6ln,2\n")),
              AllOf(HasSubstr("line 3: expected UTF-8, got byte f6"), HasSubstr("save the table")));
  std::string late = "town,price\n";
  while (late.size() < kCsvSniffBytes) late += "Bonn,1\n";
  late += "K\xF6ln,2\n";
  EXPECT_THAT(read_csv(put("late.csv", late)).status().message(), HasSubstr("expected UTF-8"));
  EXPECT_THAT(fault(put("latin.txt", "K\xF6ln")), HasSubstr("save the text as UTF-8"));
  EXPECT_THAT(fault(put("wide.txt", std::string("\xFF\xFEH\0i\0", 6))), HasSubstr("got UTF-16"));
  // The sniffed part may end within a character.
  std::string cut = "a,b\n1,";
  while (cut.size() < kCsvSniffBytes - 1) cut += "x";
  EXPECT_TRUE(sniff_csv_file(put("cut.csv", cut + "\xC3\xB6\n2,y\n")).ok());
}

TEST_F(OddData, AByteOrderMarkIsNoLetter) {
  EXPECT_EQ(*read_text(put("b.txt",
                           "\xEF\xBB\xBF"
                           "Hello")),
            "Hello");
}

TEST_F(OddData, WhatNoTableIsSaysWhy) {
  EXPECT_THAT(fault(put("s.csv", "a b c\n1 2 3\n4 5 6\n")),
              HasSubstr("commas, semicolons, tabs or bars"));
  EXPECT_THAT(fault(put("c.csv", "# made by hand\na,b\n1,2\n3,4\n")),
              HasSubstr("the first line has 1, line 2 has 2"));
  EXPECT_THAT(oddities(put("one.txt", std::string(500, '\n'))),
              Contains(HasSubstr("one character, again and again")));
}

TEST_F(OddData, WhatIsTransparentShowsWhite) {
  // 3x1, RGBA: black that covers nothing, a red that covers half, and a grey that covers all.
  const std::string_view kPng =
      "89504e470d0a1a0a0000000d49484452000000030000000108060000001be014b40000001349444154789c63"
      "600082130c460d9c1cecff010b420292492795bb0000000049454e44ae426082";
  const Result<Bytes> file = from_hex(kPng);
  ASSERT_TRUE(file.ok());
  const Result<Image> image = decode_image(*file, 3);
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_THAT(image->pixels, ElementsAre(255, 227, 9, 255, 127, 8, 255, 152, 7));
}

TEST_F(OddData, PicturesOnBothSidesOfATestAreNamed) {
  for (int i = 0; i < 25; ++i) {
    put_picture(fmt::format("p/train/cat/{}.png", i), static_cast<std::uint8_t>(i));
    put_picture(fmt::format("p/train/dog/{}.png", i), static_cast<std::uint8_t>(100 + i));
  }
  put_picture("p/test/cat/0.png", 3);
  put_picture("p/test/cat/1.png", 200);
  put_picture("p/train/dog/x.png", 7);
  put_picture("p/train/dog/y.png", 101);
  const std::vector<std::string> odd = oddities(path("p"));
  EXPECT_THAT(odd,
              Contains(AllOf(HasSubstr("1 picture is in the test set and among those to train"),
                             HasSubstr("test/cat/0.png"), HasSubstr("train/cat/3.png"))));
  EXPECT_THAT(odd, Contains("1 class has no pictures to test with: dog."));
  EXPECT_THAT(odd, Contains(AllOf(HasSubstr("1 picture is in two classes"),
                                  HasSubstr("train/dog/x.png = train/cat/7.png"))));
  EXPECT_THAT(odd, Contains(AllOf(HasSubstr("1 picture is there more than once"),
                                  HasSubstr("train/dog/y.png = train/dog/1.png"))));
}

TEST_F(OddData, FilesThatNoClassTakesAreNamed) {
  for (int i = 0; i < 25; ++i) {
    put_picture(fmt::format("p/cat/{}.png", i), static_cast<std::uint8_t>(i));
    put_picture(fmt::format("p/dog/{}.png", i), static_cast<std::uint8_t>(100 + i));
  }
  EXPECT_THAT(oddities(path("p")), IsEmpty());
  put("p/owl/a.webp", "x");
  put("p/.git/config", "x");
  put("p/notes.txt", "x");
  put_picture("p/cat/2024/deep.png", 99);
  EXPECT_THAT(oddities(path("p")),
              Contains(AllOf(HasSubstr("3 files are passed over"), HasSubstr("owl/a.webp"),
                             HasSubstr("notes.txt"), HasSubstr("cat/2024/deep.png"))));
  put_picture("flat/1.png", 1);
  EXPECT_THAT(fault(path("flat")), HasSubstr("into a folder for each class"));
}

TEST_F(OddData, TheWidthOfTokensIsSeen) {
  std::vector<std::int32_t> tokens(3000);
  for (int i = 0; i < 3000; ++i) tokens[static_cast<std::size_t>(i)] = i * 7919 % 5000;
  for (const int width : {2, 4}) {
    put_tokens("t.bin", tokens, width);
    const Result<DataLook> look = look_at_data(path("t.bin"));
    ASSERT_TRUE(look.ok()) << look.status().message();
    EXPECT_EQ(look->tokens.token_bytes, width);
    EXPECT_EQ(look->tokens.tokens, 3000);
    EXPECT_EQ(look->tokens.largest, 4999);
    EXPECT_THAT(look_text(*look), HasSubstr("3,000 numbers up to 4,999"));
  }
  for (std::int32_t& token : tokens) token %= 65;
  for (const int width : {1, 2, 4}) {
    put_tokens("t.bin", tokens, width);
    EXPECT_EQ(look_at_data(path("t.bin"))->tokens.token_bytes, width);
  }
  put_tokens("both/train.bin", tokens, 2);
  EXPECT_FALSE(look_at_data(path("both")).ok()) << "nothing to test with";
  put_tokens("both/val.bin", {1, 2, 70}, 2);
  EXPECT_EQ(look_at_data(path("both"))->tokens.largest, 70);
  EXPECT_EQ(look_at_data(path("both"))->tokens.tokens, 3003);
}

TEST_F(OddData, ArraysAreToldWithWhatIsOdd) {
  std::vector<float> x(100 * 2, 1);
  x[7] = NAN;
  std::vector<std::int64_t> y(100, 0);
  for (std::size_t i = 0; i < 40; ++i) y[i] = 1;
  y[50] = 3;
  put("xy/x.npy", to_text(npy_bytes(Array::from(x, {100, 2}))));
  put("xy/y.npy", to_text(npy_bytes(Array::from(y, {100, 1}))));
  EXPECT_EQ(look_at_data(path("xy"))->arrays.class_count, 4);
  EXPECT_THAT(oddities(path("xy")),
              AllOf(Contains(HasSubstr("1 of 200 values of x.npy are no finite numbers")),
                    Contains(HasSubstr("2 of 4 classes have fewer than 10 rows: 2 (0), 3 (1)"))));
  EXPECT_EQ(open_path(path("xy"), Split::kTrain, {})->classes, 4);
}

}  // namespace
}  // namespace weft::odd_data_test
