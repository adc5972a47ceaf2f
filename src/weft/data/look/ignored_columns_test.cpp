// Tables of which some columns are not learned from, and names of columns as programs write them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_folder.h"
#include "weft/data/csv.h"
#include "weft/data/look/look.h"
#include "weft/data/rows.h"
#include "weft/data/rows_csv.h"

namespace weft::ignored_columns_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class IgnoredColumns : public testing::Test, protected TestFolder {
 protected:
  static CsvOptions options(std::vector<std::string> ignored, bool header = true) {
    CsvOptions options;
    options.header = header;
    options.missing = MissingValues::kNan;
    options.ignored = std::move(ignored);
    return options;
  }
  static Dataset trained(const std::string& text, const CsvOptions& options) {
    Dataset data = *make_csv_dataset("t.csv", *parse_csv(text, options), Split::kTrain,
                                     {.target = "", .classify = false});
    EXPECT_TRUE(describe_rows(data).ok());
    return data;
  }
  // What a file says to a model of `data`, row by row.
  Result<std::vector<float>> read(const std::string& text, const DataDescription& data, bool header,
                                  RowTargets targets = RowTargets::kIgnored) {
    WEFT_TRY_ASSIGN(const DescribedRows rows,
                    read_described_csv(put("new.csv", text), options({}, header), data, targets));
    return rows.dataset.rows.to_vector<float>();
  }
};

const std::string kTable =
    "id,size,day,price\n7,1,x,10\n8,2,y,20\n9,3,z,30\n10,4,u,40\n11,5,v,50\n12,6,w,60\n13,7,p,70\n"
    "14,8,q,80\n15,9,r,90\n16,10,s,99\n";

TEST_F(IgnoredColumns, AreInNoInputAndInTheDescription) {
  const Dataset data = trained(kTable, options({"day", "id"}));
  ASSERT_EQ(data.columns.size(), 1U);
  EXPECT_EQ(data.columns[0].name, "size");
  EXPECT_EQ(data.target_columns[0].name, "price");
  EXPECT_THAT(data.ignored, ElementsAre("day", "id"));
  const DataDescription read = *parse_description(description_text(data));
  EXPECT_EQ(read.ignored, data.ignored);
  EXPECT_EQ(description_text(trained(kTable, options({}))).find("ignored"), std::string::npos);
}

TEST_F(IgnoredColumns, NewTablesMayHaveThemOrNot) {
  const Dataset data = trained(kTable, options({"id", "day"}));
  EXPECT_THAT(*read("size\n5\n", data, true), ElementsAre(5));
  EXPECT_THAT(*read("price,day,size,id\n1,monday,5,z\n", data, true), ElementsAre(5));
}

TEST_F(IgnoredColumns, WithoutAHeaderTheWidthTellsWhichAreThere) {
  const std::string rows = kTable.substr(kTable.find('\n') + 1);
  const Dataset data = trained(rows, options({"0", "2"}, false));
  ASSERT_EQ(data.columns.size(), 1U);
  EXPECT_EQ(data.columns[0].name, "1");
  EXPECT_EQ(data.target_columns[0].name, "3");
  EXPECT_THAT(*read("5\n6\n", data, false), ElementsAre(5, 6));
  EXPECT_THAT(*read("9,5,x,1\n", data, false), ElementsAre(5));
  EXPECT_THAT(*read("9,5,x\n", data, false), ElementsAre(5));
  EXPECT_THAT(*read("5,1\n", data, false), ElementsAre(5));
  EXPECT_THAT(*read("5,1\n", data, false, RowTargets::kRead), ElementsAre(5));
  EXPECT_THAT(read("1,2,3,4,5\n", data, false).status().message(), HasSubstr("expected 1 columns"));
  // One ignored and one learned: two columns could be the input with either.
  const Dataset one = trained("7,1,10\n8,2,20\n9,3,30\n", options({"0"}, false));
  EXPECT_THAT(read("8,2\n", one, false).status().message(), HasSubstr("leaves open"));
  EXPECT_THAT(*read("8,2,20\n", one, false), ElementsAre(2));
}

