#include "weft/nn/module.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/recurrent.h"
#include "weft/nn/zoo.h"
#include "weft/op/ops.h"

namespace weft::module_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const NamedValue& value : module.values()) names.push_back(value.name);
  return names;
}

Tensor random_input(const Shape& shape, std::uint64_t seed = 1) {
  Array values = Array::empty(shape);
  Rng rng(seed);
  fill_normal(values, rng, 1.0);
  return Tensor(values);
}

std::unique_ptr<Sequential> small_net() {
  auto model = std::make_unique<Sequential>();
  model->add<Linear>("fc1", 3, 4);
  model->add<BatchNorm1d>("norm", 4);
  model->add<ReLU>("relu");
  model->add<Linear>("fc2", 4, 2, false);
  return model;
}

TEST(Module, NamesShapesAndKindsFollowTheOrderOfRegistration) {
  const auto model = small_net();
  EXPECT_THAT(names_of(*model), ElementsAre("fc1.weight", "fc1.bias", "norm.weight", "norm.bias",
                                            "norm.running_mean", "norm.running_var", "fc2.weight"));
  const Layout layout = model->layout();
  EXPECT_EQ(layout[0].shape, (Shape{4, 3}));
  EXPECT_EQ(layout[0].kind, ParameterKind::kWeight);
  EXPECT_EQ(layout[1].kind, ParameterKind::kBias);
  EXPECT_EQ(layout[2].kind, ParameterKind::kNorm);
  EXPECT_EQ(layout[4].kind, ParameterKind::kBuffer);
  EXPECT_EQ(layout[6].shape, (Shape{2, 4}));
  EXPECT_EQ(model->parameters().size(), 5U);
}

TEST(Module, IsCalledLikeAFunction) {
  const auto model = small_net();
  model->initialize(1);
  model->train(false);
  const Tensor x = random_input({2, 3});
  EXPECT_EQ((*model)(x).array().to_vector<float>(), model->forward(x).array().to_vector<float>());
  RNNCell cell({.inputs = 3, .width = 2});
  EXPECT_EQ(cell(x).shape(), cell(x, Tensor()).shape());
}

