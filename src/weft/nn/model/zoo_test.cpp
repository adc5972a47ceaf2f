#include "weft/nn/zoo.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/summary.h"
#include "weft/op/loss.h"

namespace weft::zoo_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<Module> make_or_die(std::string_view name, const ModelOptions& options = {}) {
  Result<std::unique_ptr<Module>> model = make_model(name, options);
  EXPECT_TRUE(model.ok()) << model.status().message();
  return std::move(model).value();
}

Tensor random_images(const Shape& shape, std::uint64_t seed) {
  Array images = Array::empty(shape);
  Rng rng(seed);
  fill_normal(images, rng, 1.0);
  return Tensor(images);
}

// Those that take images; text_test.cpp has the others.
std::vector<const ModelDef*> image_models() {
  std::vector<const ModelDef*> models;
  for (const ModelDef* def : model_table()) {
    if (def->input == ModelInput::kImages) models.push_back(def);
  }
  return models;
}

TEST(Zoo, ParameterCountsOfTheKnownModels) {
  EXPECT_EQ(make_or_die("linear")->layout().num_parameters(), 7840 + 10);
  EXPECT_EQ(make_or_die("mlp")->layout().num_parameters(), 784 * 256 + 256 + 2560 + 10);
  EXPECT_EQ(make_or_die("cnn")->layout().num_parameters(), 1199882);
  EXPECT_EQ(make_or_die("lenet")->layout().num_parameters(), 61706);
  // PyTorch's figures for the same definitions, plus two running statistics a channel.
  const ModelOptions cifar = {.channels = 3, .height = 32, .width = 32};
  EXPECT_EQ(count_parameters(*make_or_die("resnet9", cifar)).trained, 6573130);
  EXPECT_EQ(count_parameters(*make_or_die("resnet18", cifar)).trained, 11173962);
  const ModelOptions imagenet = {.channels = 3, .height = 224, .width = 224, .classes = 1000};
  EXPECT_EQ(count_parameters(*make_or_die("resnet18", imagenet)).trained, 11689512);
  EXPECT_EQ(make_or_die("cnn", {.dropout = true})->layout(), make_or_die("cnn")->layout());
}

