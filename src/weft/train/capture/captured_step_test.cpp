// Whole training steps, captured and eager: equal bits of loss, gradients, buffers and parameters
// over several steps, for every model of the zoo.
#include "weft/train/capture/captured_step.h"

#include <cstring>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/array/arena/parameter_arena.h"
#include "weft/autograd/backward.h"
#include "weft/base/rng.h"
#include "weft/nn/linear.h"
#include "weft/nn/zoo.h"
#include "weft/op/ops.h"
#include "weft/optim/optimizer.h"
#include "weft/train/capture/test_model_data.h"

namespace weft::captured_step_test {
namespace {

using ::testing::HasSubstr;

ShardWorkFunction work_of(Module& model) {
  return [&model](const Array& inputs, const Array& labels, const GradientSink& sink) {
    const Tensor logits = model.forward(Tensor(inputs));
    CrossEntropyOptions loss_options;
    loss_options.reduction = Reduction::kSum;
    loss_options.scale = 0.125;
    const Tensor loss = cross_entropy(logits, labels, loss_options);
    BackwardOptions options;
    options.leaf_gradients = LeafGradients::kOverwrite;
    backward(loss, sink, options);
    return ShardOutput{loss.array(), logits.array()};
  };
}

// A model with its arena and optimizer.
struct Side {
  Side(const ModelDef& def, const ModelOptions& options, bool is_captured)
      : captured(is_captured),
        model(make_model(def.name, options).value()),
        arena(model->layout()),
        optimizer(make_optimizer({.name = "adamw", .learning_rate = 1e-3}, arena).value()) {
    model->bind(arena);
  }

  bool captured;
  std::unique_ptr<Module> model;
  ParameterArena arena;
  std::unique_ptr<Optimizer> optimizer;
  CapturedStep step;
  std::vector<int> order;  // of the gradients of the latest step

  ShardOutput run(std::uint64_t index, const Array& inputs, const Array& labels) {
    model->set_step_context({.seed = 3, .step = index, .first_row = 0});
    order.clear();
    const GradientSink sink = [&](ParameterId id, const Array&) { order.push_back(id.value()); };
    const ShardWorkFunction work = work_of(*model);
    ShardOutput output =
        captured ? step.run(inputs, labels, "", work, sink) : work(inputs, labels, sink);
    optimizer->step();
    return output;
  }
};

void expect_equal_bits(const Array& a, const Array& b, const std::string& what) {
  ASSERT_EQ(a.shape(), b.shape()) << what;
  const Array left = a.contiguous();
  const Array right = b.contiguous();
  EXPECT_EQ(std::memcmp(left.raw_data(), right.raw_data(), left.size_bytes()), 0) << what;
}

class CapturedZoo : public testing::TestWithParam<const ModelDef*> {};

TEST_P(CapturedZoo, StepsAreEagersBitForBit) {
  const ModelDef& def = *GetParam();
  const bool has_dropout = !std::string_view(def.name).starts_with("resnet");
  for (const bool dropout : {false, true}) {
    if (dropout && !has_dropout) continue;
    const ModelOptions options = small_model_options(dropout);
    Side eager(def, options, false);
    Side captured(def, options, true);
    Rng rng(5, 0);
    std::uint64_t index = 0;
    // Two sizes of the shard; the second is recorded when it comes again.
    for (const std::int64_t rows : {3, 3, 2, 3, 2, 2, 3}) {
      const Array inputs = random_model_inputs(def, options, rows, rng);
      const Array labels = random_model_labels(def, options, rows, rng);
      const ShardOutput want = eager.run(index, inputs, labels);
      const ShardOutput got = captured.run(index, inputs, labels);
      const std::string what = std::string(def.name) + " step " + std::to_string(index++);
      expect_equal_bits(got.loss, want.loss, what + " loss");
      expect_equal_bits(got.logits, want.logits, what + " logits");
      EXPECT_EQ(captured.order, eager.order) << what;
      const auto values = eager.model->values();
      for (std::size_t i = 0; i < values.size(); ++i) {
        expect_equal_bits(captured.model->values()[i].value, values[i].value,
                          what + " " + values[i].name);
      }
    }
    EXPECT_EQ(captured.step.why_eager(), "");
    EXPECT_EQ(captured.step.captures(), 2);
  }
}

// Nothing is learned, and each step sees the same batch: only the masks differ.
TEST(CapturedStep, DropoutDrawsFreshMasksInEachReplayAndThoseOfTheEagerStep) {
  for (const char* const name : {"mlp", "lstm_lm", "char_gpt", "lenet"}) {
    const ModelDef& def = *find_model(name);
    const ModelOptions options = small_model_options(true);
    Side eager(def, options, false);
    Side captured(def, options, true);
    eager.optimizer->set_learning_rate(0.0);
    captured.optimizer->set_learning_rate(0.0);
    Rng rng(5, 0);
    const Array inputs = random_model_inputs(def, options, 3, rng);
    const Array labels = random_model_labels(def, options, 3, rng);
    std::vector<std::vector<float>> logits;
    for (std::uint64_t step = 0; step < 5; ++step) {
      const ShardOutput want = eager.run(step, inputs, labels);
      const ShardOutput got = captured.run(step, inputs, labels);
      expect_equal_bits(got.logits, want.logits, name);
      expect_equal_bits(captured.arena.gradient_buffer(), eager.arena.gradient_buffer(), name);
      logits.push_back(got.logits.to_vector<float>());
      for (std::size_t i = 0; i + 1 < logits.size(); ++i)
        EXPECT_NE(logits[i], logits.back()) << name;
    }
    EXPECT_EQ(captured.step.captures(), 1) << name;
    // The generator's state is (seed, step): the first step again gives its numbers again.
    EXPECT_EQ(captured.run(0, inputs, labels).logits.to_vector<float>(), logits[0]) << name;
  }
}

TEST_P(CapturedZoo, APlanNeedsNoMoreThanTheRunDid) {
  const ModelDef& def = *GetParam();
  const ModelOptions options = small_model_options(false);
  Side side(def, options, true);
  Rng rng(5, 0);
  side.run(0, random_model_inputs(def, options, 8, rng), random_model_labels(def, options, 8, rng));
  const GraphReport& report = side.step.graph().report();
  RecordProperty("planned", std::to_string(report.planned_bytes));
  RecordProperty("recorded", std::to_string(report.recorded_bytes));
  EXPECT_LE(report.planned_bytes, report.recorded_bytes) << def.name;
  EXPECT_LT(report.planned_bytes, report.unshared_bytes) << def.name;
}

INSTANTIATE_TEST_SUITE_P(Models, CapturedZoo,
                         testing::ValuesIn(model_table().begin(), model_table().end()),
                         [](const auto& entry) { return std::string(entry.param->name); });

// Reads a value on the host, which no graph can.
class Peeking : public Module {
 public:
  Peeking() {
    register_parameter("weight", weight_, {3, 2}, ParameterKind::kWeight,
                       [](Array& values, Rng& rng) {
                         for (float& value : values.flat<float>()) {
                           value = static_cast<float>(rng.normal());
                         }
                       });
  }
  Tensor forward(const Tensor& x) override {
    const Tensor y = linear(x, weight_, Tensor());
    return sum(y).item() > 0 ? y : y * 2.0;
  }

