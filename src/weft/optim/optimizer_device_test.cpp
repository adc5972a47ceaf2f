// Every optimizer on a second device: parameters and state have the bits of the CPU. The device's
// memory faults when the host touches it (array/test_device.h).
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/array/test_device.h"
#include "weft/base/rng.h"
#include "weft/optim/optimizer.h"

namespace weft::optimizer_device_test {
namespace {

Layout small_model() {
  Layout layout;
  layout.add("embed.weight", {6, 4});
  layout.add("hidden.weight", {5, 3});
  layout.add("hidden.bias", {5}, ParameterKind::kBias);
  layout.add("scale", {}, ParameterKind::kNorm);
  layout.add("running", {5}, ParameterKind::kBuffer);
  layout.add("head.weight", {2, 5});
  return layout;
}

Array random_values(std::int64_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(rng.normal());
  return Array::from(values, {count});
}

// A model's arena and optimizer, the same on every device.
struct Trained {
  Trained(const OptimizerOptions& options, Device device)
      : arena(small_model(), device), optimizer(*make_optimizer(options, arena)) {
    for (int i = 0; i < arena.size(); ++i) {
      Array parameter = arena.parameter(i);
      const Array values = random_values(parameter.size(), 11 + static_cast<std::uint64_t>(i));
      parameter.copy_from(values.reshape(parameter.shape()).to(device));
    }
  }
  void step(std::uint64_t seed) {
    for (int i = 0; i < arena.size(); ++i) {
      Array gradient = arena.gradient(i);
      // One parameter gets a gradient in every second step only.
      const bool rests = i == 2 && seed % 2 == 1;
      const Array values =
          rests ? Array::zeros({gradient.size()}) : random_values(gradient.size(), seed * 100 + 7);
      gradient.copy_from(values.reshape(gradient.shape()).to(arena.device()));
    }
    optimizer->step();
  }

  ParameterArena arena;
  std::unique_ptr<Optimizer> optimizer;
};

void expect_equal_bits(const Array& there, const Array& here, Device device) {
  ASSERT_EQ(there.device(), device);
  ASSERT_EQ(there.size(), here.size());
  const Array got = there.to(Device::cpu());
  EXPECT_EQ(std::memcmp(got.raw_data(), here.raw_data(), here.size_bytes()), 0);
}

void expect_same_models(const Trained& there, const Trained& here) {
  const Device device = there.arena.device();
  expect_equal_bits(there.arena.parameter_buffer(), here.arena.parameter_buffer(), device);
  ASSERT_EQ(there.arena.state_names(), here.arena.state_names());
  for (const std::string& name : here.arena.state_names()) {
    SCOPED_TRACE(name);
    expect_equal_bits(there.arena.state(name), here.arena.state(name), device);
  }
}

void expect_the_bits_of_the_cpu(const OptimizerOptions& options) {
  const TestDevice test;
  SCOPED_TRACE(options.name);
  Trained here(options, Device::cpu());
  Trained there(options, test.device());
  const Array start = here.arena.parameter_buffer().clone();
  for (std::uint64_t step = 1; step <= 3; ++step) {
    here.step(step);
    there.step(step);
  }
  expect_same_models(there, here);
  EXPECT_NE(
      std::memcmp(start.raw_data(), here.arena.parameter_buffer().raw_data(), start.size_bytes()),
      0);
}

TEST(OptimizerDevice, EveryOneHasTheBitsOfTheCpu) {
  for (const std::string& name : optimizer_names()) {
    expect_the_bits_of_the_cpu({.name = name, .learning_rate = 0.1, .weight_decay = 0.01});
  }
  expect_the_bits_of_the_cpu({.name = "sgd", .momentum = 0.9, .nesterov = true});
  expect_the_bits_of_the_cpu({.name = "adamw", .amsgrad = true});
  expect_the_bits_of_the_cpu({.name = "rmsprop", .momentum = 0.5, .centered = true});
  expect_the_bits_of_the_cpu({.name = "muon", .momentum = 0.9, .nesterov = true});
}

TEST(OptimizerDevice, TakesGradientsOfTheHostAndRows) {
  const TestDevice test;
  for (const char* const name : {"sgd", "adamw"}) {
    SCOPED_TRACE(name);
    Trained here({.name = name, .learning_rate = 0.5}, Device::cpu());
    Trained there({.name = name, .learning_rate = 0.5}, test.device());
    const Array gradients = random_values(here.arena.layout().num_elements(), 3);
    const std::vector<std::int64_t> rows = {0, 1, 4};
    const std::vector<float> values = random_values(12, 5).to_vector<float>();
    for (Trained* const model : {&here, &there}) {
      model->optimizer->step(gradients.flat<float>());
      model->arena.use(0)->watched = true;
      ASSERT_TRUE(model->optimizer->add_rows(0, rows, values).ok());
      model->optimizer->step();
    }
    expect_same_models(there, here);
  }
}

TEST(OptimizerDevice, HostSpansOfItsArenaAreRefused) {
  const TestDevice test;
  ParameterArena arena(small_model(), test.device());
  EXPECT_EQ(arena.device(), test.device());
  EXPECT_THROW(arena.parameters(), std::invalid_argument);
  EXPECT_THROW(arena.gradients(), std::invalid_argument);
  EXPECT_FALSE(has_value_other_than_0(arena.gradient_buffer()));
  arena.gradient(1).fill(2);
  EXPECT_TRUE(has_value_other_than_0(arena.gradient_buffer()));
}

}  // namespace
}  // namespace weft::optimizer_device_test
