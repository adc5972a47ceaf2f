// Whole steps on a second device: models of the zoo, bound to an arena there, are trained to the
// bits that they have on the CPU. The device's memory faults when the host touches it
// (array/test_device.h).
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/array/test_device.h"
#include "weft/autograd/backward.h"
#include "weft/base/rng.h"
#include "weft/nn/zoo.h"
#include "weft/op/loss.h"
#include "weft/op/shape.h"
#include "weft/optim/optimizer.h"
#include "weft/train/step/step.h"

namespace weft::device_step_test {
namespace {

constexpr std::int64_t kBatch = 2;

struct Example {
  Array inputs;
  Array labels;
};

Array numbers_below(const Shape& shape, std::int64_t bound, Rng& rng) {
  Array values = Array::empty(shape, DType::kI64);
  for (std::int64_t& value : values.flat<std::int64_t>()) {
    value = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(bound)));
  }
  return values;
}

Example example_of(ModelInput kind, const ModelOptions& options, std::uint64_t seed) {
  Rng rng(seed);
  if (kind == ModelInput::kTokens) {
    const Shape tokens = {kBatch, options.context};
    return {numbers_below(tokens, options.vocabulary, rng),
            numbers_below({kBatch * options.context}, options.vocabulary, rng)};
  }
  Array images = Array::empty({kBatch, options.channels, options.height, options.width});
  for (float& pixel : images.flat<float>()) pixel = static_cast<float>(rng.normal());
  return {images, numbers_below({kBatch}, options.classes, rng)};
}

struct Outcome {
  std::vector<double> losses;
  double hits = 0;
  Array parameters;
  Array momentum;
};

Outcome trained_on(Device device, const ModelDef& def, const ModelOptions& options) {
  const std::unique_ptr<Module> model = *make_model(def.name, options);
  ParameterArena arena(model->layout(), device);
  model->bind(arena);
  model->initialize(7);
  const auto optimizer =
      *make_optimizer({.name = "sgd", .learning_rate = 0.05, .momentum = 0.9}, arena);
  Outcome outcome;
  for (std::uint64_t step = 0; step < 2; ++step) {
    const Example example = example_of(def.input, options, step);
    model->set_step_context({.seed = 5, .step = step, .first_row = 0});
    Tensor logits = model->forward(Tensor(example.inputs.to(device)));
    if (logits.ndim() != 2) logits = reshape(logits, {-1, logits.dim(-1)});
    const Array labels = example.labels.to(device);
    const Tensor loss = cross_entropy(logits, labels);
    outcome.hits += count_correct(logits.array(), labels);
    arena.zero_gradients();
    backward(loss);
    optimizer->step();
    outcome.losses.push_back(loss.item());
  }
  EXPECT_EQ(arena.parameter_buffer().device(), device);
  outcome.parameters = arena.parameter_buffer().to(Device::cpu());
  outcome.momentum = arena.state("momentum").to(Device::cpu());
  return outcome;
}

bool same_bits(const Array& a, const Array& b) {
  return a.size_bytes() == b.size_bytes() &&
         std::memcmp(a.raw_data(), b.raw_data(), a.size_bytes()) == 0;
}

class DeviceStep : public testing::TestWithParam<const ModelDef*> {};

TEST_P(DeviceStep, TrainsToTheBitsOfTheCpu) {
  ModelOptions options = {.channels = 3,
                          .height = 32,
                          .width = 32,
                          .context = 12,
                          .layers = 2,
                          .embedding_width = 16,
                          .heads = 2};
  options.dropout = true;
  const TestDevice test;
  const Outcome here = trained_on(Device::cpu(), *GetParam(), options);
  const Outcome there = trained_on(test.device(), *GetParam(), options);
  EXPECT_EQ(there.losses, here.losses);
  EXPECT_EQ(there.hits, here.hits);
  EXPECT_TRUE(same_bits(there.parameters, here.parameters));
  EXPECT_TRUE(same_bits(there.momentum, here.momentum));
}

std::vector<const ModelDef*> small_models() {
  std::vector<const ModelDef*> models;
  for (const ModelDef* def : model_table()) {
    // The largest has no operation that resnet9 lacks.
    if (std::string(def->name) != "resnet18") models.push_back(def);
  }
  return models;
}

INSTANTIATE_TEST_SUITE_P(Zoo, DeviceStep, testing::ValuesIn(small_models()),
                         [](const auto& entry) { return std::string(entry.param->name); });

}  // namespace
}  // namespace weft::device_step_test