 private:
  Tensor weight_;
};

// Uses the weight of its part twice, the second time by a handle from before bind().
class Tied : public Module {
 public:
  Tied() : part_(register_part("part", std::make_unique<Linear>(4, 4))) {
    part_.initialize(2);
    weight_ = part_.parameters()[0];
  }
  Tensor forward(const Tensor& x) override { return linear(relu(part_.forward(x)), weight_); }

 private:
  Module& part_;
  Tensor weight_;
};

TEST(CapturedStep, SeesWhatTheOptimizerWroteThroughAHandleOfBeforeBind) {
  std::vector<std::vector<float>> ends;
  for (const bool captured : {false, true}) {
    Tied model;
    ParameterArena arena(model.layout());
    model.bind(arena);
    const auto optimizer = *make_optimizer({.name = "sgd", .learning_rate = 0.1}, arena);
    const ShardWorkFunction work = work_of(model);
    const GradientSink sink = [](ParameterId, const Array&) {};
    CapturedStep step;
    const Array inputs = Array::full({3, 4}, 0.5);
    const Array labels = Array::full({3}, 2, DType::kI64);
    std::vector<float> losses;
    for (int i = 0; i < 5; ++i) {
      const ShardOutput output =
          captured ? step.run(inputs, labels, "", work, sink) : work(inputs, labels, sink);
      losses.push_back(static_cast<float>(output.loss.item()));
      optimizer->step();
    }
    EXPECT_EQ(step.captures(), captured ? 1 : 0) << step.why_eager();
    EXPECT_LT(losses[4], losses[0]);
    ends.push_back(losses);
  }
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(CapturedStep, AModelThatReadsOnTheHostRunsEagerly) {
  Peeking model;
  ParameterArena arena(model.layout());
  model.bind(arena);
  model.initialize(1);
  CapturedStep step;
  const ShardWorkFunction work = work_of(model);
  const Array inputs = Array::full({4, 2}, 1.0);
  const Array labels = Array::zeros({4}, DType::kI64);
  int gradients = 0;
  const GradientSink sink = [&](ParameterId, const Array&) { ++gradients; };
  for (int i = 0; i < 3; ++i) step.run(inputs, labels, "", work, sink);
  EXPECT_EQ(gradients, 3);
  EXPECT_EQ(step.captures(), 0);
  EXPECT_THAT(step.why_eager(), HasSubstr("\"item\" reads values on the host"));
}

TEST(CapturedStep, ALabelOutOfRangeIsRefusedAsInAnEagerStep) {
  const ModelDef& def = *find_model("mlp");
  Side side(def, small_model_options(false), true);
  Rng rng(5, 0);
  const Array inputs = random_model_inputs(def, small_model_options(false), 4, rng);
  const Array good = Array::zeros({4}, DType::kI64);
  const Array bad = Array::full({4}, 99, DType::kI64);
  side.run(0, inputs, good);
  EXPECT_THROW(side.run(1, inputs, bad), std::invalid_argument);
  EXPECT_NO_THROW(side.run(2, inputs, good));
  EXPECT_EQ(side.step.captures(), 1);
}

}  // namespace
}  // namespace weft::captured_step_test
