// Autograd with the operations of the library: second gradients, grad(), hooks, functions of one's
// own, derivatives of functions; closed forms as oracles.
#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/check/gradcheck.h"
#include "weft/autograd/function/custom_function.h"
#include "weft/autograd/function/functional.h"
#include "weft/autograd/test_tensor.h"
#include "weft/op/core/sample.h"
#include "weft/op/ops.h"

namespace weft::autograd_test {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

TEST(Grad, GivesDerivativesOfEveryOrder) {
  const Tensor x = leaf({2, -1});
  Tensor y = pow(x, 5.0);
  // 5 x^4, 20 x^3, 60 x^2, 120 x, 120.
  const std::vector<std::vector<double>> want = {
      {80, 5}, {160, -20}, {240, 60}, {240, -120}, {120, 120}};
  for (const std::vector<double>& each : want) {
    y = grad(sum(y), x, {.create_graph = true});
    EXPECT_THAT(values_of(y), Pointwise(DoubleNear(1e-9), each));
  }
  EXPECT_FALSE(x.grad().defined());
}

TEST(Grad, LeavesLeavesAloneAndTakesInnerTensors) {
  const Tensor x = leaf({1, 2});
  const Tensor w = leaf({3, 4});
  const Tensor h = x * w;
  const Tensor loss = sum(h * h);
  const std::vector<Tensor> gradients = grad({loss}, {h, x}, {.keep_graph = true});
  EXPECT_THAT(values_of(gradients[0]), ElementsAre(6, 16));
  EXPECT_THAT(values_of(gradients[1]), ElementsAre(18, 64));
  EXPECT_FALSE(w.grad().defined());
  // What grad() has passed by is as it was.
  backward(loss);
  EXPECT_THAT(w.grad().to_vector<double>(), ElementsAre(6, 32));
}

TEST(Grad, FreesOnlyTheWayItWent) {
  const Tensor x = leaf({2});
  const Tensor h = x * x;
  const Tensor y = h * h;
  EXPECT_THAT(values_of(grad(y, h)), ElementsAre(8));
  // Below h nothing was used up; above it was.
  EXPECT_THAT(values_of(grad(h, x)), ElementsAre(4));
  EXPECT_THAT(refusal([&] { grad(y, h); }), HasSubstr("an earlier backward has used up"));
}

TEST(Grad, SumsOverOutputsWithTheirGradients) {
  const Tensor x = leaf({1, 2});
  const Tensor a = x * 2.0;
  const Tensor b = x * x;
  const std::vector<Tensor> gradients =
      grad({a, b}, {x}, {.grad_outputs = {leaf({1, 10}), leaf({100, 1000})}, .keep_graph = true});
  EXPECT_THAT(values_of(gradients[0]), ElementsAre(201 + 1, 4010 + 10));
  // An output that another output depends on.
  const Tensor c = b * x;
  EXPECT_THAT(values_of(grad({sum(b), sum(c)}, {x})[0]), ElementsAre(5, 16));
  // b's history was used up: a gradient without that part would be wrong.
  EXPECT_THAT(refusal([&] { grad(sum(b * x), x); }), HasSubstr("used up (at \"mul\")"));
  // For b itself it is not needed.
  EXPECT_THAT(values_of(grad(sum(b * 3.0), b)), ElementsAre(3, 3));
}

TEST(Grad, RefusesWhatDoesNotFit) {
  const Tensor x = leaf({1, 2});
  const Tensor other = leaf({1, 2});
  EXPECT_THAT(refusal([&] { grad(sum(x * x), other); }), HasSubstr("got input 0, which none does"));
  const Tensor plain(Array::zeros({2}, DType::kF64));
  EXPECT_THAT(refusal([&] { grad(sum(x * x), plain); }), HasSubstr("which requires no gradient"));
  EXPECT_FALSE(grad(sum(x * x), other, {.allow_unused = true}).defined());
  EXPECT_THAT(refusal([&] { grad(x * x, x); }), HasSubstr("[grad] expected a loss of one element"));
  EXPECT_THAT(refusal([&] { grad(sum(plain), plain); }), HasSubstr("got none with a history"));
  EXPECT_THAT(refusal([&] {
                grad({x * x}, {x}, {.grad_outputs = {x, x}});
              }),
              HasSubstr("a gradient for each of 1 outputs, got 2"));
}

TEST(Grad, NamesAnOperationWithoutASecondGradient) {
  const Tensor x = leaf({1, 2});
  const Tensor y = record("opaque", x.array().clone(), {&x},
                          [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); });
  EXPECT_THAT(refusal([&] { grad(sum(y), x, {.create_graph = true}); }),
              HasSubstr("got \"opaque\", which has none"));
}

