#include "weft/app/compare/suite.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/app/member/peer_command.h"
#include "weft/mix/mix_method.h"

namespace weft::suite_test {
namespace {

using testing::HasSubstr;

TEST(Suite, TheFieldHasEveryMethodWithItsRecipe) {
  const std::string path = std::string(WEFT_SOURCE_DIR) + "/recipes/synthetic_mlp.toml";
  const auto contenders = suite_contenders("field", {path});
  ASSERT_TRUE(contenders.ok()) << contenders.status().message();
  ASSERT_EQ(contenders->size(), mix_methods().size());
  for (const Contender& each : *contenders) {
    RunRequest request;
    request.recipe_path = each.recipe_path;
    request.settings = each.settings;
    const Result<Recipe> recipe = recipe_of(request);
    ASSERT_TRUE(recipe.ok()) << each.name << ": " << recipe.status().message();
    EXPECT_EQ(recipe->mix.method, each.name);
  }
}

TEST(Suite, WhatIsWrongIsNamed) {
  EXPECT_THAT(suite_contenders("fields", {"a.toml"}).status().message(),
              HasSubstr("--suite: expected field, got 'fields'"));
  EXPECT_THAT(suite_contenders("field", {}).status().message(), HasSubstr("expected one recipe"));
  EXPECT_THAT(suite_contenders("field", {"a.toml", "b.toml"}).status().message(),
              HasSubstr("got 2"));
}

}  // namespace
}  // namespace weft::suite_test
