// Checkpoints, writes in place and anomaly mode with the operations of the library.
#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/check/anomaly.h"
#include "weft/autograd/check/gradcheck.h"
#include "weft/autograd/function/checkpoint.h"
#include "weft/autograd/test_tensor.h"
#include "weft/op/core/sample.h"
#include "weft/op/in_place.h"
#include "weft/op/ops.h"

namespace weft::autograd_memory_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two layers that share their weight, with dropout between.
Tensor block(const Tensor& x, const Tensor& w) {
  const Tensor h = dropout(tanh(matmul(x, w)), 0.4, {.seed = 3, .step = 1, .layer = 2}, true);
  return sigmoid(matmul(h, w));
}

struct Trained {
  std::vector<double> output;
  std::vector<double> x;
  std::vector<std::vector<double>> weights;
  std::vector<std::int32_t> order;
};

// Three blocks; the last uses the first one's weight again.
Trained train(bool checkpoints, LeafGradients mode, int depth) {
  const Tensor x(sample_values({4, 3}, 1), true);
  std::vector<Tensor> weights;
  for (int i = 0; i < 2; ++i) {
    weights.emplace_back(sample_values({3, 3}, 5 + static_cast<std::uint64_t>(i)), true);
    weights.back().set_parameter_id(ParameterId(i));
  }
  const auto run = [&](const Tensor& in, const Tensor& w) {
    CheckpointFunction function = [w](std::span<const Tensor> inner) { return block(inner[0], w); };
    for (int i = 1; i < depth; ++i) {
      function = [function](std::span<const Tensor> inner) {
        return checkpoint(function, inner) * 2.0;
      };
    }
    return checkpoints ? checkpoint(function, {in}) : function(std::span(&in, 1));
  };
  Tensor y = run(run(run(x, weights[0]), weights[1]), weights[0]);
  Trained result;
  result.output = values_of(y);
  for (int repeat = 0; repeat < 2; ++repeat) {
    backward(sum(y * y), [&](ParameterId id, const Array&) { result.order.push_back(id.value()); },
             {.leaf_gradients = mode, .keep_graph = true});
  }
  result.x = x.grad().to_vector<double>();
  for (const Tensor& w : weights) result.weights.push_back(w.grad().to_vector<double>());
  return result;
}

// Sums of gradients may round differently: those of one checkpoint are added up first.
MATCHER_P(IsClose, want, "") {
  return testing::ExplainMatchResult(testing::Pointwise(testing::DoubleNear(1e-14), want), arg,
                                     result_listener);
}

TEST(Checkpoint, GivesTheGradientsOfTheSameGraphWithout) {
  for (const LeafGradients mode : {LeafGradients::kAccumulate, LeafGradients::kOverwrite}) {
    const Trained want = train(false, mode, 1);
    const Trained got = train(true, mode, 1);
    EXPECT_EQ(got.output, want.output);
    EXPECT_THAT(got.x, IsClose(want.x));
    EXPECT_THAT(got.weights[0], IsClose(want.weights[0]));
    EXPECT_THAT(got.weights[1], IsClose(want.weights[1]));
    EXPECT_EQ(got.order, want.order);
  }
}

TEST(Checkpoint, Nests) {
  const Trained want = train(false, LeafGradients::kAccumulate, 3);
  const Trained got = train(true, LeafGradients::kAccumulate, 3);
  EXPECT_EQ(got.output, want.output);
  EXPECT_THAT(got.x, IsClose(want.x));
  EXPECT_EQ(got.order, want.order);
}

TEST(Checkpoint, KeepsNothingOfItsInside) {
  const Tensor x = leaf({0.5, 0.25});
  std::weak_ptr<Storage> inside;
  const Tensor y = checkpoint(
      [&](std::span<const Tensor> in) {
        const Tensor h = exp(in[0]);
        if (!recomputing()) inside = h.array().storage();
        return h * h;
      },
      {x});
  EXPECT_TRUE(inside.expired());
  backward(sum(y));
  EXPECT_NEAR(x.grad().to_vector<double>()[0], 2 * std::exp(1.0), 1e-12);
}

TEST(Checkpoint, HasSecondGradients) {
  const TensorFunction function = [](std::span<const Tensor> in) {
    // The second input depends on the first: their gradients must not be mixed up.
    const Tensor h = tanh(in[0]) * in[1];
    return checkpoint([](std::span<const Tensor> x) { return exp(x[0] * x[1]) + x[1] * x[1]; },
                      {in[0], h});
  };
  const std::vector<Array> inputs = {sample_values({2, 2}, 1), sample_values({2, 2}, 2)};
  EXPECT_EQ(gradcheck(function, inputs), "");
  EXPECT_EQ(gradgradcheck(function, inputs), "");
  const TensorFunction twice = [](std::span<const Tensor> in) {
    return checkpoint([](std::span<const Tensor> x) { return x[0] * exp(x[1]); }, {in[0], in[0]});
  };
  EXPECT_EQ(gradgradcheck(twice, std::span(inputs).first(1)), "");
}