TEST(Backward, WithAGraphGivesLeavesGradientsWithHistory) {
  const Tensor x = leaf({3});
  backward(x * x * x, GradientSink(), {.create_graph = true});
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(27));
  const Tensor first = x.grad_tensor();
  ASSERT_TRUE(first.requires_grad());
  EXPECT_THAT(values_of(grad(first, x)), ElementsAre(18));
  Tensor again = x;
  again.zero_grad();
  EXPECT_FALSE(x.grad_tensor().defined());
}

// A gradient penalty, as the critic of a WGAN-GP has it: the loss contains the norm of a gradient.
TEST(Backward, GoesThroughAGradientPenalty) {
  const TensorFunction penalised = [](std::span<const Tensor> in) {
    const Tensor score = sum(tanh(linear(in[0], in[1], in[2])));
    // Not for in[0] alone: the leaf of a difference is moved by the caller.
    const Tensor x = in[0];  // NOLINT(performance-unnecessary-copy-initialization)
    const Tensor slope = grad(score, x, {.create_graph = true});
    return score + sum(pow(sqrt(sum(slope * slope, {1})) - 1.0, 2.0));
  };
  // Differences of a function that differentiates: the leaves must take gradients.
  const std::vector<Array> inputs = {sample_values({3, 4}, 1), sample_values({5, 4}, 2),
                                     sample_values({5}, 3)};
  std::vector<Tensor> leaves;
  leaves.reserve(inputs.size());
  for (const Array& input : inputs) leaves.emplace_back(input, true);
  backward(penalised(leaves));
  constexpr double kStep = 1e-6;
  for (std::size_t which = 1; which < inputs.size(); ++which) {
    for (std::int64_t i = 0; i < inputs[which].size(); ++i) {
      const auto at = [&](double move) {
        std::vector<Tensor> moved;
        for (std::size_t k = 0; k < inputs.size(); ++k) {
          Array copy = inputs[k].clone();
          if (k == which) copy.flat<double>()[static_cast<std::size_t>(i)] += move;
          moved.emplace_back(copy, true);
        }
        return penalised(moved).item();
      };
      const double want = (at(kStep) - at(-kStep)) / (2 * kStep);
      const double got = leaves[which].grad().to_vector<double>()[static_cast<std::size_t>(i)];
      ASSERT_NEAR(got, want, 1e-7) << which << " " << i;
    }
  }
}

TEST(RecordMany, CarriesTheGradientsOfSeveralOutputs) {
  const auto halves = [](const Tensor& x) {
    const std::int64_t half = x.dim(0) / 2;
    return record_many(
        "halves", {x.array().slice(0, 0, half).clone(), x.array().slice(0, half, {}).clone()}, {&x},
        [shape = x.shape(), half](std::span<const Array> dy, const InputGradients& dx) {
          Array whole = Array::zeros(shape, DType::kF64);
          if (dy[0].defined()) whole.slice(0, 0, half).copy_from(dy[0]);
          if (dy[1].defined()) whole.slice(0, half, {}).copy_from(dy[1]);
          dx.add(0, whole);
        },
        [half](std::span<const Tensor> dy, const TensorGradients& dx) {
          const Tensor none(Array::zeros({half}, DType::kF64));
          dx.add(0, concat({dy[0].defined() ? dy[0] : none, dy[1].defined() ? dy[1] : none}, 0));
        });
  };
  const Tensor x = leaf({1, 2, 3, 4});
  std::vector<Tensor> parts = halves(x);
  backward(sum(parts[0] * parts[1]));
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(3, 4, 1, 2));
  // One output unused, one used twice.
  parts = halves(x);
  EXPECT_THAT(values_of(grad(sum(parts[1] * parts[1]), x)), ElementsAre(0, 0, 6, 8));
  const TensorFunction product = [&](std::span<const Tensor> in) {
    const std::vector<Tensor> both = halves(in[0]);
    return both[0] * both[1] * both[1];
  };
  const std::vector<Array> inputs = {sample_values({6}, 5)};
  EXPECT_EQ(gradcheck(product, inputs), "");
  EXPECT_EQ(gradgradcheck(product, inputs), "");
}

