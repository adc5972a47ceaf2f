// Layers and containers: what they hold, and that they do what their ops do.
#include "weft/nn/layers.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/nn/containers.h"
#include "weft/nn/summary.h"
#include "weft/op/ops.h"

namespace weft::layers_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor random_input(const Shape& shape, std::uint64_t seed = 1) {
  Array values = Array::empty(shape);
  Rng rng(seed);
  fill_normal(values, rng, 1.0);
  return Tensor(values);
}

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const NamedValue& value : module.values()) {
    names.push_back(value.name + " " + to_string(value.value.shape()));
  }
  return names;
}

TEST(Layers, ParametersHaveTheNamesAndShapesOfPyTorch) {
  EXPECT_THAT(names_of(Conv1d({.inputs = 4, .outputs = 6, .kernel = 5, .groups = 2})),
              ElementsAre("weight [6, 2, 5]", "bias [6]"));
  EXPECT_THAT(names_of(ConvTranspose2d({.inputs = 4, .outputs = 6, .kernel = {3, 2}, .groups = 2})),
              ElementsAre("weight [4, 3, 3, 2]", "bias [6]"));
  EXPECT_THAT(names_of(ConvTranspose1d({.inputs = 4, .outputs = 2, .bias = false})),
              ElementsAre("weight [4, 2, 3]"));
  EXPECT_THAT(names_of(GroupNorm(2, 6)), ElementsAre("weight [6]", "bias [6]"));
  EXPECT_THAT(names_of(InstanceNorm(6)), ElementsAre());
  EXPECT_THAT(names_of(RMSNorm({5})), ElementsAre("weight [5]"));
  EXPECT_THAT(names_of(LayerNorm({2, 5}, NormOptions{1e-5, false})), ElementsAre());
  EXPECT_THAT(names_of(PReLU(3)), ElementsAre("weight [3]"));
}

TEST(Layers, GiveTheShapesOfTheirFormulas) {
  const auto shape_of = [](Module&& layer, const Shape& in) {
    layer.initialize(1);
    return layer.forward(random_input(in)).shape();
  };
  EXPECT_EQ(shape_of(Conv1d({.inputs = 2, .outputs = 3, .kernel = 4, .stride = 3, .padding = 1}),
                     {2, 2, 10}),
            (Shape{2, 3, 3}));
  EXPECT_EQ(shape_of(ConvTranspose2d({.inputs = 2,
                                      .outputs = 3,
                                      .stride = {2, 2},
                                      .padding = {1, 1},
                                      .output_padding = {1, 1}}),
                     {1, 2, 5, 4}),
            (Shape{1, 3, 10, 8}));
  EXPECT_EQ(
      shape_of(ConvTranspose1d({.inputs = 2, .outputs = 1, .kernel = 2, .stride = 2}), {1, 2, 5}),
      (Shape{1, 1, 10}));
  EXPECT_EQ(shape_of(MaxPool1d({.kernel = 3, .stride = 2, .ceil_mode = true}), {1, 2, 8}),
            (Shape{1, 2, 4}));
  EXPECT_EQ(shape_of(AvgPool1d({.kernel = 2}), {1, 2, 9}), (Shape{1, 2, 4}));
  EXPECT_EQ(shape_of(AdaptiveAvgPool2d({3, 2}), {1, 2, 7, 9}), (Shape{1, 2, 3, 2}));
  EXPECT_EQ(shape_of(AdaptiveMaxPool2d({3, 2}), {1, 2, 7, 9}), (Shape{1, 2, 3, 2}));
  EXPECT_EQ(shape_of(AdaptiveAvgPool1d(3), {1, 2, 7}), (Shape{1, 2, 3}));
  EXPECT_EQ(shape_of(AdaptiveMaxPool1d(3), {1, 2, 7}), (Shape{1, 2, 3}));
  EXPECT_EQ(shape_of(GlobalAvgPool2d(), {2, 3, 4, 5}), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(shape_of(GlobalMaxPool2d(), {2, 3, 4, 5}), (Shape{2, 3, 1, 1}));
  EXPECT_EQ(shape_of(GroupNorm(2, 4), {2, 4, 3, 3}), (Shape{2, 4, 3, 3}));
  EXPECT_EQ(shape_of(InstanceNorm(4), {2, 4, 3}), (Shape{2, 4, 3}));
}

TEST(Layers, WrongSizesAreRefused) {
  EXPECT_THROW(Conv1d({.inputs = 3, .outputs = 4, .groups = 2}), std::invalid_argument);
  EXPECT_THROW(Conv2d({.inputs = 0, .outputs = 4}), std::invalid_argument);
  EXPECT_THROW(ConvTranspose2d({.inputs = 1, .outputs = 1, .kernel = {0, 1}}),
               std::invalid_argument);
  EXPECT_THROW(GroupNorm(3, 4), std::invalid_argument);
  EXPECT_THROW(LayerNorm(Shape{}), std::invalid_argument);
  // Without a weight, too, which would give the size away.
  LayerNorm layer_norm({2, 5}, NormOptions{1e-5, false});
  EXPECT_EQ(layer_norm.forward(random_input({3, 2, 5})).shape(), (Shape{3, 2, 5}));
  for (const Shape& wrong : {Shape{5, 2}, Shape{5}, Shape{2, 5, 1}}) {
    EXPECT_THAT([&] { layer_norm.forward(random_input(wrong)); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("ends in [2, 5], got")));
  }
  EXPECT_THROW(PReLU(0), std::invalid_argument);
  EXPECT_THROW(PReLU(3).forward(random_input({2, 4})), std::invalid_argument);
}

// f of x, as the layer must give it.
void expect_values(Module& layer, double (*f)(double)) {
  const Tensor x = random_input({3, 50});
  const std::vector<float> in = x.array().to_vector<float>();
  const std::vector<float> out = layer.forward(x).array().to_vector<float>();
  ASSERT_EQ(in.size(), out.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    EXPECT_NEAR(double{out[i]}, f(double{in[i]}), 2e-6) << in[i];
  }
}

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Activations, EqualTheirFormulas) {
  LeakyReLU leaky(0.1);
  expect_values(leaky, [](double x) { return x > 0 ? x : 0.1 * x; });
  PReLU prelu;
  prelu.initialize(1);
  expect_values(prelu, [](double x) { return x > 0 ? x : 0.25 * x; });
  ELU exponential(0.5);
  expect_values(exponential, [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); });
  SELU selu;
  expect_values(selu, [](double x) {
    return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
  });
  GELU gelu_layer;
  expect_values(gelu_layer, [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); });
  SiLU silu_layer;
  expect_values(silu_layer, [](double x) { return x * sigmoid_of(x); });
  Mish mish_layer;
  expect_values(mish_layer, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
  Softplus soft;
  expect_values(soft, [](double x) { return std::log1p(std::exp(x)); });
  Softsign sign;
  expect_values(sign, [](double x) { return x / (1 + std::abs(x)); });
  LogSigmoid log_sigmoid_layer;
  expect_values(log_sigmoid_layer, [](double x) { return std::log(sigmoid_of(x)); });
  Hardtanh hard(-0.5, 0.75);
  expect_values(hard, [](double x) { return std::min(std::max(x, -0.5), 0.75); });
  ReLU6 six;
  expect_values(six, [](double x) { return std::min(std::max(x, 0.0), 6.0); });
  Hardsigmoid hard_sigmoid;
  expect_values(hard_sigmoid, [](double x) { return std::min(std::max(x / 6 + 0.5, 0.0), 1.0); });
  Hardswish hard_swish;
  expect_values(hard_swish, [](double x) { return x * std::min(std::max(x / 6 + 0.5, 0.0), 1.0); });
  Identity identity;
  expect_values(identity, [](double x) { return x; });
  Lambda twice([](const Tensor& x) { return x * 2.0; });
  expect_values(twice, [](double x) { return 2 * x; });
}

