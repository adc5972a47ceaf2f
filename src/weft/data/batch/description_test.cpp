// What a data set says of itself as text, and rows by a description.
#include "weft/data/description.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/data/rows.h"
#include "weft/data/rows_csv.h"
#include "weft/data/tokenizer.h"

namespace weft::description_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

DataDescription table() {
  DataDescription data;
  data.name = "some/folder/houses.csv";
  data.kind = DatasetKind::kRows;
  data.columns = {{.name = "size", .mean = 10.0, .deviation = 2.0, .missing = 3},
                  {.name = "kind", .words = {"flat", "house", "hut"}}};
  data.target_columns = {{.name = "price", .mean = 100.0, .deviation = 50.0}};
  return data;
}

std::string fault_of(const std::string& text) {
  const Result<DataDescription> read = parse_description(text);
  EXPECT_EQ(read.status().code(), Code::kCorrupt) << text;
  return read.status().message();
}

TEST(Description, IsTheSameAfterItsText) {
  DataDescription images;
  images.name = "photos";
  images.classes = 2;
  images.class_names = {"Katze", "Käfer"};
  images.channels = 3;
  images.height = 20;
  images.width = 30;
  images.mean = {0.1, 1.0 / 3.0, 0.5};
  images.deviation = {0.2, 0.3, 0.25};
  images.transforms = "flip resize:16x16";
  DataDescription tokens;
  tokens.name = "t.txt";
  tokens.kind = DatasetKind::kTokens;
  tokens.vocabulary = 65;
  tokens.context = 128;
  tokens.characters_per_token = 1.25;
  for (const DataDescription& data : {images, tokens, table()}) {
    const std::string text = description_text(data);
    const Result<DataDescription> read = parse_description(text);
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(description_text(*read), text);
    EXPECT_EQ(read->kind, data.kind);
    EXPECT_EQ(read->mean, data.mean);
    EXPECT_EQ(read->class_names, data.class_names);
  }
  const DataDescription rows = *parse_description(description_text(table()));
  EXPECT_EQ(rows.name, "houses.csv") << "a path is of one machine alone";
  EXPECT_EQ(rows.features(), 4);
  EXPECT_EQ(rows.columns[1].words, table().columns[1].words);
  EXPECT_TRUE(rows.has_values());
}

