// The families that `weft methods` lists, and the pages of codes and methods.
#include "weft/train/recipe/methods.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::methods_test {
namespace {

using testing::HasSubstr;

TEST(Methods, FamiliesAndTheirMethodsAreInOrder) {
  std::string_view family_before;
  for (const MethodFamily& family : method_families()) {
    EXPECT_LT(family_before, family.key);
    family_before = family.key;
    EXPECT_FALSE(family.methods.empty()) << family.key;
    std::string_view before;
    for (const Method& method : family.methods) {
      EXPECT_LT(before, method.name);
      before = method.name;
      EXPECT_FALSE(method.summary.empty()) << method.name;
      EXPECT_EQ(method.note.empty(), family.note_title.empty()) << method.name;
    }
  }
}

TEST(Methods, ThePageOfCodesHasEveryCodeAndOption) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/docs/coded_computing.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(code_table()))
      << "write this table into docs/coded_computing.md:\n"
      << code_table();
}

TEST(Methods, ThePageOfMethodsHasEveryPartAndOption) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/docs/methods.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(mix_tables())) << "write these tables into docs/methods.md:\n"
                                                   << mix_tables();
}

}  // namespace
}  // namespace weft::methods_test