TEST(Activations, SoftmaxSumsToOneAndPReLULearnsItsSlope) {
  Softmax layer;
  const Array sums = sum(layer.forward(random_input({4, 7})), {-1}).array();
  for (const float value : sums.to_vector<float>()) EXPECT_NEAR(value, 1.0, 1e-6);
  PReLU prelu(2);
  const Tensor x(Array::from(std::vector<float>{-1, 2, 3, -4}, {2, 2}));
  backward(sum(prelu.forward(x)));
  EXPECT_THAT(prelu.parameters()[0].grad().to_vector<float>(), ElementsAre(-1, -4));
}

TEST(Containers, AListAndADictionaryNameTheirParts) {
  ModuleList list;
  list.add<Linear>(2, 3, false);
  list.add<Linear>(3, 4, false);
  EXPECT_THAT(names_of(list), ElementsAre("0.weight [3, 2]", "1.weight [4, 3]"));
  EXPECT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1].forward(random_input({5, 3})).shape(), (Shape{5, 4}));
  EXPECT_THROW(list[2], std::out_of_range);
  EXPECT_THROW(list.forward(random_input({5, 2})), std::invalid_argument);

  ModuleDict parts;
  parts.add<Linear>("left", 2, 2);
  parts.add<Identity>("right");
  EXPECT_TRUE(parts.contains("left"));
  EXPECT_FALSE(parts.contains("up"));
  EXPECT_THAT(parts.names(), ElementsAre("left", "right"));
  EXPECT_THROW(parts.add<Identity>("left"), std::invalid_argument);
  EXPECT_THROW(parts.at("up"), std::out_of_range);
  EXPECT_EQ(parts.at("left").forward(random_input({1, 2})).shape(), (Shape{1, 2}));
}

