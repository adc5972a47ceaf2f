// group.wire: which codecs a recipe may name, what the page says of them, and what stands beside a
// checkpoint.
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_folder.h"
#include "weft/codec/codec_def.h"
#include "weft/collective/codec/residual_file.h"
#include "weft/train/exchange/scripted_exchange.h"
#include "weft/train/run/checkpoints.h"
#include "weft/train/run/wiring.h"

namespace weft::recipe_wire_test {
namespace {

using testing::HasSubstr;

Recipe recipe_with(std::string_view wire) {
  Recipe recipe;
  recipe.group.wire = wire;
  return recipe;
}

TEST(RecipeWire, EveryCodecIsAWireAndStandsInItsPlace) {
  const Layout layout;
  for (const CodecDef* def : codecs()) {
    const Recipe recipe = recipe_with(def->name);
    EXPECT_TRUE(check_recipe(recipe).ok()) << def->name;
    const SwarmOptions options = swarm_options(recipe, layout, {});
    EXPECT_EQ(options.wire, def->hop.value_or(WirePrecision::kF32)) << def->name;
    EXPECT_EQ(options.codec.text(), def->hop ? "f32" : def->name);
  }
  EXPECT_EQ(swarm_options(recipe_with("topk:ratio=0.05"), layout, {}).codec.text(),
            "topk:ratio=0.05");
}

TEST(RecipeWire, SaysWhatIsWrong) {
  EXPECT_EQ(check_recipe(recipe_with("top")).message(),
            "group.wire: codec: expected one of bf16, dct, ef_sign, f16, f32, fedzip, int8, "
            "powersgd, qsgd, randomk, sign, sparseloco, topk, got \"top\"; did you mean \"topk\"?");
  EXPECT_EQ(check_recipe(recipe_with("topk:ratio=0")).message(),
            "group.wire: topk: ratio: expected a number from 1e-06 to 1, got \"0\"");
  Recipe late = recipe_with("sign");
  late.group.wait = "deadline";
  EXPECT_THAT(check_recipe(late).message(), HasSubstr("expected group.wait = \"all\""));
  late.group.wire = "topk";
  EXPECT_TRUE(check_recipe(late).ok());
}

TEST(RecipeWire, ThePageHasEveryCodecAndOption) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/docs/codecs.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(codec_table()))
      << "write the output of `weft recipe` into docs/codecs.md";
}

TEST(RecipeWire, ThePageOfCollectivesHasEveryGateAndOption) {
  std::ifstream file(std::string(WEFT_SOURCE_DIR) + "/docs/collective.md");
  std::ostringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), HasSubstr(gate_table()))
      << "write the output of `weft recipe` into docs/collective.md";
}

class DroppingExchange final : public ScriptedExchange {
 public:
  DroppingExchange() : ScriptedExchange(Round(1)) {}
  Result<ResidualState> residual_state() override { return state; }

  ResidualState state;
};

TEST(RecipeWire, TheResidualStandsBesideTheCheckpoint) {
  TestFolder folder;
  const Checkpoints checkpoints(folder.path(""), 1, "");
  DroppingExchange exchange;
  exchange.state = {Round(7), {std::make_shared<const std::vector<float>>(5, 0.25F)}};
  const Recipe recipe = recipe_with("topk");
  ASSERT_TRUE(checkpoints.save_residual(recipe, exchange).ok());
  const Result<ResidualState> read =
      read_residual_file(checkpoints.residual_path(), *Codec::parse("topk"), 5);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->round, Round(7));
  EXPECT_EQ(*read->of(0), *exchange.state.of(0));
  ASSERT_TRUE(checkpoints.save_residual(recipe_with("int8"), exchange).ok());
  EXPECT_TRUE(read_residual_file(checkpoints.residual_path(), *Codec::parse("topk"), 5).ok())
      << "what stands per hop is not written";
}

}  // namespace
}  // namespace weft::recipe_wire_test