TEST(Zoo, ResidualNetworksHaveTheNamesOfTheirCounterparts) {
  const ModelOptions cifar = {.channels = 3, .height = 32, .width = 32};
  std::vector<std::string> names;
  for (const NamedValue& value : make_or_die("resnet9", cifar)->values()) {
    names.push_back(value.name);
  }
  for (const char* name :
       {"p.0.weight", "l1.1.running_var", "r1.0.0.weight", "r3.1.1.bias", "fc.weight"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
  names.clear();
  for (const NamedValue& value : make_or_die("resnet18", cifar)->values()) {
    names.push_back(value.name);
  }
  for (const char* name :
       {"conv1.weight", "bn1.weight", "layer1.0.conv2.weight", "layer2.0.downsample.0.weight",
        "layer4.1.bn2.running_mean", "fc.bias"}) {
    EXPECT_THAT(names, testing::Contains(name));
  }
}

TEST(Zoo, NamesOfTheCnnsParameters) {
  std::vector<std::string> names;
  for (const NamedValue& value : make_or_die("cnn")->values()) names.push_back(value.name);
  EXPECT_THAT(names, ElementsAre("conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias",
                                 "fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"));
}

TEST(Zoo, EveryModelGivesLogitsAndAGradientForEveryParameter) {
  for (const ModelDef* def : image_models()) {
    for (const bool dropout : {false, true}) {
      const auto model = make_or_die(def->name, {.dropout = dropout, .classes = 7});
      const Tensor logits = model->forward(random_images({4, 1, 28, 28}, 2));
      ASSERT_EQ(logits.shape(), (Shape{4, 7})) << def->name;
      const Array labels = Array::from(std::vector<std::int64_t>{0, 6, 3, 3}, {4});
      backward(cross_entropy(logits, labels));
      for (const Tensor& parameter : model->parameters()) {
        ASSERT_TRUE(parameter.grad().defined()) << def->name;
        double largest = 0;
        for (const float value : parameter.grad().to_vector<float>()) {
          largest = std::max(largest, std::abs(double{value}));
        }
        EXPECT_GT(largest, 0.0) << def->name;
      }
    }
  }
}

TEST(Zoo, EveryModelTakesOtherSizesOfImages) {
  const ModelOptions options = {.channels = 3, .height = 17, .width = 20, .classes = 4};
  for (const ModelDef* def : image_models()) {
    const auto model = make_or_die(def->name, options);
    EXPECT_EQ(model->forward(random_images({2, 3, 17, 20}, 1)).shape(), (Shape{2, 4})) << def->name;
  }
}

TEST(Zoo, EmptyShardGivesNoRows) {
  for (const ModelDef* def : image_models()) {
    const auto model = make_or_die(def->name);
    EXPECT_EQ(model->forward(random_images({0, 1, 28, 28}, 1)).shape(), (Shape{0, 10}))
        << def->name;
  }
}

TEST(Zoo, SameOptionsGiveTheSameBits) {
  const auto bits = [](std::uint64_t seed) {
    const auto model = make_or_die("lenet", {.seed = seed});
    ParameterArena arena(model->layout());
    model->bind(arena);
    return arena.parameter_buffer().to_vector<float>();
  };
  EXPECT_EQ(bits(1), bits(1));
  EXPECT_NE(bits(1), bits(2));
}

TEST(Zoo, UnknownNamesAndImpossibleSizesAreRefused) {
  const auto unknown = make_model("resnet", {});
  EXPECT_EQ(unknown.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(unknown.status().message(), HasSubstr("lstm_lm, mlp, "));
  EXPECT_THAT(make_model("cnn", {.height = 5}).status().message(), HasSubstr("at least 6x6"));
  EXPECT_FALSE(make_model("lenet", {.width = 11}).ok());
  EXPECT_FALSE(make_model("mlp", {.hidden_units = 0}).ok());
  EXPECT_FALSE(make_model("mlp", {.classes = 0}).ok());
}

// Plain gradient descent on the arena, without the optimizer's folder.
double train(Module& model, const Tensor& x, const Array& labels, int steps, float rate) {
  ParameterArena arena(model.layout());
  model.bind(arena);
  double loss_value = 0;
  for (int step = 0; step < steps; ++step) {
    model.set_step_context({.seed = 1, .step = static_cast<std::uint64_t>(step), .first_row = 0});
    arena.zero_gradients();
    const Tensor loss = cross_entropy(model.forward(x), labels);
    loss_value = loss.item();
    backward(loss);
    for (std::size_t i = 0; i < arena.parameters().size(); ++i) {
      arena.parameters()[i] -= rate * arena.gradients()[i];
    }
  }
  return loss_value;
}

TEST(Training, ASmallNetworkLearnsExclusiveOr) {
  Sequential model;
  model.add<Linear>("fc1", 2, 16);
  model.add<Tanh>("tanh");
  model.add<Linear>("fc2", 16, 2);
  model.initialize(3);
  const Tensor x(Array::from(std::vector<float>{0, 0, 0, 1, 1, 0, 1, 1}, {4, 2}));
  const Array labels = Array::from(std::vector<std::int64_t>{0, 1, 1, 0}, {4});
  EXPECT_LT(train(model, x, labels, 500, 0.5F), 0.05);
}

TEST(Training, EveryModelOfTheZooLowersTheLossOnAFewImages) {
  const Tensor x = random_images({8, 1, 28, 28}, 5);
  const Array labels = Array::from(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}, {8});
  for (const ModelDef* def : image_models()) {
    const auto model = make_or_die(def->name);
    const bool large = model->layout().num_parameters() > 2'000'000;
    EXPECT_LT(large ? train(*model, x, labels, 6, 0.02F) : train(*model, x, labels, 40, 0.1F), 1.6)
        << def->name;
  }
}

}  // namespace
}  // namespace weft::zoo_test
