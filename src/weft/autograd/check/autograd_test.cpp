// The graph and its sweep, with operations made here: values, order, refusals, depth.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/check/gradcheck.h"
#include "weft/autograd/leaf_watch.h"
#include "weft/autograd/node.h"
#include "weft/autograd/test_tensor.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/kernel/reduce/reduce.h"

namespace weft::autograd_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor times(const Tensor& a, const Tensor& b) {
  return record("times", binary(BinaryOp::kMul, a.array(), b.array()), {&a, &b},
                [x = a.array(), y = b.array()](const Array& dy, const InputGradients& dx) {
                  if (dx.needs(0)) dx.add(0, binary(BinaryOp::kMul, dy, y));
                  if (dx.needs(1)) dx.add(1, binary(BinaryOp::kMul, dy, x));
                });
}

Tensor plus(const Tensor& a, const Tensor& b) {
  return record("plus", binary(BinaryOp::kAdd, a.array(), b.array()), {&a, &b},
                [](const Array& dy, const InputGradients& dx) {
                  for (int i = 0; i < 2; ++i) {
                    if (dx.needs(i)) dx.add(i, dy);
                  }
                });
}

// Writes its gradients into targets, as matrix products do.
Tensor scaled(const Tensor& a, double factor) {
  return record("scaled", binary(BinaryOp::kMul, a.array(), factor), {&a},
                [factor](const Array& dy, const InputGradients& dx) {
                  const GradientTarget target = dx.target(0);
                  Array into = target.array;
                  const Array part = binary(BinaryOp::kMul, dy, factor);
                  if (target.accumulate) {
                    accumulate(part, into);
                  } else {
                    into.copy_from(part);
                  }
                });
}

Tensor total(const Tensor& a) {
  return record("total", reduce(ReduceOp::kSum, a.array(), 1, false), {&a},
                [shape = a.shape()](const Array& dy, const InputGradients& dx) {
                  dx.add(0, dy.reshape({1}).expand(shape));
                });
}

TEST(Backward, FollowsEveryUse) {
  const Tensor x = leaf({2, 3});
  const Tensor square = times(x, x);
  // x^2 * x^2 + 5 x^2 + x: gradient 4 x^3 + 10 x + 1.
  const Tensor y = plus(plus(times(square, square), scaled(square, 5)), x);
  backward(total(y));
  EXPECT_THAT(gradient(x), ElementsAre(4 * 8 + 20 + 1, 4 * 27 + 30 + 1));
}

TEST(Backward, GradientsOfOneTensorNeverShareMemory) {
  const Tensor a = leaf({1, 2});
  const Tensor b = leaf({3, 4});
  const Tensor both = plus(a, b);
  backward(total(plus(both, scaled(both, 2))));
  backward(total(scaled(a, 10)));
  EXPECT_THAT(gradient(a), ElementsAre(13, 13));
  EXPECT_THAT(gradient(b), ElementsAre(3, 3));
}

TEST(Backward, AccumulatesUntilZeroed) {
  Tensor x = leaf({1, 2});
  EXPECT_FALSE(x.grad().defined());
  backward(total(times(x, x)));
  backward(total(times(x, x)));
  EXPECT_THAT(gradient(x), ElementsAre(4, 8));
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
  backward(total(x));
  EXPECT_THAT(gradient(x), ElementsAre(1, 1));
}

TEST(Backward, FillsTheGivenStorage) {
  Array buffer = Array::full({4}, 100.0, DType::kF64);
  Tensor x = leaf({1, 2});
  x.set_grad_storage(buffer.slice(0, 1, 3));
  backward(total(plus(times(x, x), scaled(x, 3))));
  EXPECT_THAT(buffer.to_vector<double>(), ElementsAre(100, 105, 107, 100));
  x.zero_grad();
  EXPECT_THAT(buffer.to_vector<double>(), ElementsAre(100, 0, 0, 100));
}

