#include "weft/array/arena/parameter_arena.h"

#include <algorithm>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::parameter_arena_test {
namespace {

using ::testing::ElementsAre;

Layout small_layout() {
  Layout layout;
  layout.add("fc.weight", {3, 7});
  layout.add("fc.bias", {3}, ParameterKind::kBias);
  layout.add("empty", {0});
  layout.add("scale", {}, ParameterKind::kNorm);
  return layout;
}

TEST(Layout, entries_start_on_aligned_offsets) {
  const Layout layout = small_layout();
  EXPECT_EQ(layout[0].offset, 0);
  EXPECT_EQ(layout[1].offset, 32);
  EXPECT_EQ(layout[2].offset, 48);
  EXPECT_EQ(layout[3].offset, 48);
  EXPECT_EQ(layout.num_elements(), 64);
  EXPECT_EQ(layout.num_parameters(), 25);
  EXPECT_EQ(layout.find("fc.bias"), 1);
  EXPECT_EQ(layout.find("nothing"), -1);
  EXPECT_EQ(layout.find_offset(25), 0);
  EXPECT_EQ(layout.find_offset(34), 1);
  EXPECT_EQ(layout.find_offset(48), 3);
  EXPECT_EQ(layout.find_offset(64), -1);
}

TEST(Layout, the_hash_covers_name_shape_and_kind) {
  EXPECT_EQ(small_layout().hash(), small_layout().hash());
  Layout a;
  a.add("w", {2, 3});
  Layout b;
  b.add("w", {3, 2});
  Layout c;
  c.add("v", {2, 3});
  Layout d;
  d.add("w", {2, 3}, ParameterKind::kBias);
  EXPECT_NE(a.hash(), b.hash());
  EXPECT_NE(a.hash(), c.hash());
  EXPECT_NE(a.hash(), d.hash());
  EXPECT_THROW(a.add("w", {1}), std::invalid_argument);
}

TEST(ParameterArena, views_write_into_the_one_buffer_and_gaps_stay_zero) {
  ParameterArena arena(small_layout());
  arena.parameter(0).fill(1);
  Array bias = arena.parameter(ParameterId(1));
  bias.copy_from(Array::from(std::vector<float>{5, 6, 7}, {3}));
  const std::span<float> flat = arena.parameters();
  EXPECT_EQ(std::count(flat.begin(), flat.end(), 1.F), 21);
  EXPECT_THAT(std::vector<float>(flat.begin() + 31, flat.begin() + 36), ElementsAre(0, 5, 6, 7, 0));
  arena.gradient(1).fill(2);
  EXPECT_EQ(arena.gradients()[33], 2.F);
  arena.zero_gradients();
  EXPECT_EQ(arena.gradients()[33], 0.F);
}

TEST(ParameterArena, states_are_found_by_name_and_kept_in_order) {
  ParameterArena arena(small_layout());
  Array momentum = arena.add_state("momentum");
  arena.add_state("second");
  arena.view(momentum, 1).fill(3);
  EXPECT_EQ(arena.add_state("momentum").flat<float>()[32], 3.F);
  EXPECT_FALSE(arena.state("other").defined());
  EXPECT_THAT(arena.state_names(), ElementsAre("momentum", "second"));
}

TEST(ParameterArena, knows_which_parameters_have_a_gradient) {
  ParameterArena arena(small_layout());
  EXPECT_TRUE(arena.has_gradient(0));  // nobody watches
  for (int i = 0; i < arena.size(); ++i) arena.use(i)->watched = true;
  EXPECT_FALSE(arena.has_gradient(0));
  arena.gradient(0).fill(1);
  EXPECT_TRUE(arena.has_gradient(0));
  EXPECT_FALSE(arena.has_gradient(1));
  arena.use(1)->written = true;
  EXPECT_TRUE(arena.has_gradient(1));
  arena.use(1)->trained = false;
  EXPECT_FALSE(arena.has_gradient(1));
  arena.zero_gradients();
  EXPECT_FALSE(arena.has_gradient(0));
  EXPECT_FALSE(arena.use(1)->written);
}

TEST(ParameterArena, RefusesAnIndexThatItHasNot) {
  ParameterArena arena(small_layout());
  EXPECT_THROW(arena.parameter(7), std::invalid_argument);
  EXPECT_THROW(arena.gradient(-1), std::invalid_argument);
  EXPECT_THROW(arena.use(4), std::invalid_argument);
  EXPECT_THROW(arena.has_gradient(4), std::invalid_argument);
  EXPECT_THROW(arena.state_layout("momentum"), std::invalid_argument);
  EXPECT_THROW(arena.view(Array::zeros({3}), 0), std::invalid_argument);
  arena.add_state("momentum");
  EXPECT_THROW(arena.add_state("momentum", Layout()), std::invalid_argument);
}

TEST(ParameterArena, HandlesShareEverythingAndOneThatWasMovedFromSaysSo) {
  ParameterArena first(small_layout());
  ParameterArena other = first.share();
  other.parameter(1).fill(2);
  other.add_state("momentum");
  EXPECT_EQ(first.parameters()[32], 2.F);
  EXPECT_TRUE(first.state("momentum").defined());
  const ParameterArena moved = std::move(first);
  EXPECT_EQ(moved.parameters()[32], 2.F);
  // NOLINTNEXTLINE(bugprone-use-after-move): what an arena does then is under test.
  EXPECT_THROW(first.parameters(), std::invalid_argument);
  EXPECT_THROW(first.layout(), std::invalid_argument);
  EXPECT_THROW(first.share(), std::invalid_argument);
}

TEST(ParameterArena, HoldsOneModuleAtATime) {
  ParameterArena arena(small_layout());
  auto first = std::make_shared<char>();
  const auto second = std::make_shared<char>();
  arena.hold(first);
  EXPECT_NO_THROW(arena.hold(first));
  EXPECT_THROW(arena.hold(second), std::invalid_argument);
  first = nullptr;
  EXPECT_NO_THROW(arena.hold(second));
}

}  // namespace
}  // namespace weft::parameter_arena_test