TEST(Checkpoint, CallsHooksOnceAndHonoursGrad) {
  const Tensor w = leaf({2, 3});
  int calls = 0;
  w.register_hook([&](const Tensor& gradient) {
    ++calls;
    return gradient * 2.0;
  });
  const Tensor x = leaf({5, 7});
  const Tensor y = sum(checkpoint([w](std::span<const Tensor> in) { return in[0] * w * w; }, {x}));
  EXPECT_THAT(values_of(grad(y, x, {.keep_graph = true})), ElementsAre(4, 9));
  EXPECT_FALSE(w.grad().defined());
  EXPECT_EQ(calls, 0);
  backward(y);
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(w.grad().to_vector<double>(), ElementsAre(40, 84));
}

TEST(Checkpoint, PutsTheSurroundingsBack) {
  static int factor = 2;
  register_recomputed_state([] {
    return [saved = factor] {
      const int before = std::exchange(factor, saved);
      return std::shared_ptr<void>(nullptr, [before](void*) { factor = before; });
    };
  });
  const Tensor x = leaf({1});
  const Tensor y =
      checkpoint([](std::span<const Tensor> in) { return in[0] * double{1.0 * factor}; }, {x});
  factor = 100;
  backward(y);
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(2));
  EXPECT_EQ(factor, 100);
  factor = 2;
}

TEST(Checkpoint, RefusesWhatItCannotRepeat) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * x;
  EXPECT_THAT(
      refusal([&] { checkpoint([h](std::span<const Tensor> in) { return in[0] * h; }, {x}); }),
      HasSubstr("uses the output of \"mul\", which is not among the inputs"));
  int calls = 0;
  const Tensor y = checkpoint(
      [&](std::span<const Tensor> in) { return calls++ == 0 ? in[0] * 1.0 : sum(in[0]); }, {x});
  EXPECT_THAT(refusal([&] { backward(sum(y)); }), HasSubstr("the same output when computed again"));
}

TEST(InPlace, HasTheHistoryOfTheOperation) {
  const std::vector<Array> inputs = {sample_values({2, 3}, 1), sample_values({3}, 2),
                                     sample_values({2, 3}, 3)};
  const TensorFunction function = [](std::span<const Tensor> in) {
    Tensor x = in[0] * 2.0;
    add_(x, in[1], 3.0);
    mul_(x, in[2]);
    mul_(x, 0.5);
    add_(x, 1.0);
    sub_(x, in[1]);
    Tensor y = in[2] * in[2];
    copy_(y, in[1]);
    return concat({x, y * y}, 0);
  };
  EXPECT_EQ(gradcheck(function, inputs), "");
  EXPECT_EQ(gradgradcheck(function, inputs), "");
  const Tensor from = leaf({1, 2});
  Tensor zeroed = from * 2.0;
  zero_(zeroed);
  backward(sum(zeroed) + sum(from));
  EXPECT_THAT(values_of(zeroed), ElementsAre(0, 0));
  EXPECT_THAT(gradient(from), ElementsAre(1, 1));
}

TEST(InPlace, NoticesSavedValues) {
  const Tensor x = leaf({1, 2});
  Tensor y = exp(x);
  const Tensor loss = sum(y * 2.0);
  add_(y, 1.0);
  EXPECT_THAT(refusal([&] { backward(loss); }),
              HasSubstr("that \"exp\" needs for its gradient, got its output written in place by "
                        "\"add_\""));
  Tensor a = x * 1.0;
  const Tensor product = a * x;
  mul_(a, 2.0);
  EXPECT_THAT(refusal([&] { backward(sum(product)); }),
              HasSubstr("\"mul\" needs for its gradient, got its input 0 written in place by "
                        "\"mul_\""));
}

TEST(InPlace, AllowsValuesThatNothingNeeds) {
  const Tensor x = leaf({1, 2});
  Tensor y = x * 3.0;
  const Tensor other = y + x;  // saves neither
  add_(y, 10.0);
  backward(sum(other) + sum(y));
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(7, 7));
}