TEST(Backward, OverwritesWhatALeafHeld) {
  Array buffer = Array::full({2}, 100.0, DType::kF64);
  Tensor x = leaf({1, 2});
  x.set_grad_storage(buffer);
  const Tensor y = leaf({5, 6});
  BackwardOptions options;
  options.leaf_gradients = LeafGradients::kOverwrite;
  for (int repeat = 0; repeat < 2; ++repeat) {
    backward(total(plus(scaled(times(x, y), 2), scaled(x, 3))), GradientSink(), options);
    EXPECT_THAT(buffer.to_vector<double>(), ElementsAre(13, 15));
    EXPECT_THAT(gradient(y), ElementsAre(2, 4));
  }
}

TEST(Backward, CallsTheSinkAsEachParameterIsComplete) {
  std::vector<Tensor> layers;
  for (int i = 0; i < 4; ++i) {
    layers.push_back(leaf({1.0 + i}));
    layers.back().set_parameter_id(ParameterId(i));
  }
  Tensor y = leaf({1}, false);
  for (const Tensor& layer : layers) y = times(y, layer);
  y = times(y, layers[2]);  // used twice: complete only after both
  std::vector<std::int32_t> order;
  std::vector<double> values;
  backward(total(y), [&](ParameterId id, const Array& grad) {
    order.push_back(id.value());
    values.push_back(grad.item());
  });
  EXPECT_THAT(order, ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(values, ElementsAre(18, 48, 36, 72));
}

TEST(Backward, GivesTheSinkAParameterThatGotNothing) {
  Tensor unused = leaf({1, 2});
  unused.set_parameter_id(ParameterId(0));
  // An operation that passes no gradient on.
  const Tensor y = record("blind", Array::full({}, 1.0, DType::kF64), {&unused},
                          [](const Array&, const InputGradients&) {});
  std::vector<double> seen;
  backward(y, [&](ParameterId, const Array& grad) { seen = grad.to_vector<double>(); });
  EXPECT_THAT(seen, ElementsAre(0, 0));
}

TEST(Backward, WorksOnALeaf) {
  const Tensor x = leaf({3});
  backward(x);
  backward(x);
  EXPECT_THAT(gradient(x), ElementsAre(2));
}

TEST(Backward, RefusesAGraphThatWasUsedUp) {
  const Tensor x = leaf({1, 2});
  const Tensor square = times(x, x);
  const Tensor loss = total(square);
  backward(loss);
  EXPECT_THAT(refusal([&] { backward(loss); }), HasSubstr("an earlier backward has used up"));
  EXPECT_THAT(refusal([&] { backward(total(square)); }), HasSubstr("(at \"times\")"));
  EXPECT_THAT(gradient(x), ElementsAre(2, 4));
}

TEST(Backward, KeepsTheGraphIfAsked) {
  const Tensor x = leaf({1, 2});
  const Tensor loss = total(times(x, x));
  BackwardOptions options;
  options.keep_graph = true;
  backward(loss, GradientSink(), options);
  backward(loss);
  EXPECT_THAT(gradient(x), ElementsAre(4, 8));
}

TEST(Backward, RefusesWhatHasNoGradient) {
  EXPECT_THAT(refusal([] { backward(leaf({1}, false)); }), HasSubstr("got one without history"));
  EXPECT_THAT(refusal([] {
                backward(leaf({1, 2}));
              }),
              HasSubstr("expected a loss of one element, got shape [2]"));
  BackwardOptions options;
  options.gradient = Array::zeros({3}, DType::kF64);
  EXPECT_THAT(refusal([&] {
                backward(leaf({1, 2}), GradientSink(), options);
              }),
              HasSubstr("expected a gradient of shape [2] and type f64, got [3]"));
}

TEST(Backward, FreesSavedValuesAsItGoes) {
  const Tensor x = leaf({1, 2});
  const Tensor square = times(x, x);
  const std::weak_ptr<Storage> saved = square.array().storage();
  {
    Tensor loss = total(times(square, square));
    Tensor middle = square;
    middle = Tensor();
    backward(loss);
    // Only `square` itself still holds the values.
    EXPECT_EQ(saved.use_count(), 1);
  }
}

TEST(Graph, OfAnyDepthIsSweptAndTakenDown) {
  constexpr int kDepth = 100'000;
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < kDepth; ++i) y = plus(y, x);
  backward(y);
  EXPECT_THAT(gradient(x), ElementsAre(kDepth + 1));
  Tensor z = x;
  for (int i = 0; i < kDepth; ++i) z = plus(z, x);
  z = Tensor();  // never swept
}

