// What a captured step does not replay: each case has the bits of a run that is never captured.
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/array/arena/parameter_arena.h"
#include "weft/autograd/backward.h"
#include "weft/autograd/check/anomaly.h"
#include "weft/autograd/function/custom_function.h"
#include "weft/base/rng.h"
#include "weft/nn/layers.h"
#include "weft/op/ops.h"
#include "weft/op/random.h"
#include "weft/optim/optimizer.h"
#include "weft/train/capture/captured_step.h"

namespace weft::eager_fallback_test {
namespace {

using ::testing::HasSubstr;

enum class Oddity { kNone, kReadsInForward, kReadsInBackward, kHookInForward, kNoise };

// A norm, whose statistics a step changes, and then something that a graph may not like.
class Odd : public Module {
 public:
  Odd(Oddity oddity, int& hook_calls) : oddity_(oddity), hook_calls_(hook_calls) {
    norm_ = &register_part("norm", std::make_unique<BatchNorm1d>(4));
    first_ = &register_part("first", std::make_unique<Linear>(4, 4));
    last_ = &register_part("last", std::make_unique<Linear>(4, 3));
  }

  Tensor forward(const Tensor& x) override {
    Tensor y = norm_->forward(x);
    if (oddity_ == Oddity::kReadsInForward) y = sum(y).item() > 0 ? y : y * 2.0;
    if (oddity_ == Oddity::kReadsInBackward) y = reading_in_backward(first_->forward(y));
    if (oddity_ == Oddity::kNoise) y = y + randn(y.shape(), noise_);
    if (oddity_ != Oddity::kReadsInBackward) y = first_->forward(y);
    if (oddity_ == Oddity::kHookInForward) {
      y.register_hook([this](const Tensor& gradient) {
        ++hook_calls_;
        return gradient * 2.0;
      });
    }
    return last_->forward(y);
  }

  Generator& noise() { return noise_; }

 private:
  static Tensor reading_in_backward(const Tensor& x) {
    return custom_function(
        "reading", {x}, [](std::span<const Tensor> in) { return in[0] * 3.0; },
        [](const CustomBackward&, const Tensor& dy) {
          return std::vector<Tensor>{sum(dy).item() > 0 ? dy * 3.0 : dy};
        });
  }

  Oddity oddity_;
  int& hook_calls_;
  Generator noise_ = Generator(11);
  Module* norm_;
  Module* first_;
  Module* last_;
};

// Two pieces a step, whose gradients add up, as train_step does it.
class Side {
 public:
  Side(Oddity oddity, bool captured)
      : captured_(captured), model(oddity, hook_calls), arena(prepared(model).layout()) {
    model.bind(arena);
    optimizer = *make_optimizer({.name = "adamw", .learning_rate = 0.01}, arena);
  }

  void step(const std::vector<Array>& pieces) {
    arena.zero_gradients();
    losses.clear();
    for (const Array& inputs : pieces) {
      const Array labels = Array::zeros({inputs.dim(0)}, DType::kI64);
      const GradientSink sink = [&](ParameterId id, const Array&) { handed.push_back(id.value()); };
      const ShardWorkFunction work = [&](const Array& x, const Array& y, const GradientSink& to) {
        const Tensor logits = model.forward(Tensor(x));
        const Tensor loss = cross_entropy(logits, y);
        backward(loss, to);
        return ShardOutput{loss.array(), logits.array()};
      };
      const ShardOutput output =
          captured_ ? steps.run(inputs, labels, "", work, sink) : work(inputs, labels, sink);
      losses.push_back(output.loss.item());
    }
    optimizer->step();
  }

 private:
  bool captured_;
  static Module& prepared(Module& model) {
    model.initialize(1);
    return model;
  }

