#include "weft/app/member/join_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/train/recipe/test_recipe.h"

namespace weft::join_plan_test {
namespace {

using testing::HasSubstr;

JoinPlan sample_plan() {
  JoinPlan plan;
  plan.recipe = small_recipe();
  plan.recipe.run.steps = 400;
  plan.recipe.run.round_seconds_min = 0.5;
  plan.recipe.group.result_log_bytes = 100'000'000;
  plan.size = {1'000'000, 256};
  plan.files.data = "/data/words.txt";
  plan.listen = "*:0";
  plan.out = "weft-runs/joined";
  plan.free_bytes = 8'000'000'000;
  return plan;
}

TEST(JoinPlan, SaysWhatTheRunTakesOfTheMachine) {
  const std::string text = plan_text(sample_plan());
  EXPECT_THAT(text,
              testing::AllOf(HasSubstr("mlp with 1000000 values"),
                             HasSubstr("data     /data/words.txt, 256 samples"),
                             HasSubstr("memory   about 124 MB"), HasSubstr("8000 MB are free"),
                             HasSubstr("time     400 rounds in all, 200 s at least"),
                             HasSubstr("network  listens on *:0 (any free port), answers searches"),
                             HasSubstr("; up to 8.0 MB a round each way"),
                             HasSubstr("files    weft-runs/joined\n")));
  EXPECT_THAT(text, testing::Not(HasSubstr("not enough")));
  JoinPlan plan = sample_plan();
  plan.recipe.group.rendezvous = "node.example:4222";
  EXPECT_THAT(plan_text(plan), HasSubstr("leaves its addresses at node.example:4222"));
  plan.listen = "127.0.0.1:0";
  EXPECT_THAT(plan_text(plan), HasSubstr("answers searches for runs on this machine"));
}

TEST(JoinPlan, SaysWhereTheMemoryWouldNotDo) {
  JoinPlan plan = sample_plan();
  plan.free_bytes = 100'000'000;
  EXPECT_THAT(plan_text(plan), HasSubstr("100 MB are free, which is not enough"));
  // A short run does not fill the log of results.
  plan.recipe.run.steps = 2;
  EXPECT_EQ(memory_estimate(plan), 6U * 4'000'000 + 2U * 4'000'000);
}

// Each neighbour gets a whole model and each member computes a whole batch.
TEST(JoinPlan, SaysWhatGossipTakes) {
  JoinPlan plan = sample_plan();
  plan.recipe.group.exchange = "gossip";
  EXPECT_THAT(plan_text(plan), testing::AllOf(HasSubstr("samples per step at each member"),
                                              HasSubstr("; up to 16 MB a round each way")));
  EXPECT_EQ(memory_estimate(plan), 14U * 4'000'000);
  plan.recipe.gossip.topology = "ring";
  EXPECT_THAT(plan_text(plan), HasSubstr("; up to 8.0 MB a round each way"));
}

TEST(JoinPlan, OnlyAYesIsAYes) {
  const auto answer = [](const std::optional<std::string>& line) {
    return agree_to_plan(sample_plan(), [line](const std::string&) { return line; });
  };
  EXPECT_TRUE(answer("y").ok());
  EXPECT_TRUE(answer("yes").ok());
  for (const char* const no : {"", "n", "yesterday"}) {
    EXPECT_EQ(answer(no).code(), Code::kAborted);
  }
  EXPECT_EQ(answer(std::nullopt).code(), Code::kAborted);
  EXPECT_TRUE(agree_to_plan(sample_plan(), {}).ok());
}

}  // namespace
}  // namespace weft::join_plan_test
