// The families that `weft methods` lists, and the pages of codes and methods.
#include "weft/train/recipe/methods.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/train/recipe/program_methods.h"
#include "weft/train/recipe/program_recipe.h"

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

TEST(Methods, ThePageOfMethodsHasEveryProgramAndOption) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/docs/methods.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(program_method_table()))
      << "write this table into docs/methods.md:\n"
      << program_method_table();
}

TEST(Methods, EveryProgramHasARecipeWithItsOptions) {
  const std::string root = WEFT_SOURCE_DIR;
  for (const ProgramMethodDef& def : program_methods()) {
    const std::string path = root + "/recipes/methods/" + std::string(def.name) + ".toml";
    const Result<std::optional<ProgramRecipe>> read = load_program_recipe(path);
    ASSERT_TRUE(read.ok()) << read.status().message();
    ASSERT_TRUE(read->has_value()) << path;
    const ProgramRecipe& recipe = **read;
    EXPECT_THAT(recipe.command, testing::Contains("{recipe}/../../" + std::string(def.program)));
    EXPECT_TRUE(std::filesystem::exists(root + "/" + std::string(def.program)));
    ASSERT_EQ(recipe.options.size(), def.options.size()) << path;
    for (std::size_t i = 0; i < def.options.size(); ++i) {
      EXPECT_EQ(recipe.options[i].first, def.options[i].name);
      EXPECT_EQ(option_value_text(recipe.options[i].second),
                fmt::format("{}", def.options[i].fallback));
      const std::string place = "{" + std::string(def.options[i].name) + "}";
      EXPECT_THAT(recipe.command, testing::Contains(place));
    }
    EXPECT_FALSE(load_recipe(path).ok()) << "another command would take " << path;
  }
}

}  // namespace
}  // namespace weft::methods_test