 public:
  int hook_calls = 0;
  Odd model;
  ParameterArena arena;
  std::unique_ptr<Optimizer> optimizer;
  CapturedStep steps = CapturedStep(&model);
  std::vector<double> losses;
  std::vector<int> handed;
};

Array random_rows(std::int64_t rows, Rng& rng) {
  Array x = Array::empty({rows, 4});
  for (float& value : x.flat<float>()) value = static_cast<float>(rng.normal());
  return x;
}

void expect_same(const Side& captured, const Side& eager, const std::string& what) {
  EXPECT_EQ(captured.losses, eager.losses) << what;
  EXPECT_EQ(captured.handed, eager.handed) << what;
  EXPECT_EQ(captured.hook_calls, eager.hook_calls) << what;
  const std::span<const float> left = captured.arena.parameters();
  const std::span<const float> right = eager.arena.parameters();
  EXPECT_EQ(std::memcmp(left.data(), right.data(), left.size_bytes()), 0) << what;
}

// `before_step` is called for both sides.
std::unique_ptr<Side> check(
    Oddity oddity, const std::function<void(Side&, int)>& before_step = [](Side&, int) {}) {
  auto captured = std::make_unique<Side>(oddity, true);
  Side eager(oddity, false);
  Rng rng(3, 0);
  for (int step = 0; step < 6; ++step) {
    const std::vector<Array> pieces = {random_rows(5, rng), random_rows(5, rng),
                                       random_rows(3, rng)};
    before_step(*captured, step);
    captured->step(pieces);
    before_step(eager, step);
    eager.step(pieces);
    expect_same(*captured, eager, "step " + std::to_string(step));
  }
  return captured;
}

TEST(EagerFallback, AStepWithoutOdditiesIsReplayed) {
  const auto side = check(Oddity::kNone);
  EXPECT_EQ(side->steps.captures(), 2);
  EXPECT_EQ(side->steps.why_eager(), "");
}

TEST(EagerFallback, ANumberReadInTheForwardPassEndsRecording) {
  const auto side = check(Oddity::kReadsInForward);
  EXPECT_EQ(side->steps.captures(), 0);
  EXPECT_THAT(side->steps.why_eager(), HasSubstr("reads values on the host"));
}

// The statistics have changed by then, and gradients were added and waited to be handed over.
TEST(EagerFallback, ANumberReadInTheBackwardPassLeavesNoTrace) {
  const auto side = check(Oddity::kReadsInBackward);
  EXPECT_EQ(side->steps.captures(), 0);
  EXPECT_THAT(side->steps.why_eager(), HasSubstr("reads values on the host"));
}

TEST(EagerFallback, HooksThatTheStepRegistersAreCalledInEachStep) {
  const auto side = check(Oddity::kHookInForward);
  EXPECT_EQ(side->hook_calls, 18);
  EXPECT_THAT(side->steps.why_eager(), HasSubstr("hooks"));
}

TEST(EagerFallback, HooksOfParametersAreCalledWhileTheyAreThere) {
  int calls = 0;
  std::vector<HookHandle> handles;
  const auto last = check(Oddity::kNone, [&](Side& side, int step) {
    if (step == 2) {
      handles.push_back(side.model.parameters()[2].register_hook([&calls](const Tensor& gradient) {
        ++calls;
        return gradient * 0.5;
      }));
    }
    if (step == 4) {
      handles.front().remove();
      handles.erase(handles.begin());
    }
  });
  EXPECT_EQ(calls, 12);  // three pieces, two steps, both sides
  EXPECT_EQ(last->steps.captures(), 2);
  EXPECT_EQ(last->steps.why_eager(), "");
}

TEST(EagerFallback, AnomalyModeSeesEachStep) {
  Side side(Oddity::kNone, true);
  Rng rng(3, 0);
  const std::vector<Array> pieces = {random_rows(5, rng)};
  for (int i = 0; i < 3; ++i) side.step(pieces);
  Array broken = random_rows(5, rng);
  broken.flat<float>()[3] = std::nanf("");
  {
    const AnomalyMode find;
    EXPECT_THROW(side.step({broken}), AnomalyError);
    EXPECT_THAT(side.steps.why_eager(), HasSubstr("anomaly mode"));
  }
  side.step(pieces);
  EXPECT_EQ(side.steps.why_eager(), "");
}

TEST(EagerFallback, FrozenParametersAreAnotherStep) {
  check(Oddity::kNone, [&](Side& side, int step) {
    if (step == 1) side.model.set_requires_grad(false, "first");
    if (step == 4) side.model.set_requires_grad(true);
  });
}

TEST(EagerFallback, SizesThatDoNotComeAgainAreNotRecorded) {
  Side side(Oddity::kNone, true);
  Rng rng(3, 0);
  for (std::int64_t rows = 2; rows < 30; ++rows) side.step({random_rows(rows, rng)});
  EXPECT_EQ(side.steps.captures(), 1);
  EXPECT_EQ(side.steps.why_eager(), "");
  // Many sizes in turn push each other out: recorded again and again until it is too much.
  for (int turn = 0; turn < 10; ++turn) {
    for (std::int64_t rows = 2; rows < 12; ++rows) side.step({random_rows(rows, rng)});
  }
  EXPECT_LT(side.steps.captures(), 20);
  EXPECT_THAT(side.steps.why_eager(), HasSubstr("do not come again"));
}

TEST(EagerFallback, NoiseFromAGeneratorIsFreshInEachReplay) {
  std::vector<std::uint64_t> offsets;
  const auto last = check(Oddity::kNoise,
                          [&](Side& side, int) { offsets.push_back(side.model.noise().offset()); });
  EXPECT_EQ(last->steps.captures(), 2);
  for (std::size_t i = 0; i < offsets.size(); i += 2) {
    EXPECT_EQ(offsets[i], offsets[i + 1]);
    if (i > 0) {
      EXPECT_GT(offsets[i], offsets[i - 2]);
    }
  }
}

}  // namespace
}  // namespace weft::eager_fallback_test