TEST(Graph, DiamondsCostOneVisitANode) {
  // 2^60 paths: only a sweep by nodes ends.
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = plus(y, y);
  backward(y);
  EXPECT_THAT(gradient(x), ElementsAre(static_cast<double>(1ULL << 60)));
}

TEST(Graph, FindsWhatLeadsPastTheInputs) {
  const Tensor x(Array::zeros({2}), true);
  const Tensor w(Array::zeros({2}), true);
  const Tensor constant(Array::zeros({2}));
  const Tensor square = times(x, x);
  const Tensor both = times(square, w);
  const auto others = [](const Tensor& output, std::vector<Tensor> inputs) {
    return depends_on_others(std::span(&output, 1), inputs);
  };
  EXPECT_FALSE(others(square, {x}));
  EXPECT_FALSE(others(times(square, constant), {x}));
  EXPECT_TRUE(others(both, {x}));
  EXPECT_FALSE(others(both, {x, w}));
  EXPECT_FALSE(others(both, {square, w}));  // no way leads around it
  EXPECT_TRUE(others(plus(both, x), {square, w}));
  EXPECT_TRUE(others(w, {x}));
  EXPECT_FALSE(others(constant, {}));
}

TEST(NoGrad, RecordsNothingAndNests) {
  const Tensor x = leaf({1, 2});
  {
    const NoGrad outer;
    {
      const NoGrad inner;
      EXPECT_FALSE(times(x, x).requires_grad());
    }
    EXPECT_FALSE(grad_enabled());
    EXPECT_FALSE(times(x, x).requires_grad());
  }
  EXPECT_TRUE(times(x, x).requires_grad());
}

TEST(Tensor, DetachCutsTheHistory) {
  const Tensor x = leaf({1, 2});
  const Tensor y = times(x, x);
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TRUE(y.detach().is_leaf());
  EXPECT_FALSE(y.detach().requires_grad());
  EXPECT_EQ(y.detach().array().storage(), y.array().storage());
  backward(total(times(x, y.detach())));
  EXPECT_THAT(gradient(x), ElementsAre(1, 4));
}

TEST(Tensor, OnlyFloatsTakeGradients) {
  EXPECT_THAT(refusal([] { Tensor(Array::zeros({2}, DType::kI64), true); }),
              HasSubstr("expected floating values"));
  EXPECT_THAT(refusal([] {
                Tensor x(Array::zeros({2}), true);
                x.set_grad_storage(Array::zeros({3}));
              }),
              HasSubstr("expected a contiguous array of shape [2]"));
  EXPECT_THAT(refusal([] {
                Tensor x(Array::zeros({2}));
                x.set_parameter_id(ParameterId(1));
              }),
              HasSubstr("expected a leaf that requires a gradient"));
}

TEST(Gradcheck, NamesAWrongGradient) {
  const TensorFunction wrong = [](std::span<const Tensor> in) {
    const Tensor& x = in[0];
    return record("wrong", binary(BinaryOp::kMul, x.array(), x.array()), {&x},
                  [a = x.array()](const Array& dy, const InputGradients& dx) {
                    dx.add(0, binary(BinaryOp::kMul, dy, a));  // a factor 2 is missing
                  });
  };
  const std::vector<Array> inputs = {Array::from(std::vector<double>{0.5, 2.0}, {2})};
  EXPECT_THAT(gradcheck(wrong, inputs), HasSubstr("input 0 element 0: gradient"));
  const TensorFunction right = [](std::span<const Tensor> in) { return times(in[0], in[0]); };
  EXPECT_EQ(gradcheck(right, inputs), "");
}

}  // namespace
}  // namespace weft::autograd_test
