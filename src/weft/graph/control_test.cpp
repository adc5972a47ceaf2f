// while_loop() and if_else(): values and gradients against unrolled code and closed forms, eagerly
// and in replays that take other ways than the recorded run.
#include "weft/graph/control.h"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/base/rng.h"
#include "weft/graph/graph.h"
#include "weft/op/ops.h"

namespace weft::control_test {
namespace {

using ::testing::HasSubstr;

using List = std::vector<Tensor>;

Array random_array(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed, 0);
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(rng.uniform() * 2.0 - 1.0);
  return Array::from(values, shape);
}

Tensor scalar(double value, DType dtype = DType::kF64) {
  return Tensor(Array::full({}, value, dtype), true);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

// Positive where x > limit.
Tensor above(const Tensor& x, double limit) { return relu(x - limit); }

// The square root of a, by Newton's iteration.
Tensor newton(const Tensor& start, const Tensor& a) {
  return while_loop([](Tensors v, Tensors c) { return above(abs(v[0] * v[0] - c[0]), 1e-10); },
                    [](Tensors v, Tensors c) { return List{(v[0] + c[0] / v[0]) * 0.5}; }, {start},
                    {a}, {.iterations_max = 100})[0];
}

TEST(WhileLoop, NewtonFindsTheRootAndItsGradient) {
  for (const double value : {2.0, 9.0, 1e6}) {
    const Tensor a = scalar(value);
    const Tensor root = newton(scalar(1.0), a);
    EXPECT_NEAR(root.item(), std::sqrt(value), 1e-9 * std::sqrt(value));
    backward(root);
    EXPECT_NEAR(a.grad().item(), 0.5 / std::sqrt(value), 1e-6);
  }
}

TEST(WhileLoop, ReplaysIterateAsOftenAsTheirValuesSay) {
  Array a = Array::full({}, 2.0, DType::kF64);
  const Tensor constant(a, true);
  const Tensor start = scalar(1.0);
  Tensor root;
  Graph graph = capture([&] {
    root = newton(start, constant);
    BackwardOptions options;
    options.leaf_gradients = LeafGradients::kOverwrite;
    backward(root, {}, options);
  });
  // 1.0 needs no iteration at all, 1e8 many more than 2.0.
  for (const double value : {1e8, 1.0, 3.0, 1e8, 2.0}) {
    a.fill(value);
    graph.replay();
    const Tensor fresh(Array::full({}, value, DType::kF64), true);
    const Tensor fresh_start = scalar(1.0);
    const Tensor want = newton(fresh_start, fresh);
    backward(want);
    EXPECT_EQ(root.item(), want.item()) << value;
    EXPECT_EQ(constant.grad().item(), fresh.grad().item()) << value;
    EXPECT_EQ(start.grad().item(), fresh_start.grad().item()) << value;
  }
}

// h -> tanh(x_t w + h u + b) over the steps of x [steps, batch, inputs].
struct Rnn {
  Array x = random_array({5, 3, 4}, 1);
  Tensor w = Tensor(random_array({4, 6}, 2), true);
  Tensor u = Tensor(random_array({6, 6}, 3), true);
  Tensor b = Tensor(random_array({6}, 4), true);
  Tensor h = Tensor(random_array({3, 6}, 5), true);

  static Tensor cell(const Tensor& x, const Tensor& h, Tensors c) {
    return tanh(matmul(x, c[0]) + matmul(h, c[1]) + c[2]);
  }
  Tensor unrolled(std::int64_t steps) const {
    Tensor state = h;
    const List weights = {w, u, b};
    for (std::int64_t t = 0; t < steps; ++t) {
      state = cell(Tensor(x.select(0, t)), state, weights);
    }
    return sum(state * state);
  }
  // Step t takes row t of x by a sum over a mask: no value is read on the host.
  Tensor looped(const Tensor& steps) const {
    const List result = while_loop(
        [](Tensors v, Tensors c) { return above(c[4] - v[1], 0.0); },
        [](Tensors v, Tensors c) {
          const Tensor hits = relu(abs(c[5] - v[1]) * -1.0 + 1.0);  // 1 where the index is t
          const Tensor row = sum(c[3] * reshape(hits, {5, 1, 1}), {0});
          return List{cell(row, v[0], c.first(3)), v[1] + 1.0};
        },
        {h, Tensor(Array::zeros({}))},
        {w, u, b, Tensor(x), steps, Tensor(Array::from(std::vector<float>{0, 1, 2, 3, 4}, {5}))});
    return sum(result[0] * result[0]);
  }
  std::vector<Tensor> leaves() const { return {w, u, b, h}; }
};

TEST(WhileLoop, ARecurrentNetworkEqualsTheUnrolledOne) {
  for (const int steps : {0, 1, 5}) {
    const Rnn one;
    const Rnn two;
    const Tensor want = one.unrolled(steps);
    backward(want);
    const Tensor got = two.looped(Tensor(Array::full({}, steps)));
    backward(got);
    EXPECT_NEAR(got.item(), want.item(), 1e-5) << steps;
    for (std::size_t i = 0; i < 4; ++i) {
      const Array g = two.leaves()[i].grad();
      ASSERT_TRUE(g.defined());
      const std::vector<float> values = g.to_vector<float>();
      const Array reference = one.leaves()[i].grad();
      for (std::size_t k = 0; k < values.size(); ++k) {
        const float expected = reference.defined() ? reference.to_vector<float>()[k] : 0.0F;
        EXPECT_NEAR(values[k], expected, 2e-5F) << steps << " leaf " << i << " element " << k;
      }
    }
  }
}

TEST(WhileLoop, CapturedTripCountsDifferBetweenReplays) {
  const Rnn net;
  Array steps = Array::full({}, 3.0);
  Tensor loss;
  const auto run = [](const Rnn& rnn, const Tensor& count) {
    Tensor result = rnn.looped(count);
    BackwardOptions options;
    options.leaf_gradients = LeafGradients::kOverwrite;
    backward(result, {}, options);
    return result;
  };
  Graph graph = capture([&] { loss = run(net, Tensor(steps)); });
  for (const double count : {5.0, 0.0, 1.0, 5.0, 2.0}) {
    steps.fill(count);
    graph.replay();
    const Rnn eager;
    const Tensor want = run(eager, Tensor(Array::full({}, count)));
    EXPECT_EQ(loss.item(), want.item()) << count;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(net.leaves()[i].grad().to_vector<float>(),
                eager.leaves()[i].grad().to_vector<float>())
          << count << " leaf " << i;
    }
  }
  // The stack has grown to five entries; from now on the pool does not change.
  const std::size_t pooled = Storage::pooled_bytes();
  graph.replay();
  EXPECT_EQ(Storage::pooled_bytes(), pooled);
}

// x^(n m) by multiplying in two nested loops; n and m are tensors.
Tensor nested_power(const Tensor& x, const Tensor& n, const Tensor& m) {
  const Tensor zero(Array::zeros({}, DType::kF64));
  return while_loop([](Tensors v, Tensors c) { return above(c[1] - v[1], 0.0); },
                    [](Tensors v, Tensors c) {
                      const List inner =
                          while_loop([](Tensors w, Tensors d) { return above(d[1] - w[1], 0.0); },
                                     [](Tensors w, Tensors d) {
                                       return List{w[0] * d[0], w[1] + 1.0};
                                     },
                                     {v[0], Tensor(Array::zeros({}, DType::kF64))}, {c[0], c[2]});
                      return List{inner[0], v[1] + 1.0};
                    },
                    {Tensor(Array::full({}, 1.0, DType::kF64)), zero}, {x, n, m})[0];
}

TEST(WhileLoop, LoopsNest) {
  Array n = Array::full({}, 2.0, DType::kF64);
  Array m = Array::full({}, 3.0, DType::kF64);
  const Tensor x = scalar(1.25);
  Tensor y;
  Graph graph = capture([&] {
    y = nested_power(x, Tensor(n), Tensor(m));
    BackwardOptions options;
    options.leaf_gradients = LeafGradients::kOverwrite;
    backward(y, {}, options);
  });
  for (const auto& [outer, inner] :
       {std::pair{2.0, 3.0}, std::pair{4.0, 1.0}, std::pair{0.0, 3.0}, std::pair{3.0, 0.0}}) {
    n.fill(outer);
    m.fill(inner);
    graph.replay();
    const double power = outer * inner;
    EXPECT_NEAR(y.item(), std::pow(1.25, power), 1e-12);
    EXPECT_NEAR(x.grad().item(), power * std::pow(1.25, power - 1), 1e-12);
  }
  const Tensor eager = scalar(1.25);
  backward(nested_power(eager, Tensor(Array::full({}, 2.0, DType::kF64)),
                        Tensor(Array::full({}, 3.0, DType::kF64))));
  EXPECT_NEAR(eager.grad().item(), 6 * std::pow(1.25, 5), 1e-12);
}

TEST(WhileLoop, VariablesMaySwapAndIntegersCount) {
  const Tensor a = scalar(2.0);
  const Tensor b = scalar(5.0);
  const auto swap = [&](const Tensor& x, const Tensor& y, int times) {
    return while_loop(
        [](Tensors v, Tensors) { return v[2]; },
        [](Tensors v, Tensors c) {
          return List{v[1], v[0], Tensor(v[2].array().slice(0, 1, {}).contiguous().reshape({1})),
                      v[3] + c[0].detach()};
        },
        {x, y, Tensor(Array::full({1}, times % 2, DType::kI64)), Tensor(Array::zeros({}))},
        {Tensor(Array::full({}, 1.0))});
  };
  // An integer condition of 0: nothing happens.
  const List same = swap(a, b, 0);
  EXPECT_EQ(same[0].item(), 2.0);
  EXPECT_EQ(same[1].item(), 5.0);
  const List result = while_loop([](Tensors v, Tensors) { return above(v[2] * -1.0 + 3.0, 0.0); },
                                 [](Tensors v, Tensors) {
                                   return List{v[1], v[0], v[2] + 1.0};
                                 },
                                 {a, b, Tensor(Array::zeros({}))});
  EXPECT_EQ(result[0].item(), 5.0);
  EXPECT_EQ(result[1].item(), 2.0);
  backward(result[0] * 3.0 + result[1]);
  EXPECT_EQ(a.grad().item(), 1.0);
  EXPECT_EQ(b.grad().item(), 3.0);
}

TEST(WhileLoop, MistakesAreNamed) {
  const Tensor x = scalar(1.0);
  const Tensor weight = scalar(2.0);
  const auto positive = [](Tensors v, Tensors) { return above(v[0], 0.0); };
  EXPECT_THAT(error_of([&] {
                while_loop(positive, [](Tensors v, Tensors) { return List{v[0], v[0]}; }, {x});
              }),
              HasSubstr("[while_loop] expected 1 results, got 2"));
  EXPECT_THAT(error_of([&] {
                while_loop(positive, [](Tensors v, Tensors) { return List{reshape(v[0], {1})}; },
                           {x});
              }),
              HasSubstr("expected result 0 of f64[], got f64[1]"));
  EXPECT_THAT(error_of([&] {
                while_loop(positive, [&](Tensors v, Tensors) { return List{v[0] - weight}; }, {x});
              }),
              HasSubstr("pass that as an argument"));
  EXPECT_THAT(error_of([&] {
                while_loop(positive, [](Tensors v, Tensors) { return List{v[0] + 1.0}; }, {x}, {},
                           {.iterations_max = 10});
              }),
              HasSubstr("at most 10 iterations"));
}

// x log x where x > 1, else 1 - x squared.
Tensor piecewise(const Tensor& x) {
  return if_else(
      above(x, 1.0), [](Tensors o) { return List{o[0] * log(o[0])}; },
      [](Tensors o) { return List{1.0 - o[0] * o[0]}; }, {x})[0];
}

TEST(IfElse, TakesOneBranchAndItsGradient) {
  for (const double value : {3.0, 0.5}) {
    const Tensor x = scalar(value);
    const Tensor y = piecewise(x);
    backward(y);
    const bool big = value > 1.0;
    EXPECT_NEAR(y.item(), big ? value * std::log(value) : 1 - value * value, 1e-12);
    EXPECT_NEAR(x.grad().item(), big ? std::log(value) + 1 : -2 * value, 1e-12);
  }
}

TEST(IfElse, AReplayMayTakeTheOtherBranch) {
  Array value = Array::full({}, 3.0, DType::kF64);
  const Tensor x(value, true);
  Tensor y;
  Graph graph = capture([&] {
    y = piecewise(x * 2.0) + x;
    BackwardOptions options;
    options.leaf_gradients = LeafGradients::kOverwrite;
    backward(y, {}, options);
  });
  for (const double number : {0.1, 4.0, 0.4, 0.6}) {
    value.fill(number);
    graph.replay();
    const Tensor fresh = scalar(number);
    const Tensor want = piecewise(fresh * 2.0) + fresh;
    backward(want);
    EXPECT_EQ(y.item(), want.item());
    EXPECT_EQ(x.grad().item(), fresh.grad().item());
  }
}

TEST(IfElse, StateOutsideIsWrittenByTheChosenBranchAlone) {
  Array counter = Array::zeros({});
  Array flag = Array::zeros({});
  const auto count = [&](Tensors o) {
    Array target = counter;
    target.copy_from((Tensor(counter) + 1.0).array());
    return List{o[0] * 2.0};
  };
  const Tensor x(Array::full({3}, 1.0));
  Tensor y;
  Graph graph = capture([&] {
    y = if_else(Tensor(flag), count, [](Tensors o) { return List{o[0] * 3.0}; }, {x})[0];
  });
  EXPECT_THAT(graph.to_text(), HasSubstr("  graph 1:\n    %"));
  EXPECT_EQ(counter.item(), 0.0);  // the branches ran to be recorded, but that left no trace
  graph.replay();
  EXPECT_EQ(counter.item(), 0.0);
  EXPECT_EQ(y.array().to_vector<float>()[0], 3.0F);
  flag.fill(1.0);
  graph.replay();
  graph.replay();
  EXPECT_EQ(counter.item(), 2.0);
  EXPECT_EQ(y.array().to_vector<float>()[0], 2.0F);
}

TEST(IfElse, MistakesAreNamed) {
  const Tensor x = scalar(1.0);
  const Branch same = [](Tensors o) { return List{o[0]}; };
  const Branch other = [](Tensors o) { return List{reshape(o[0], {1, 1})}; };
  EXPECT_THAT(error_of([&] { capture([&] { if_else(x, same, other, {x}); }); }),
              HasSubstr("[if_else] expected result 0 of f64[], got f64[1, 1]"));
  EXPECT_THAT(error_of([&] { if_else(Tensor(Array::zeros({2})), same, same, {x}); }),
              HasSubstr("a condition of one value"));
}

}  // namespace
}  // namespace weft::control_test