TEST(Hooks, SeeAndReplaceGradients) {
  const Tensor x = leaf({1, 2});
  const Tensor h = x * 3.0;
  std::vector<double> seen;
  HookHandle handle = h.register_hook([&](const Tensor& gradient) {
    seen = values_of(gradient);
    return gradient * 10.0;
  });
  const Tensor loss = sum(h * h);
  backward(loss, GradientSink(), {.keep_graph = true});
  EXPECT_THAT(seen, ElementsAre(6, 12));
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(180, 360));
  handle.remove();
  handle.remove();
  EXPECT_THAT(values_of(grad(loss, x)), ElementsAre(18, 36));
}

TEST(Hooks, OfALeafRunOnceOnTheSumOfItsUses) {
  const Tensor x = leaf({1, 2});
  int calls = 0;
  x.register_hook([&](const Tensor& gradient) {
    ++calls;
    return gradient * -1.0;
  });
  std::vector<double> after;
  x.register_post_accumulate_hook(
      [&](const Array& gradient) { after = gradient.to_vector<double>(); });
  backward(sum(x * x + x));
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(-3, -5));
  backward(sum(x));
  EXPECT_THAT(after, ElementsAre(-4, -6));
}

TEST(Hooks, ThatGiveAnotherShapeAreRefused) {
  const Tensor x = leaf({1, 2});
  x.register_hook([](const Tensor&) { return leaf({1}); });
  EXPECT_THAT(refusal([&] { backward(sum(x * x)); }),
              HasSubstr("got one of shape [1] and type f64 from the hook"));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_THAT(refusal([] { Tensor(Array::zeros({1})).register_hook({}); }),
              HasSubstr("[register_hook] expected a tensor that requires a gradient"));
}

TEST(Hooks, RetainedGradients) {
  const Tensor x = leaf({1, 2});
  Tensor h = x * x;
  EXPECT_FALSE(h.grad().defined());
  h.retain_grad();
  backward(sum(h * 5.0));
  EXPECT_THAT(h.grad().to_vector<double>(), ElementsAre(5, 5));
}

struct ScaledCube {
  static constexpr const char* kName = "scaled_cube";
  static Tensor forward(FunctionContext& context, const Tensor& x, double scale) {
    context.save(x);
    context.save(Tensor(Array::full({}, scale, x.dtype())));
    return x * x * x * scale;
  }
  static std::vector<Tensor> backward(const FunctionContext& context, const Tensor& dy) {
    const Tensor x = context.saved(0);
    return {dy * x * x * context.saved(1) * 3.0};
  }
};

// Keeps its output, which must come back with its history and without owning itself.
struct MyExp {
  static constexpr const char* kName = "my_exp";
  static Tensor forward(FunctionContext& context, const Tensor& x) {
    Tensor y = exp(x);
    context.save(y);
    return y;
  }
  static std::vector<Tensor> backward(const FunctionContext& context, const Tensor& dy) {
    return {dy * context.saved(0)};
  }
};

TEST(CustomFunction, HasGradientsOfEveryOrder) {
  const std::vector<Array> inputs = {sample_values({2, 3}, 4)};
  const TensorFunction cube = [](std::span<const Tensor> in) {
    return apply<ScaledCube>(in[0], 2.0);
  };
  const TensorFunction exponential = [](std::span<const Tensor> in) { return apply<MyExp>(in[0]); };
  const TensorFunction product = [](std::span<const Tensor> in) {
    return custom_function(
        "my_product", {in[0], in[0]}, [](std::span<const Tensor> x) { return x[0] * x[1] * x[1]; },
        [](const CustomBackward& saved, const Tensor& dy) {
          const std::vector<Tensor>& x = saved.inputs;
          return std::vector<Tensor>{dy * x[1] * x[1], dy * x[0] * x[1] * 2.0};
        });
  };
  for (const TensorFunction& function : {cube, exponential, product}) {
    EXPECT_EQ(gradcheck(function, inputs), "");
    EXPECT_EQ(gradgradcheck(function, inputs), "");
  }
  const Tensor x = leaf({0.5});
  Tensor y = apply<MyExp>(x);
  for (int order = 0; order < 4; ++order) {
    EXPECT_THAT(values_of(y), ElementsAre(DoubleEq(std::exp(0.5))));
    y = grad(y, x, {.create_graph = true});
  }
}