TEST_F(IgnoredColumns, UnknownOnesAreRefusedWithTheNearest) {
  EXPECT_THAT(parse_csv(kTable, options({"iid"})).status().message(),
              AllOf(HasSubstr("data.columns_ignored"), HasSubstr("did you mean \"id\"?"),
                    HasSubstr("id, size, day, price")));
  EXPECT_THAT(parse_csv(kTable, options({"id", "size", "day", "price"})).status().message(),
              HasSubstr("every column"));
  EXPECT_THAT(make_csv_dataset("t.csv", *parse_csv(kTable, options({})), Split::kTrain,
                               {.target = "prize", .classify = false})
                  .status()
                  .message(),
              AllOf(HasSubstr("data.target"), HasSubstr("did you mean \"price\"?")));
}

// A word in each of 70,000 rows is more than a column may have, unless it is passed over.
TEST_F(IgnoredColumns, MayHoldWhatNoColumnMay) {
  std::string text = "name,a,b\n";
  for (int i = 0; i < 70000; ++i) text += fmt::format("n{},{},{}\n", i, i % 7, i % 3);
  EXPECT_FALSE(parse_csv(text, options({})).ok());
  EXPECT_EQ(parse_csv(text, options({"name"}))->values.dim(1), 2);
}

// As pandas writes an index, and a spreadsheet two columns of one name.
TEST_F(IgnoredColumns, NoTwoColumnsHaveOneName) {
  EXPECT_THAT(csv_column_names({"", " a ", "a", "a.1", ""}, true),
              ElementsAre("0", "a", "a.1", "a.1.1", "4"));
  EXPECT_EQ(csv_column_names(std::vector<std::string>(kCsvColumnsMax, "a"), true).back(),
            fmt::format("a.{}", kCsvColumnsMax - 1));
  EXPECT_THAT(csv_column_names({"x", "y"}, false), ElementsAre("0", "1"));
  const Dataset data = trained(",a,a,y\n0,1,2,3\n1,3,4,5\n2,5,7,8\n", options({"0"}));
  EXPECT_THAT(*read(",a,a,y\n9,1,2,3\n", data, true), ElementsAre(1, 2));
}

TEST_F(IgnoredColumns, ALookSaysWhichToLeaveOut) {
  std::string text = ",name,day,when,size,kind,price\n";
  for (int i = 0; i < 40; ++i) {
    text += fmt::format("{},n{},2024-01-{:02},{}.{}.2024 10:30,{},{},{}\n", i, i % 38, i % 9 + 1,
                        i % 9 + 1, i % 3 + 1, i / 2, i % 2 == 0 ? "new" : "old", i * 3 % 40);
  }
  const Result<DataLook> look = look_at_data(put("t.csv", text));
  ASSERT_TRUE(look.ok()) << look.status().message();
  const std::vector<ColumnLook>& columns = look->table.columns;
  for (const std::size_t i : {0U, 1U}) EXPECT_TRUE(columns[i].identifier) << i;
  for (const std::size_t i : {2U, 3U}) EXPECT_TRUE(columns[i].dates) << i;
  for (const std::size_t i : {4U, 5U, 6U}) {
    EXPECT_FALSE(columns[i].identifier || columns[i].dates) << i;
  }
  EXPECT_THAT(look->oddities, Contains(HasSubstr("Column 1 has no name, and is called \"0\"")));
  EXPECT_THAT(look->oddities, Contains(AllOf(HasSubstr("counts up from row to row"),
                                             HasSubstr("data.columns_ignored = \"0\""))));
  EXPECT_THAT(look->oddities, Contains(AllOf(HasSubstr("name has another word in nearly every row"),
                                             HasSubstr("data.columns_ignored = \"name\""))));
  EXPECT_THAT(look->oddities, Contains(HasSubstr("Column when holds dates")));
  EXPECT_THAT(look->oddities, Each(Not(HasSubstr("Column size"))));
}

}  // namespace
}  // namespace weft::ignored_columns_test