TEST(Module, InitialValuesDependOnTheSeedAndTheIndexAlone) {
  const auto bits = [](std::uint64_t seed) {
    const auto model = small_net();
    model->initialize(seed);
    std::vector<std::vector<float>> all;
    for (const NamedValue& value : model->values()) all.push_back(value.value.to_vector<float>());
    return all;
  };
  EXPECT_EQ(bits(7), bits(7));
  EXPECT_NE(bits(7)[0], bits(8)[0]);
  // Parameter 0 is the same whatever follows it in the model.
  Linear alone(3, 4);
  alone.initialize(7);
  EXPECT_EQ(alone.values()[0].value.to_vector<float>(), bits(7)[0]);
  EXPECT_THAT(bits(7)[2], ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(bits(7)[3], ElementsAre(0, 0, 0, 0));
}

TEST(Module, BindMovesValuesAndGradientsIntoTheArena) {
  const auto model = small_net();
  model->initialize(3);
  const Tensor x = random_input({6, 3});
  std::vector<std::vector<float>> before;
  for (const NamedValue& value : model->values()) before.push_back(value.value.to_vector<float>());
  model->train(false);
  const std::vector<float> output = model->forward(x).array().to_vector<float>();

  ParameterArena arena(model->layout());
  model->bind(arena);
  for (int i = 0; i < arena.size(); ++i) {
    EXPECT_EQ(arena.parameter(i).to_vector<float>(), before[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(model->forward(x).array().to_vector<float>(), output);

  std::vector<int> seen;
  backward(sum(model->forward(x)), [&](ParameterId id, const Array& gradient) {
    seen.push_back(id.value());
    EXPECT_EQ(gradient.to_vector<float>(), arena.gradient(id).to_vector<float>());
  });
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 1, 2, 3, 6));
  EXPECT_THAT(arena.gradient(6).to_vector<float>(), testing::Contains(testing::Ne(0.0F)));

  // A write to the arena is a write to the model.
  arena.parameter(6).fill(0.0);
  EXPECT_THAT(model->forward(x).array().to_vector<float>(), testing::Each(0.0F));
  // Running statistics live there too.
  model->train(true);
  model->forward(x);
  EXPECT_NE(arena.parameter(4).to_vector<float>(), before[4]);
}

TEST(Module, BindRefusesAnotherLayout) {
  const auto model = small_net();
  Layout layout;
  layout.add("fc1.weight", {4, 3});
  ParameterArena arena(layout);
  EXPECT_THROW(model->bind(arena), std::invalid_argument);
}

TEST(Module, TrainReachesEveryPart) {
  Sequential model;
  model.add<Linear>("fc", 2, 2);
  auto inner = std::make_unique<Sequential>();
  inner->add<Dropout>("drop", 0.5);
  Module* const drop = inner.get();
  model.add("inner", std::move(inner));
  EXPECT_TRUE(drop->is_training());
  model.train(false);
  EXPECT_FALSE(drop->is_training());
  const Tensor x = random_input({3, 2});
  EXPECT_EQ(drop->forward(x).array().to_vector<float>(), x.array().to_vector<float>());
}

TEST(Sequential, RefusesNamesThatAreTakenEmptyOrDotted) {
  Sequential model;
  model.add<ReLU>("a");
  EXPECT_THROW(model.add<ReLU>("a"), std::invalid_argument);
  EXPECT_THROW(model.add<ReLU>(""), std::invalid_argument);
  EXPECT_THROW(model.add<ReLU>("b.c"), std::invalid_argument);
}

double largest_difference(const Array& a, const Array& b) {
  const std::vector<float> left = a.to_vector<float>();
  const std::vector<float> right = b.to_vector<float>();
  EXPECT_EQ(left.size(), right.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < left.size() && i < right.size(); ++i) {
    largest = std::max(largest, std::abs(double{left[i]} - double{right[i]}));
  }
  return largest;
}

TEST(Sequential, FusedReluEqualsTheOneByItselfForwardAndBackward) {
  const auto make = [](bool fusion) {
    auto model = std::make_unique<Sequential>();
    model->add<Conv2d>("conv", Conv2dShape{.inputs = 2, .outputs = 5});
    model->add<ReLU>("relu1");
    model->add<MaxPool2d>("pool", 2);
    model->add<Flatten>("flatten");
    model->add<Linear>("fc1", 5 * 3 * 3, 11);
    model->add<ReLU>("relu2");
    model->add<ReLU>("relu3");
    model->add<Linear>("fc2", 11, 4);
    model->set_fusion(fusion);
    model->initialize(5);
    return model;
  };
  const auto fused = make(true);
  const auto plain = make(false);
  const Tensor x = random_input({7, 2, 8, 8});
  const Tensor fused_output = fused->forward(x);
  const Tensor plain_output = plain->forward(x);
  EXPECT_LT(largest_difference(fused_output.array(), plain_output.array()), 1e-5);
  backward(sum(mul(fused_output, fused_output)));
  backward(sum(mul(plain_output, plain_output)));
  for (std::size_t i = 0; i < fused->parameters().size(); ++i) {
    const Array plain_gradient = plain->parameters()[i].grad();
    EXPECT_LT(largest_difference(fused->parameters()[i].grad(), plain_gradient), 1e-4) << i;
  }
}

TEST(Residual, AddsTheInputOrTheShortcut) {
  auto body = std::make_unique<Linear>(3, 3);
  body->initialize(1);
  Module& inner = *body;
  Residual plain(std::move(body));
  const Tensor x = random_input({2, 3});
  EXPECT_LT(largest_difference(plain.forward(x).array(), (inner.forward(x) + x).array()), 1e-6);

  Residual shortened(std::make_unique<Linear>(3, 2), std::make_unique<Linear>(3, 2, false));
  EXPECT_THAT(names_of(shortened), ElementsAre("body.weight", "body.bias", "shortcut.weight"));
  shortened.initialize(2);
  EXPECT_EQ(shortened.forward(x).shape(), (Shape{2, 2}));
}

TEST(Dropout, MaskOfASplitBatchIsThatOfTheWholeBatch) {
  Sequential model;
  model.add<Dropout>("drop1", 0.4);
  model.add<Dropout>("drop2", 0.3);
  const Tensor x(Array::full({10, 33}, 1.0));
  model.set_step_context({.seed = 4, .step = 9, .first_row = 0});
  const std::vector<float> whole = model.forward(x).array().to_vector<float>();
  std::vector<float> joined;
  for (const auto& [begin, end] : {std::pair{0, 3}, std::pair{3, 4}, std::pair{4, 10}}) {
    model.set_step_context({.seed = 4, .step = 9, .first_row = static_cast<std::uint64_t>(begin)});
    const std::vector<float> part =
        model.forward(slice(x, 0, begin, end)).array().to_vector<float>();
    joined.insert(joined.end(), part.begin(), part.end());
  }
  EXPECT_EQ(joined, whole);
  // Another step and another place in the model give other masks.
  model.set_step_context({.seed = 4, .step = 10, .first_row = 0});
  EXPECT_NE(model.forward(x).array().to_vector<float>(), whole);
  Dropout first(0.3);
  const std::vector<float> alone = first.forward(x).array().to_vector<float>();
  Sequential second;
  second.add<Dropout>("drop", 0.3);
  second.set_step_context({});
  EXPECT_NE(second.forward(x).array().to_vector<float>(), alone);
}

TEST(Layers, WrongSizesThrow) {
  EXPECT_THROW(Linear(0, 1), std::invalid_argument);
  EXPECT_THROW(Conv2d(Conv2dShape{.inputs = 3, .outputs = 4, .groups = 2}), std::invalid_argument);
  EXPECT_THROW(Dropout(1.0), std::invalid_argument);
  EXPECT_THROW(Dropout(-0.1), std::invalid_argument);
  EXPECT_THROW(BatchNorm2d(0), std::invalid_argument);
  EXPECT_THROW(LayerNorm({}), std::invalid_argument);
  EXPECT_THROW(BatchNorm2d(3).forward(random_input({2, 3})), std::invalid_argument);
  EXPECT_THROW(Linear(3, 2).forward(random_input({2, 4})), std::invalid_argument);
}

TEST(Layers, ShapesOfOutputs) {
  const Tensor x = random_input({2, 3, 9, 7});
  EXPECT_EQ(Conv2d(Conv2dShape{.inputs = 3,
                               .outputs = 6,
                               .kernel = {3, 2},
                               .stride = {2, 1},
                               .padding = {1, 0},
                               .groups = 3})
                .forward(x)
                .shape(),
            (Shape{2, 6, 5, 6}));
  EXPECT_EQ(MaxPool2d(3).forward(x).shape(), (Shape{2, 3, 3, 2}));
  EXPECT_EQ(AvgPool2d(2).forward(x).shape(), (Shape{2, 3, 4, 3}));
  EXPECT_EQ(Flatten().forward(x).shape(), (Shape{2, 189}));
  EXPECT_EQ(BatchNorm2d(3).forward(x).shape(), x.shape());
  EXPECT_EQ(LayerNorm({9, 7}).forward(x).shape(), x.shape());
  EXPECT_NEAR(Tanh().forward(Tensor(Array::full({1}, 0.5))).item(), std::tanh(0.5), 1e-6);
  EXPECT_NEAR(Sigmoid().forward(Tensor(Array::full({1}, 0.5))).item(), 1 / (1 + std::exp(-0.5)),
              1e-6);
}

TEST(Layers, LayerNormGivesMeanZeroAndVarianceOne) {
  LayerNorm norm({50});
  const std::vector<float> row = norm.forward(random_input({1, 50})).array().to_vector<float>();
  double sum_of_values = 0;
  double sum_of_squares = 0;
  for (const float value : row) {
    sum_of_values += value;
    sum_of_squares += double{value} * value;
  }
  EXPECT_NEAR(sum_of_values, 0.0, 1e-4);
  EXPECT_NEAR(sum_of_squares / 50, 1.0, 1e-3);
}

TEST(Module, NamesThatFitNothingAreRefused) {
  Sequential model;
  model.add<Linear>("head", 2, 3);
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const std::invalid_argument& mistake) {
      return mistake.what();
    }
    return "";
  };
  EXPECT_EQ(
      message([&] { model.set_initializer("wieght", zeros_initializer()); }),
      "[set_initializer] expected the name of a value, got \"wieght\"; \"head.weight\" is one");
  EXPECT_THAT(message([&] { model.set_requires_grad(false, "haed."); }), HasSubstr("\"haed.\""));
  EXPECT_EQ(message([&] { Flatten().set_requires_grad(false); }), "");
  std::vector<NamedValue> values = model.values();
  values.push_back({"head.scale", ParameterKind::kWeight, Array::zeros({3})});
  EXPECT_EQ(message([&] { model.load_values(values); }),
            "[load_values] expected the 2 values of this model, got 3, \"head.scale\" too");
  values.pop_back();
  values[0].value = Array::zeros({3, 2}, DType::kI64);
  EXPECT_EQ(message([&] { model.load_values(values); }),
            "[load_values] expected \"head.weight\" of shape [3, 2] and a floating type, got "
            "[3, 2] i64");
}

}  // namespace
}  // namespace weft::module_test