// The root and its inverse, whose gradients are of the outputs.
std::vector<Tensor> roots(const Tensor& x, std::vector<bool>* arrived = nullptr) {
  const auto context = std::make_shared<FunctionContext>();
  std::vector<Tensor> outputs;
  {
    const NoGrad no_grad;
    outputs = {sqrt(x), 1.0 / sqrt(x)};
  }
  for (const Tensor& output : outputs) context->save(output);
  return apply_context_many("roots", context, outputs, {&x},
                            [arrived](const FunctionContext& saved, std::span<const Tensor> dy) {
                              if (arrived != nullptr) *arrived = {dy[0].defined(), dy[1].defined()};
                              const Tensor inverse = saved.saved(1);
                              Tensor dx;
                              if (dy[0].defined()) dx = dy[0] * inverse / 2.0;
                              if (dy[1].defined()) {
                                const Tensor other = dy[1] * inverse * inverse * inverse * -0.5;
                                dx = dx.defined() ? dx + other : other;
                              }
                              return std::vector<Tensor>{dx};
                            });
}

TEST(CustomFunction, SeveralOutputsHaveOneBackward) {
  const TensorFunction function = [](std::span<const Tensor> in) {
    const std::vector<Tensor> found = roots(in[0]);
    return found[0] * found[0] * found[1] + found[1];
  };
  const std::vector<Array> inputs = {leaf({0.5, 2, 3}).array()};
  EXPECT_EQ(gradcheck(function, inputs), "");
  EXPECT_EQ(gradgradcheck(function, inputs), "");
  const Tensor x = leaf({4});
  std::vector<bool> arrived;
  backward(sum(roots(x, &arrived)[1]));
  EXPECT_THAT(arrived, ElementsAre(false, true));
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(DoubleEq(-1.0 / 16)));
  const NoGrad no_grad;
  for (const Tensor& output : roots(x)) EXPECT_FALSE(output.requires_grad());
}

TEST(CustomFunction, RefusesGradientsThatDoNotFit) {
  const Tensor x = leaf({1, 2});
  const auto with = [&](std::vector<Tensor> gradients) {
    return refusal([&] {
      backward(sum(custom_function(
          "wrong", {x}, [](std::span<const Tensor> in) { return in[0] * 1.0; },
          [&](const CustomBackward&, const Tensor&) { return gradients; })));
    });
  };
  EXPECT_THAT(with({}), HasSubstr("[wrong] expected 1 gradients from its backward, got 0"));
  EXPECT_THAT(with({leaf({1})}), HasSubstr("expected a gradient [2] f64 of input 0, got [1] f64"));
}

TEST(Functional, JacobianAndHessianHaveClosedForms) {
  const std::vector<Array> inputs = {sample_values({3}, 1), sample_values({2, 3}, 2)};
  const TensorFunction product = [](std::span<const Tensor> in) {
    return reshape(matmul(in[1], reshape(in[0], {3, 1})), {2});
  };
  const std::vector<Array> jacobians = jacobian(product, inputs);
  EXPECT_EQ(jacobians[0].to_vector<double>(), inputs[1].to_vector<double>());
  ASSERT_EQ(jacobians[1].shape(), (Shape{2, 2, 3}));
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 2; ++j) {
      const Array row = jacobians[1].select(0, i).select(0, j);
      const std::vector<double> want =
          i == j ? inputs[0].to_vector<double>() : std::vector<double>(3, 0.0);
      EXPECT_EQ(row.to_vector<double>(), want);
    }
  }
  // x^T A x / 2 with symmetric A = B^T B has the Hessian A; with y^3 beside it a block of zeros.
  const Array b = sample_values({4, 3}, 3);
  const TensorFunction quadratic = [&b](std::span<const Tensor> in) {
    const Tensor v = matmul(Tensor(b), reshape(in[0], {3, 1}));
    return sum(v * v) * 0.5 + sum(pow(in[1], 3.0));
  };
  const std::vector<Array> point = {sample_values({3}, 4), sample_values({2}, 5)};
  const std::vector<std::vector<Array>> blocks = hessian(quadratic, point);
  const std::vector<double> want = values_of(matmul(Tensor(b.transpose(0, 1)), Tensor(b)));
  EXPECT_THAT(blocks[0][0].to_vector<double>(), Pointwise(DoubleNear(1e-12), want));
  EXPECT_THAT(blocks[0][1].to_vector<double>(), testing::Each(0.0));
  const double* const y = point[1].data<double>();
  EXPECT_THAT(blocks[1][1].to_vector<double>(), ElementsAre(6 * y[0], 0, 0, 6 * y[1]));
}

