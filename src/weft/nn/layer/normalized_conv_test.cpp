// A convolution and the batch normalisation behind it, as one where weights are kept.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/array/launch_watch.h"
#include "weft/autograd/backward.h"
#include "weft/kernel/core/prepared_weights.h"
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/nn/zoo.h"
#include "weft/op/ops.h"

namespace weft::normalized_conv_test {
namespace {

using testing::Contains;
using testing::Not;
using testing::StartsWith;

Array random_values(const Shape& shape, std::uint64_t seed) {
  Array values = Array::empty(shape);
  Rng rng(seed);
  fill_normal(values, rng, 1.0);
  return values;
}

// Names of the kernels that run.
class Kernels : public LaunchWatcher {
 public:
  void begin(const char* name, LaunchArrays, LaunchArrays, const LaunchOp*) override {
    names.emplace_back(name);
  }
  void end() override {}
  void add_flops(double) override {}
  void set_bytes(double) override {}

  std::vector<std::string> names;
};

// Statistics and factors as a trained model has them.
void draw_all(Module& model) {
  std::uint64_t seed = 100;
  for (const NamedValue& value : model.values()) {
    Array values = value.value;
    const Array drawn = random_values(values.shape(), ++seed);
    values.copy_from(drawn);
    const bool variance = value.name.ends_with("running_var");
    for (float& each : values.flat<float>()) {
      each = variance ? 0.5F + std::abs(each) : 0.3F * each;
    }
    values.storage()->bump_version();
  }
}

std::unique_ptr<Sequential> small_model(bool bias, bool relu) {
  auto model = std::make_unique<Sequential>();
  model->then<Conv2d>(
      Conv2dShape{.inputs = 3, .outputs = 16, .stride = 2, .padding = {1, 1}, .bias = bias});
  model->then<BatchNorm2d>(BatchNormShape{.channels = 16, .eps = 1e-3});
  if (relu) model->then<ReLU>();
  draw_all(*model);
  model->train(false);
  return model;
}

std::vector<Array> arrays_of(const Module& model) {
  std::vector<Array> arrays;
  for (const NamedValue& value : model.values()) arrays.push_back(value.value);
  return arrays;
}

struct Pass {
  std::vector<float> values;
  std::vector<std::string> kernels;
};

Pass run(Module& model, const Array& x, PreparedWeights* prepared) {
  const NoGrad no_grad;
  const PreparedWeights::Use use(prepared);
  Kernels kernels;
  const WatchScope watch(&kernels);
  Pass pass;
  pass.values = model.forward(Tensor(x)).array().strided().to_vector<float>();
  pass.kernels = kernels.names;
  return pass;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  float largest = 0;
  for (const float value : want) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 3e-6F * largest) << i;
}

TEST(NormalizedConv, GivesTheValuesOfTheTwoLayersInOneKernel) {
  for (const bool bias : {false, true}) {
    for (const bool relu : {false, true}) {
      const auto model = small_model(bias, relu);
      PreparedWeights prepared(arrays_of(*model));
      const Array x = random_values({2, 3, 9, 11}, 1);
      const Pass apart = run(*model, x, nullptr);
      EXPECT_THAT(apart.kernels, Contains(StartsWith("batch_norm")));
      for (int i = 0; i < 2; ++i) {
        const Pass folded = run(*model, x, &prepared);
        EXPECT_THAT(folded.kernels, Not(Contains(StartsWith("batch_norm"))));
        expect_near(folded.values, apart.values);
      }
    }
  }
}

TEST(NormalizedConv, SeesNewValuesOfEachArray) {
  const auto model = small_model(true, true);
  PreparedWeights prepared(arrays_of(*model));
  const Array x = random_values({2, 3, 9, 11}, 1);
  run(*model, x, &prepared);
  for (const NamedValue& value : model->values()) {
    SCOPED_TRACE(value.name);
    Array values = value.value;
    Array changed = values.clone();
    for (float& each : changed.flat<float>()) each = 2.0F * each + 0.25F;
    values.copy_from(changed);
    expect_near(run(*model, x, &prepared).values, run(*model, x, nullptr).values);
    if (HasFatalFailure()) return;
  }
}

TEST(NormalizedConv, StaysApartInTrainingAndWhereGradientsAreRecorded) {
  const auto model = small_model(false, true);
  PreparedWeights prepared(arrays_of(*model));
  const PreparedWeights::Use use(&prepared);
  const Tensor x(random_values({2, 3, 9, 11}, 1));
  Kernels recorded;
  {
    const WatchScope watch(&recorded);
    backward(sum(model->forward(x)));
  }
  EXPECT_THAT(recorded.names, Contains(StartsWith("batch_norm")));
  for (const Tensor& parameter : model->parameters()) EXPECT_TRUE(parameter.grad().defined());

  model->train(true);
  const Pass trained = run(*model, x.array(), &prepared);
  EXPECT_THAT(trained.kernels, Contains(StartsWith("batch_norm")));
}

TEST(NormalizedConv, WholeModelsComputeWhatTheyDoApart) {
  for (const char* const name : {"resnet9", "resnet18"}) {
    SCOPED_TRACE(name);
    const auto model = make_model(name, {.channels = 3, .height = 32, .width = 32}).value();
    model->initialize(1);
    model->train(false);
    PreparedWeights prepared(arrays_of(*model));
    const Array x = random_values({2, 3, 32, 32}, 1);
    const Pass folded = run(*model, x, &prepared);
    EXPECT_THAT(folded.kernels, Not(Contains(StartsWith("batch_norm"))));
    expect_near(folded.values, run(*model, x, nullptr).values);
  }
}

}  // namespace
}  // namespace weft::normalized_conv_test