TEST(Containers, ASequenceFusesBatchNormAndReluWithoutADifference) {
  Sequential model;
  model.then<Conv2d>(Conv2dShape{.inputs = 3, .outputs = 16, .padding = {1, 1}, .bias = false});
  model.then<BatchNorm2d>(16);
  model.then<ReLU>();
  model.then<MaxPool2d>(2);
  const auto gradients = [&](bool fusion) {
    model.set_fusion(fusion);
    model.initialize(3);
    for (Tensor& parameter : model.parameters()) parameter.zero_grad();
    const Tensor y = model.forward(random_input({4, 3, 8, 8}));
    backward(sum(y * y));
    std::vector<float> all = y.array().strided().to_vector<float>();
    for (const Tensor& parameter : model.parameters()) {
      for (const float value : parameter.grad().to_vector<float>()) all.push_back(value);
    }
    return all;
  };
  const std::vector<float> fused = gradients(true);
  const std::vector<float> apart = gradients(false);
  ASSERT_EQ(fused.size(), apart.size());
  for (std::size_t i = 0; i < fused.size(); ++i) {
    EXPECT_NEAR(fused[i], apart[i], 1e-3 * std::max(1.0F, std::abs(apart[i]))) << i;
  }
}

std::unique_ptr<Sequential> two_layers() {
  auto model = std::make_unique<Sequential>();
  model->add<Linear>("body", 3, 4);
  model->add<BatchNorm1d>("norm", 4);
  model->add<Linear>("head", 4, 2);
  model->initialize(1);
  return model;
}

TEST(Freezing, FrozenParametersTakeNoGradientAndStayInTheArena) {
  const auto model = two_layers();
  ParameterArena arena(model->layout());
  model->bind(arena);
  model->set_requires_grad(false, "body.");
  EXPECT_EQ(count_parameters(*model).frozen, 16);
  backward(sum(model->forward(random_input({6, 3}))));
  for (const NamedParameter& parameter : model->named_parameters()) {
    const bool frozen = parameter.name.rfind("body.", 0) == 0;
    EXPECT_EQ(parameter.value.requires_grad(), !frozen) << parameter.name;
  }
  for (const float value : arena.gradient(0).to_vector<float>()) EXPECT_EQ(value, 0.0F);
  const std::vector<float> head =
      arena.gradient(arena.layout().find("head.bias")).to_vector<float>();
  EXPECT_NEAR(head[0], 6.0, 1e-5);
  model->set_requires_grad(true);
  backward(sum(model->forward(random_input({6, 3})) * 2.0));
  double largest = 0;
  for (const float value : arena.gradient(0).to_vector<float>()) {
    largest = std::max(largest, std::abs(double{value}));
  }
  EXPECT_GT(largest, 0.0);
  EXPECT_EQ(count_parameters(*model).frozen, 0);
}

TEST(LoadValues, CopiesByNameAndRefusesWhatDoesNotFit) {
  const auto from = two_layers();
  const auto to = two_layers();
  to->initialize(9);
  std::vector<NamedValue> values = from->values();
  std::swap(values[0], values[5]);
  to->load_values(values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(to->values()[i].value.to_vector<float>(), from->values()[i].value.to_vector<float>());
  }
  values.pop_back();
  EXPECT_THROW(to->load_values(values), std::invalid_argument);
  values.push_back({"other", ParameterKind::kWeight, Array::zeros({1})});
  EXPECT_THROW(to->load_values(values), std::invalid_argument);
  std::vector<NamedValue> twice = from->values();
  twice.push_back(twice[0]);
  EXPECT_THROW(to->load_values(twice), std::invalid_argument);
  std::vector<NamedValue> reshaped = from->values();
  reshaped[0].value = Array::zeros({12});
  EXPECT_THROW(to->load_values(reshaped), std::invalid_argument);
}

TEST(Modules, VisitAndApplyReachEveryPartInTheirOrders) {
  const auto model = two_layers();
  std::vector<std::string> names;
  model->visit_modules([&](const std::string& name, Module&) { names.push_back(name); });
  EXPECT_THAT(names, ElementsAre("", "body", "norm", "head"));
  int count = 0;
  Module* last = nullptr;
  model->apply([&](Module& module) {
    ++count;
    last = &module;
  });
  EXPECT_EQ(count, 4);
  EXPECT_EQ(last, model.get());
  model->set_initializer("bias", constant_initializer(0.5));
  model->set_initializer("head.weight", eye_initializer());
  model->initialize(1);
  EXPECT_THAT(model->values()[1].value.to_vector<float>(), ElementsAre(0.5, 0.5, 0.5, 0.5));
  EXPECT_THAT(model->values()[6].value.to_vector<float>(), ElementsAre(1, 0, 0, 0, 0, 1, 0, 0));
}

TEST(Summary, ListsEveryValueAndTheTotals) {
  const auto model = two_layers();
  model->set_requires_grad(false, "head");
  const std::string text = summary(*model);
  EXPECT_THAT(text, HasSubstr("body.weight"));
  EXPECT_THAT(text, HasSubstr("[4, 3]"));
  EXPECT_THAT(text, HasSubstr("head.bias"));
  EXPECT_THAT(text, HasSubstr("frozen"));
  EXPECT_THAT(text, HasSubstr("24 trained, 10 frozen, 8 in buffers"));
}

}  // namespace
}  // namespace weft::layers_test