TEST(InPlace, NoticesParametersChangedTooEarly) {
  Tensor w = leaf({1, 2});
  const Tensor loss = sum(w * w);
  {
    const NoGrad no_grad;
    add_(w, 1.0);
  }
  EXPECT_TRUE(w.is_leaf());
  EXPECT_TRUE(w.requires_grad());
  EXPECT_THAT(values_of(w), ElementsAre(2, 3));
  EXPECT_THAT(refusal([&] { backward(loss); }), HasSubstr("written in place by \"add_\""));
  backward(sum(w * w));
  EXPECT_THAT(w.grad().to_vector<double>(), ElementsAre(4, 6));
}

TEST(InPlace, KnowsWhichPartOfTheMemoryWasWritten) {
  Array arena = Array::full({4}, 2.0, DType::kF64);
  const Tensor a(arena.slice(0, 0, 2), true);
  Tensor b(arena.slice(0, 2, 4));
  const Tensor loss = sum(a * a);
  mul_(b, 5.0);
  arena.slice(0, 2, 4).fill(1.0);
  backward(loss);
  EXPECT_THAT(a.grad().to_vector<double>(), ElementsAre(4, 4));
}

TEST(InPlace, RefusesMisuse) {
  Tensor w = leaf({1, 2});
  EXPECT_THAT(refusal([&] { add_(w, 1.0); }),
              HasSubstr("[add_] expected a tensor that is no leaf"));
  Tensor x = w * 1.0;
  mul_(x, 2.0);
  EXPECT_THAT(values_of(x * 2.0), ElementsAre(4, 8));
  Tensor wide = expand(Tensor(Array::zeros({1}, DType::kF64)), {3});
  EXPECT_THAT(refusal([&] { fill_(wide, 1.0); }), HasSubstr("repeats elements: shape [3]"));
  EXPECT_THAT(refusal([&] {
                mul_(x, Tensor(Array::zeros({2, 2}, DType::kF64)));
              }),
              HasSubstr("an operand that broadcasts to [2], got [2, 2]"));
}

std::string anomaly(const std::function<void()>& call) {
  try {
    call();
  } catch (const AnomalyError& error) {
    return error.what();
  }
  return "none";
}

TEST(Anomaly, NamesTheForwardThatMadeIt) {
  const Tensor x = leaf({1, 0, -1});
  const auto run = [&] { return exp(log(x) * 2.0); };
  EXPECT_EQ(anomaly([&] { run(); }), "none");
  const AnomalyMode mode;
  EXPECT_THAT(anomaly([&] { run(); }),
              HasSubstr("the forward of \"log\" gave [3] f64 of which element 1 is -inf; inputs: "
                        "[3] f64, all finite"));
  const AnomalyMode nan_only(Anomalies::kNan);
  EXPECT_THAT(anomaly([&] { run(); }), HasSubstr("of which element 2 is"));
  const Tensor y(Array::full({2}, std::numeric_limits<double>::quiet_NaN(), DType::kF64));
  EXPECT_THAT(anomaly([&] { y + 1.0; }), HasSubstr("\"add\""));
}

TEST(Anomaly, NamesTheBackwardThatMadeIt) {
  const Tensor x = leaf({4, 0});
  const Tensor loss = sum(sqrt(x) * 2.0);
  std::string text;
  {
    const AnomalyMode mode;
    text = anomaly([&] { backward(loss, GradientSink(), {.keep_graph = true}); });
    EXPECT_THAT(anomaly([&] { grad(loss, x, {.create_graph = true}); }), HasSubstr("\"div\""));
  }
  EXPECT_THAT(text, HasSubstr("the backward of \"sqrt\" (output [2]) gave a gradient of input 0 "
                              "[2] f64 of which element 1 is inf"));
  backward(loss);
}

TEST(Anomaly, LeavesInfinitiesThatWereThereAlone) {
  const AnomalyMode mode;
  const Array mask = Array::from(std::vector<double>{1, 0}, {2}).to(DType::kBool);
  const Tensor masked = masked_fill(leaf({1, 2}), mask, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(anomaly([&] { backward(sum(softmax(masked * 2.0, -1))); }), "none");
  EXPECT_THAT(anomaly([&] { masked - masked; }), HasSubstr("\"sub\""));
}

TEST(Anomaly, TellsWhereTheOperationWasCalled) {
  std::string place = "loss.py:3";
  set_call_site([&] { return place; });
  const AnomalyMode mode;
  EXPECT_THAT(anomaly([&] { log(leaf({0})); }), HasSubstr("; called at loss.py:3"));
  const Tensor loss = sum(sqrt(leaf({0})));
  place = "train.py:9";
  EXPECT_THAT(anomaly([&] { backward(loss); }), HasSubstr("; called at loss.py:3"));
  set_call_site(nullptr);
}

}  // namespace
}  // namespace weft::autograd_memory_test
