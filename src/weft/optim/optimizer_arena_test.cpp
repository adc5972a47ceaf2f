// An optimizer and the arena whose parameters it moves: who may go first, and who feeds it.
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/optim/clip.h"
#include "weft/optim/optimizer.h"
#include "weft/optim/schedule.h"

namespace weft::optimizer_arena_test {
namespace {

using testing::Each;
using testing::HasSubstr;

Layout one_vector() {
  Layout layout;
  layout.add("w", {3});
  return layout;
}

std::unique_ptr<Optimizer> sgd(ParameterArena& arena) {
  return *make_optimizer({.name = "sgd", .learning_rate = 1.0, .momentum = 0.5}, arena);
}

TEST(OptimizerArena, MayBeMovedAndTheOptimizerGoesOn) {
  ParameterArena first(one_vector());
  const auto optimizer = sgd(first);
  ParameterArena arena = std::move(first);
  arena.gradient(0).fill(2);
  optimizer->step();
  EXPECT_THAT(arena.parameter(0).to_vector<float>(), Each(-2.0F));
  EXPECT_TRUE(arena.state("momentum").defined());
}

TEST(OptimizerArena, MayGoBeforeTheOptimizer) {
  std::optional<ParameterArena> arena(one_vector());
  Array parameter = arena->parameter(0);
  Array gradient = arena->gradient(0);
  const auto optimizer = sgd(*arena);
  arena.reset();
  gradient.fill(2);
  optimizer->step();
  EXPECT_THAT(parameter.to_vector<float>(), Each(-2.0F));
}

TEST(OptimizerArena, WithoutAModuleOrAGradientIsRefused) {
  ParameterArena arena(one_vector());
  const auto optimizer = sgd(arena);
  try {
    optimizer->step();
    FAIL() << "stepped without a gradient";
  } catch (const std::logic_error& mistake) {
    EXPECT_THAT(mistake.what(), HasSubstr("call bind()"));
  }
  EXPECT_EQ(optimizer->steps(), 0);
  // Whoever gives gradients by hand may give zeros later.
  arena.gradient(0).fill(1);
  optimizer->step();
  arena.zero_gradients();
  EXPECT_NO_THROW(optimizer->step());
  EXPECT_EQ(optimizer->steps(), 2);
}

TEST(OptimizerArena, WithAModuleMayHaveNoGradient) {
  ParameterArena arena(one_vector());
  arena.use(0)->watched = true;
  EXPECT_NO_THROW(sgd(arena)->step());
}

TEST(OptimizerArena, GradientsOfAnotherSizeAndRowsOfNoParameterAreRefused) {
  ParameterArena arena(one_vector());
  const auto optimizer = sgd(arena);
  const std::vector<float> few(3);
  EXPECT_THROW(optimizer->step(few), std::invalid_argument);
  EXPECT_EQ(optimizer->add_rows(1, {}, {}).code(), Code::kInvalidArgument);
  EXPECT_THROW(clip_by_global_norm(arena.gradients(), 0.0), std::invalid_argument);
  EXPECT_THROW(clip_by_value(arena.gradients(), -1.0), std::invalid_argument);
  EXPECT_THROW(schedule_factor({.name = "cosine"}, -1), std::invalid_argument);
  EXPECT_THROW(schedule_factor({.name = "cosin"}, 1), std::invalid_argument);
  EXPECT_THROW(linearly_scaled_rate(0.1, 0, 32), std::invalid_argument);
}

}  // namespace
}  // namespace weft::optimizer_arena_test
