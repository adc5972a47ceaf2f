#include "weft/data/csv_sniff.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/data/csv.h"

namespace weft::csv_sniff_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Case {
  const char* text;
  CsvForm form;
};

TEST(CsvSniff, TheFormOfATableIsRecognised) {
  const Case cases[] = {
      {"a,b,c\n1,2.5,x\n2,3.5,y\n", {',', '.', true, true}},
      {"a;b;c\n1;2,5;x\n2;3,5;y\n", {';', ',', true, true}},
      {"a\tb\n1\t2\n3\t4\n", {'\t', '.', true, true}},
      {"a|b\r\n1|2\r\n3|4\r\n", {'|', '.', true, true}},
      {"\xEF\xBB\xBF"
       "a;b\n1,5;2,5\n",
       {';', ',', true, true}},
      // Decimal commas between semicolons are as many as separators would be.
      {"x;y\n1,5;2,5\n3,5;4,5\n", {';', ',', true, true}},
      // A separator within a quoted field, and one within a text.
      {"name,note\n\"Mill; old\",1\n\"Station; new\",2\n", {',', '.', true, true}},
      {"1,2\n3,4\n", {',', '.', false, false}},
      {"1;2,5\n3;4,5\n", {';', ',', false, false}},
      {"kind,color\ncat,red\ndog,blue\n", {',', '.', true, false}},
      {"cat,red\ndog,red\ncat,blue\n", {',', '.', false, false}},
      // Missing values say nothing about a column.
      {"a,b\n,1\nNA,2\n3,4\n", {',', '.', true, true}},
      {"", {',', '.', true, false}},
  };
  for (const Case& one : cases) {
    const CsvForm form = sniff_csv(one.text, true);
    EXPECT_EQ(form.separator, one.form.separator) << one.text;
    EXPECT_EQ(form.decimal, one.form.decimal) << one.text;
    EXPECT_EQ(form.header, one.form.header) << one.text;
    EXPECT_EQ(form.header_certain, one.form.header_certain) << one.text;
  }
}

TEST(CsvSniff, ARecordThatIsCutSaysNothing) {
  std::string text = "a;b;c\n";
  for (int i = 0; i < 50; ++i) text += "1,5;2;3\n";
  text += "4,5;1";
  EXPECT_EQ(sniff_csv(text, false).separator, ';');
  EXPECT_EQ(sniff_csv(text, false).decimal, ',');
}

TEST(CsvSniff, NamesOfSeparatorsGoBothWays) {
  for (const char* const name : {"comma", "semicolon", "tab", "bar"}) {
    EXPECT_EQ(separator_name(separator_named(name)), name);
  }
  EXPECT_EQ(separator_named("auto"), 0);
}

TEST(CsvSniff, FilesOfOtherEncodingsAreNamed) {
  const std::string path =
      testing::TempDir() + "/csv_sniff_test_" + std::to_string(::getpid()) + ".csv";
  std::ofstream(path, std::ios::binary) << "\xFF\xFE"
                                        << "a";
  EXPECT_THAT(sniff_csv_file(path).status().message(), HasSubstr("UTF-16"));
  EXPECT_EQ(sniff_csv_file(path + "x").status().code(), Code::kUnavailable);
}

TEST(Csv, ADecimalCommaMakesNumbersOfItsColumn) {
  const auto table = parse_csv("a;b\n1,5;x\n-2;y\n", {.separator = ';', .decimal = ','});
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_THAT(table->values.to_vector<double>(), ElementsAre(1.5, 0, -2, 1));
  EXPECT_FALSE(parse_csv("a\n1,5\n1.5\n", {.separator = ';', .decimal = ','}).ok());
}

TEST(Csv, AMixedTableHasItsRowsInOneDrawnOrder) {
  std::string text = "a,b\n";
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + "," + std::to_string(2 * i) + "\n";
  const auto plain = parse_csv(text);
  const auto mixed = parse_csv(text, {.mixed = true});
  ASSERT_TRUE(mixed.ok());
  EXPECT_EQ(mixed->values.to_vector<double>(),
            parse_csv(text, {.mixed = true})->values.to_vector<double>());
  EXPECT_NE(mixed->values.to_vector<double>(), plain->values.to_vector<double>());
  double sum = 0;
  for (std::int64_t row = 0; row < 100; ++row) {
    const double a = mixed->values.data<double>()[2 * row];
    EXPECT_EQ(mixed->values.data<double>()[2 * row + 1], 2 * a);
    sum += a;
  }
  EXPECT_EQ(sum, 4950);
}

}  // namespace
}  // namespace weft::csv_sniff_test