TEST(Description, RefusesWhatCannotBe) {
  EXPECT_THAT(fault_of("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(fault_of("{"), HasSubstr("expected an object"));
  EXPECT_THAT(fault_of(R"({"kind": "sounds"})"), HasSubstr("images, tokens or rows"));
  EXPECT_THAT(fault_of(R"({"kind": "images", "height": 2, "width": -1})"), HasSubstr("width"));
  EXPECT_THAT(fault_of(R"({"kind": "images", "height": 2, "width": 2, "deviation": [0]})"),
              HasSubstr("numbers above 0"));
  EXPECT_THAT(fault_of(R"({"kind": "images", "height": 2, "width": 2, "classes": 3,
                           "class_names": ["a"]})"),
              HasSubstr("none, or 3"));
  EXPECT_THAT(fault_of(R"({"kind": "images", "channels": 2, "height": 2, "width": 2})"),
              HasSubstr("1 or 3"));
  EXPECT_THAT(fault_of(R"({"kind": "tokens", "vocabulary": 1e300, "context": 4})"),
              HasSubstr("vocabulary"));
  EXPECT_THAT(fault_of(R"({"kind": "rows", "columns": []})"), HasSubstr("columns"));
  EXPECT_THAT(fault_of(R"({"kind": "rows", "columns": [{"name": "a", "mean": "b"}]})"),
              HasSubstr("columns[0].mean"));
  EXPECT_THAT(fault_of(R"({"kind": "rows", "columns": [{"name": "a"}]})"), HasSubstr("targets"));
  EXPECT_THAT(fault_of(std::string(100, '[')), HasSubstr("object"));
}

TEST(Description, SaysInWhichWayDataDiffer) {
  DataDescription other = table();
  other.columns[0].mean = 11.0;
  other.name = "more.csv";
  EXPECT_EQ(data_difference(table(), other), "") << "more rows have another mean";
  other.columns[1].words.push_back("castle");
  EXPECT_EQ(data_difference(table(), other), "words of the column kind");
  other.columns[1].name = "sort";
  EXPECT_EQ(data_difference(table(), other), "columns");
  other.classes = 3;
  EXPECT_EQ(data_difference(table(), other), "classes");
  DataDescription text;
  text.kind = DatasetKind::kTokens;
  text.vocabulary = 2;
  EXPECT_EQ(data_difference(table(), text), "kind");
  DataDescription shuffled = text;
  text.tokenizer = *make_character_tokenizer("ab");
  shuffled.tokenizer = *make_character_tokenizer("ac");
  EXPECT_EQ(data_difference(text, shuffled), "tokenizer");
  shuffled.tokenizer = *make_character_tokenizer("ba");
  EXPECT_EQ(data_difference(text, shuffled), "");
}

TEST(Rows, AreScaledAndWordsAreOneOfMany) {
  const DataDescription data = table();
  const Array raw = Array::from<float>({12, 1, 8, 0, kNan, kNan, 10, 7}, {4, 2});
  const Array encoded = encode_rows(data, raw).value();
  EXPECT_THAT(encoded.to_vector<float>(), ElementsAre(1, 0, 1, 0,   // a house
                                                      -1, 1, 0, 0,  // a flat
                                                      0, 0, 0, 0,   // nothing is known
                                                      0, 0, 0, 0))  // no such word
      << "a missing value is the mean";
  EXPECT_THAT(encode_rows(data, Array::zeros({2, 3})).status().message(),
              HasSubstr("rows of 2 columns, got [2, 3]"));
  const Array infinite = Array::full({1, 2}, std::numeric_limits<double>::infinity());
  EXPECT_THAT(encode_rows(data, infinite).status().message(), HasSubstr("\"size\""));
  std::vector<float> values = {150, 75};
  scale_targets(data, values);
  EXPECT_THAT(values, ElementsAre(1, -0.5F));
  scale_back(data, values);
  EXPECT_THAT(values, ElementsAre(150, 75));
}

class CsvOfAModel : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/description_" + std::to_string(getpid()) + ".csv";
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string put(const std::string& text) const {
    std::ofstream(path_) << text;
    return path_;
  }
  Result<DescribedRows> read(const std::string& text, RowTargets targets = RowTargets::kIgnored,
                             const CsvOptions& options = {}) const {
    return read_described_csv(put(text), options, table(), targets);
  }
  std::string path_;
};

TEST_F(CsvOfAModel, FindsColumnsByName) {
  const auto rows = read("note,kind,price,size\nx, house ,7,12\ny,flat,8,8\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_THAT(rows->dataset.rows.to_vector<float>(), ElementsAre(12, 1, 8, 0));
  EXPECT_FALSE(rows->dataset.targets.defined());
  const auto with = read("kind,price,size\nhouse,7,12\n", RowTargets::kRead);
  EXPECT_THAT(with->dataset.targets.to_vector<float>(), ElementsAre(7));
  const auto comma =
      read("size;kind\n12,5;hut\n", RowTargets::kIgnored, {.separator = ';', .decimal = ','});
  EXPECT_THAT(comma->dataset.rows.to_vector<float>(), ElementsAre(12.5F, 2));
}

TEST_F(CsvOfAModel, SaysWhatIsMissingAndWhatIsNew) {
  const auto rows = read("size,kind\n,castle\n3,NA\n");
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  EXPECT_EQ(rows->unknown_words, 1);
  EXPECT_TRUE(std::isnan(rows->dataset.rows.to_vector<float>()[0]));
  EXPECT_THAT(read("size,price\n1,2\n").status().message(),
              HasSubstr("expected a column \"kind\", which the model was trained with, got size, "
                        "price"));
  EXPECT_THAT(read("size,kind\n1,hut\nbig,hut\n").status().message(),
              HasSubstr("line 3, column \"size\": expected a number, got \"big\""));
  EXPECT_THAT(read("size,kind\n").status().message(), HasSubstr("at least one row"));
  EXPECT_THAT(read("size,kind\n1,hut,2\n").status().message(), HasSubstr("2 fields, got 3"));
  EXPECT_THAT(read("size,kind,price\n1,hut,\n", RowTargets::kRead).status().message(),
              HasSubstr("\"price\""));
  EXPECT_EQ(read_described_csv(path_ + "x", {}, table(), RowTargets::kIgnored).status().code(),
            Code::kUnavailable);
}

TEST_F(CsvOfAModel, TakesPlacesWhereThereAreNoNames) {
  DataDescription data = table();
  data.columns[0].name = "0";
  data.target_columns[0].name = "1";
  data.columns[1].name = "2";
  const CsvOptions options = {.header = false};
  const auto whole = read_described_csv(put("12,7,hut\n"), options, data, RowTargets::kIgnored);
  EXPECT_THAT(whole->dataset.rows.to_vector<float>(), ElementsAre(12, 2));
  const auto inputs = read_described_csv(put("12,hut\n"), options, data, RowTargets::kIgnored);
  EXPECT_THAT(inputs->dataset.rows.to_vector<float>(), ElementsAre(12, 2));
  EXPECT_FALSE(read_described_csv(put("12\n"), options, data, RowTargets::kIgnored).ok());
}

TEST(Csv, AHeaderThatIsTakenForARowIsSaid) {
  const std::string text = "a,kind\n1,x\n2,y\n3,x\n";
  EXPECT_THAT(
      parse_csv(text, {.header = false}).status().message(),
      HasSubstr("column 1: expected numbers as in all other lines, got \"a\" in the "
                "first; if that line has the names of the columns, set data.header = true"));
}

}  // namespace
}  // namespace weft::description_test