TEST(Functional, ProductsAgreeWithTheMatrices) {
  const std::vector<Array> inputs = {sample_values({3}, 1), sample_values({3}, 2)};
  const std::vector<Array> v = {sample_values({3}, 7), sample_values({3}, 8)};
  const TensorFunction function = [](std::span<const Tensor> in) {
    return concat({tanh(in[0]) * in[1], exp(in[1])}, 0);
  };
  const std::vector<Array> jacobians = jacobian(function, inputs);
  std::vector<double> want(6, 0.0);
  for (std::size_t k = 0; k < 2; ++k) {
    const std::vector<double> product =
        values_of(matmul(Tensor(jacobians[k]), Tensor(v[k].reshape({3, 1}))));
    for (std::size_t i = 0; i < 6; ++i) want[i] += product[i];
  }
  const Product forward = jvp(function, inputs, v);
  EXPECT_THAT(forward.products[0].to_vector<double>(), Pointwise(DoubleNear(1e-12), want));
  const Array weights = sample_values({6}, 9);
  const Product backwards = vjp(function, inputs, weights);
  for (std::size_t k = 0; k < 2; ++k) {
    EXPECT_THAT(backwards.products[k].to_vector<double>(),
                Pointwise(DoubleNear(1e-12), values_of(matmul(Tensor(weights.reshape({1, 6})),
                                                              Tensor(jacobians[k])))));
  }
  const TensorFunction scalar = [&](std::span<const Tensor> in) {
    return sum(function(in) * function(in));
  };
  const std::vector<std::vector<Array>> blocks = hessian(scalar, inputs);
  const Product curvature = hvp(scalar, inputs, v);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<double> row(3, 0.0);
    for (std::size_t j = 0; j < 2; ++j) {
      const std::vector<double> part =
          values_of(matmul(Tensor(blocks[i][j]), Tensor(v[j].reshape({3, 1}))));
      for (std::size_t k = 0; k < 3; ++k) row[k] += part[k];
    }
    EXPECT_THAT(curvature.products[i].to_vector<double>(), Pointwise(DoubleNear(1e-12), row));
  }
}

TEST(Functional, RefusesWhatDoesNotFit) {
  const std::vector<Array> inputs = {sample_values({3}, 1)};
  const TensorFunction square = [](std::span<const Tensor> in) { return in[0] * in[0]; };
  EXPECT_THAT(refusal([&] { hessian(square, inputs); }),
              HasSubstr("[hessian] expected a function with one element, got shape [3]"));
  EXPECT_THAT(refusal([&] { jvp(square, inputs, {}); }), HasSubstr("[jvp] expected a vector"));
  EXPECT_THAT(refusal([&] { vjp(square, inputs, Array::zeros({2}, DType::kF64)); }),
              HasSubstr("[vjp] expected a vector"));
}

// What an educational framework got wrong, and must not come back.
TEST(Defects, TwoBackwardCallsAddUp) {
  const Tensor x = leaf({1});
  backward(x * 3.0);
  backward(x * 5.0);
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(8));
}

TEST(Defects, InputsTakeNoGradientUnlessTold) {
  const Tensor batch(sample_values({4, 3}, 1));
  const Tensor weight(sample_values({2, 3}, 2), true);
  EXPECT_FALSE(batch.requires_grad());
  backward(sum(linear(batch, weight)));
  EXPECT_FALSE(batch.grad().defined());
  EXPECT_TRUE(weight.grad().defined());
}

TEST(Defects, AFlipInALongerGraphHasAGradientWithHistory) {
  const TensorFunction function = [](std::span<const Tensor> in) {
    return tanh(slice(in[0] * in[0], 0, {}, {}, -1)) * in[0];
  };
  const std::vector<Array> inputs = {sample_values({5}, 3)};
  EXPECT_EQ(gradcheck(function, inputs), "");
  EXPECT_EQ(gradgradcheck(function, inputs), "");
}

TEST(Graph, OfAMillionOperations) {
  constexpr int kDepth = 1'000'000;
  const Tensor x = leaf({1});
  Tensor y = x;
  for (int i = 0; i < kDepth; ++i) y = -y;
  backward(y);
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(1));
  for (int i = 0; i < kDepth; ++i) y = -y;
  EXPECT_THAT(values_of(grad(y, y)), ElementsAre(1));
}

TEST(Graph, DeepGradientsOfGradients) {
  constexpr int kDepth = 100'000;
  const Tensor x = leaf({1});
  Tensor y = x * x;
  for (int i = 0; i < kDepth; ++i) y = -y;
  const Tensor first = grad(y, x, {.create_graph = true});
  EXPECT_THAT(values_of(first), ElementsAre(2));
  EXPECT_THAT(values_of(grad(first, x)), ElementsAre(2));
}

}  // namespace
}  // namespace weft::autograd_test
