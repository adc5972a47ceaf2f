// Module::bind(): handles of before it, and arenas that it refuses.
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/base/testing/test_refusal.h"
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/op/ops.h"

namespace weft::bind_test {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor ones(const Shape& shape) { return Tensor(Array::full(shape, 1.0)); }

TEST(Bind, KeepsHandlesOfBeforeAsHandlesOfTheSameParameter) {
  Linear layer(3, 2);
  layer.initialize(4);
  const Tensor handle = layer.parameters()[0];
  const Array value = layer.values()[1].value;
  const std::vector<float> initial = handle.array().to_vector<float>();
  int hook_calls = 0;
  const HookHandle hook = handle.register_post_accumulate_hook([&](const Array&) { ++hook_calls; });

  ParameterArena arena(layer.layout());
  layer.bind(arena);
  EXPECT_EQ(handle.array().to_vector<float>(), initial);
  arena.parameter(0).fill(7);
  arena.parameter(1).fill(8);
  EXPECT_THAT(handle.array().to_vector<float>(), Each(7.0F));
  EXPECT_THAT(value.to_vector<float>(), Each(8.0F));
  Array written = handle.array();
  written.fill(3);
  EXPECT_THAT(arena.parameter(0).to_vector<float>(), Each(3.0F));

  backward(sum(layer.forward(ones({1, 3}))));
  EXPECT_THAT(handle.grad().to_vector<float>(), Each(1.0F));
  EXPECT_EQ(handle.parameter_id(), ParameterId(0));
  EXPECT_EQ(hook_calls, 1);
  // A graph over the old handle, as of a weight that another layer shares, adds to the arena.
  backward(sum(linear(ones({1, 3}), handle)));
  EXPECT_THAT(arena.gradient(0).to_vector<float>(), Each(2.0F));
  EXPECT_TRUE(arena.use(0)->written);
}

TEST(Bind, LetsAGraphOverAnOldHandleNoticeAWriteThroughTheArena) {
  Linear layer(3, 2);
  layer.initialize(4);
  const Tensor handle = layer.parameters()[0];
  ParameterArena arena(layer.layout());
  layer.bind(arena);
  const Tensor loss = sum(handle * handle);
  arena.parameter(1).fill(5);  // another parameter
  EXPECT_NO_THROW(backward(loss, {}, {.keep_graph = true}));
  arena.parameter(0).fill(5);
  EXPECT_THAT(refusal([&] { backward(loss); }), HasSubstr("written in place by \"fill\""));
}

TEST(Bind, KeepsHandlesOfFrozenParametersAndOfBuffers) {
  Sequential model;
  model.add<BatchNorm1d>("norm", 2);
  model.set_requires_grad(false);
  const Tensor scale = model.parameters()[0];
  const Array mean = model.values()[2].value;
  ParameterArena arena(model.layout());
  model.bind(arena);
  arena.parameter(0).fill(3);
  arena.parameter(2).fill(4);
  EXPECT_THAT(scale.array().to_vector<float>(), ElementsAre(3, 3));
  EXPECT_FALSE(scale.requires_grad());
  EXPECT_THAT(mean.to_vector<float>(), ElementsAre(4, 4));
}

TEST(Bind, RefusesASecondModule) {
  Linear first(3, 2);
  first.initialize(1);
  Linear second(3, 2);
  ParameterArena arena(first.layout());
  first.bind(arena);
  const std::vector<float> values = arena.parameter(0).to_vector<float>();
  EXPECT_THAT(
      refusal([&] { second.bind(arena); }),
      AllOf(HasSubstr("[bind]"), HasSubstr("another module"), HasSubstr("an arena for each")));
  EXPECT_EQ(arena.parameter(0).to_vector<float>(), values);
  ParameterArena own(second.layout());
  EXPECT_NO_THROW(second.bind(own));
}

TEST(Bind, RefusesAModuleThatIsBoundAlready) {
  Sequential model;
  model.add<Linear>("fc", 3, 2);
  ParameterArena part(model[0].layout());
  model[0].bind(part);
  ParameterArena whole(model.layout());
  EXPECT_THAT(refusal([&] { model.bind(whole); }), HasSubstr("\"fc.weight\""));
  EXPECT_THAT(refusal([&] { model[0].bind(part); }), HasSubstr("\"weight\""));
  // The refused arena is free.
  Sequential other;
  other.add<Linear>("fc", 3, 2);
  EXPECT_NO_THROW(other.bind(whole));
}

TEST(Bind, NamesTheFirstValueThatDiffers) {
  Sequential model;
  model.add<Linear>("fc1", 3, 2);
  Sequential other;
  other.add<Linear>("fc1", 3, 4);
  ParameterArena arena(other.layout());
  EXPECT_THAT(refusal([&] { model.bind(arena); }),
              AllOf(HasSubstr("\"fc1.weight\" [2, 3]"), HasSubstr("\"fc1.weight\" [4, 3]")));
  Layout longer = model.layout();
  longer.add("fc2.weight", {1});
  ParameterArena more(longer);
  EXPECT_THAT(refusal([&] { model.bind(more); }), HasSubstr("\"fc2.weight\" [1]"));
}

TEST(Bind, LetsTheArenaMove) {
  Linear layer(3, 2);
  ParameterArena first(layer.layout());
  layer.bind(first);
  const ParameterArena arena = std::move(first);
  backward(sum(layer.forward(ones({1, 3}))));
  EXPECT_THAT(arena.gradient(0).to_vector<float>(), Each(1.0F));
}

TEST(Sequential, RefusesAMissingModule) {
  Sequential model;
  EXPECT_THAT(refusal([&] { model.add("fc", std::unique_ptr<Module>()); }),
              AllOf(HasSubstr("\"fc\""), HasSubstr("null")));
  EXPECT_THAT(refusal([&] { model.add("fc", nullptr); }), HasSubstr("null"));
  EXPECT_EQ(model.size(), 0U);
}

}  // namespace
}  // namespace weft::bind_test
