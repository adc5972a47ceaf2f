// Graphs of arrays and tensors: replays give eager's bits, passes change no value, memory is
// planned, and what cannot be captured says so.
#include "weft/graph/graph.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/array/launch.h"
#include "weft/array/map.h"
#include "weft/autograd/backward.h"
#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/ops.h"

namespace weft::graph_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Array random_array(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed, 0);
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(rng.uniform() * 2.0 - 1.0);
  return Array::from(values, shape);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// y = f(x) eagerly for one x, captured, then replayed with the values of another.
void expect_replay_equals_eager(const std::function<Tensor(const Tensor&)>& f, const Shape& shape,
                                const CaptureOptions& options = {}) {
  Array x = random_array(shape, 1);
  Tensor y;
  Graph graph = capture([&] { y = f(Tensor(x)); }, options);
  for (std::uint64_t seed = 2; seed < 5; ++seed) {
    x.copy_from(random_array(shape, seed));
    graph.replay();
    EXPECT_EQ(y.array().to_vector<float>(), f(Tensor(x)).array().to_vector<float>()) << seed;
  }
}

Tensor long_chain(const Tensor& x) {
  const Tensor a = exp(x * 0.5) + 1.0;
  const Tensor b = a * a - x;  // `a` and `x` have several users
  const Tensor c = sqrt(abs(b) + 0.5) / a;
  return tanh(c) * sigmoid(b) + c;
}

TEST(Graph, AReplaySeesThePresentValuesOfOuterArrays) {
  expect_replay_equals_eager([](const Tensor& x) { return x * x + 1.0; }, {7, 5});
}

TEST(Graph, ChainsWithSeveralUsersAreFusedAndGiveTheSameBits) {
  for (const Shape& shape : {Shape{3}, Shape{17, 31}, Shape{70'001}, Shape{0, 4}}) {
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      expect_replay_equals_eager(long_chain, shape);
      expect_replay_equals_eager(long_chain, shape, {.fuse = false});
      expect_replay_equals_eager(long_chain, shape, {.prune = false, .reuse_memory = false});
    }
  }
  set_thread_count(1);
  const Tensor x(random_array({100, 100}, 3));
  Tensor y;
  const Graph graph = capture([&] { y = long_chain(x); });
  EXPECT_GT(graph.report().fused, 8);
  EXPECT_LT(graph.report().nodes, 3);
  EXPECT_THAT(graph.to_text(), HasSubstr("fused(mul exp add"));
}

TEST(Graph, ChainsBroadcastRowsColumnsAndScalars) {
  const Tensor row(random_array({31}, 5));
  const Tensor column(random_array({17, 1}, 6));
  const Tensor one(random_array({}, 7));
  expect_replay_equals_eager(
      [&](const Tensor& x) { return tanh((x + row) * column - one) * x.detach() + row * 2.0; },
      {17, 31});
  expect_replay_equals_eager(
      [&](const Tensor& x) { return exp(transpose(x, 0, 1) + row) * column; }, {31, 17});
}

// The captured number lives in the node, not on the stack of the function that ran first.
TEST(Graph, AFunctionOfOnesOwnIsFusedWithItsNeighbours) {
  const auto leaky = [](const Array& x, double slope) {
    const auto f = [slope](auto v) { return v < 0 ? slope * v : v; };
    return Tensor(map_floating("leaky", f, x));
  };
  const auto f = [&](const Tensor& x) { return exp(leaky((x * x - 1.0).array(), 0.25)) + 1.0; };
  for (const Shape& shape : {Shape{3}, Shape{70'001}, Shape{0, 4}}) {
    const NoGrad no_grad;
    expect_replay_equals_eager(f, shape);
  }
  const Tensor x(random_array({100}, 3));
  Tensor y;
  const Graph graph = capture([&] { y = f(x); });
  EXPECT_THAT(graph.to_text(), HasSubstr("leaky"));
  EXPECT_EQ(graph.report().nodes, 1);
}

TEST(Graph, WorkBetweenTheLinksOfAChainIsRespected) {
  // The sum reads what the chain makes; the chain then reads the sum.
  expect_replay_equals_eager(
      [](const Tensor& x) {
        const Tensor a = exp(x);
        const Tensor total = sum(a);
        return a / total + x;
      },
      {9, 9});
  // Writes in place between two readers.
  Array x = random_array({50}, 1);
  Array counter = Array::zeros({50});
  Array before;
  Array after;
  Graph graph = capture([&] {
    before = binary(BinaryOp::kMul, counter, 2.0);
    accumulate(x, counter);
    after = binary(BinaryOp::kMul, counter, 2.0);
  });
  for (int i = 2; i < 5; ++i) {
    graph.replay();
    const float sum = static_cast<float>(i) * x.to_vector<float>()[7];
    EXPECT_NEAR(after.to_vector<float>()[7], 2.0F * sum, 1e-5F);
    EXPECT_NEAR(before.to_vector<float>()[7], 2.0F * (sum - x.to_vector<float>()[7]), 1e-5F);
  }
}

TEST(Graph, WorkWithoutEffectIsDropped) {
  const Tensor x(random_array({4, 4}, 1));
  Tensor y;
  const Graph graph = capture([&] {
    const Tensor unused = matmul(exp(x), x);
    y = x + 1.0;
  });
  EXPECT_EQ(graph.report().launches, 3);
  EXPECT_EQ(graph.report().dropped, 2);
  EXPECT_EQ(graph.report().nodes, 1);
}

TEST(Graph, MemoryIsSharedByArraysThatAreNotAliveAtOnce) {
  const Tensor x(random_array({64, 256}, 1));
  const auto deep = [&] {
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = softmax(y, -1) * 3.0;
    return y;
  };
  Tensor y;
  Graph graph = capture([&] { y = deep(); });
  const GraphReport& report = graph.report();
  // Two or three arrays of the chain at once, of 20.
  EXPECT_LE(report.planned_bytes, std::size_t{3} * 64 * 256 * 4);
  EXPECT_GT(report.unshared_bytes, std::size_t{20} * 64 * 256 * 4);
  EXPECT_LE(report.planned_bytes, report.recorded_bytes);
  graph.replay();
  EXPECT_EQ(y.array().to_vector<float>(), deep().array().to_vector<float>());
}

TEST(Graph, AReplayAllocatesNothing) {
  const Tensor x(random_array({32, 64}, 1));
  const Tensor w(random_array({64}, 2), true);
  Tensor loss;
  Graph graph = capture([&] {
    loss = mean(tanh(softmax(x * w, -1)));
    backward(loss);
  });
  graph.replay();
  const std::uint64_t made = Storage::made();
  for (int i = 0; i < 5; ++i) graph.replay();
  EXPECT_EQ(Storage::made(), made);
}

TEST(Graph, WhatKernelsNeedForThemselvesComesFromThePool) {
  const Tensor x(random_array({32, 64}, 1));
  const Tensor w(random_array({10, 64}, 2), true);
  Graph graph = capture([&] { backward(mean(tanh(linear(x, w, Tensor())))); });
  graph.replay();
  const std::size_t pooled = Storage::pooled_bytes();
  for (int i = 0; i < 5; ++i) graph.replay();
  EXPECT_EQ(Storage::pooled_bytes(), pooled);
}

TEST(Graph, GradientsAccumulateOrAreReplacedAsInTheRun) {
  const Array x = random_array({8, 3}, 1);
  Tensor w(random_array({3}, 2), true);
  Array gradient = Array::zeros({3});
  w.set_grad_storage(gradient);
  Graph add = capture([&] { backward(sum(exp(Tensor(x) * w))); });
  const std::vector<float> once = gradient.to_vector<float>();
  add.replay();
  EXPECT_NEAR(gradient.to_vector<float>()[0], 2 * once[0], 1e-5F);
  Graph replace = capture([&] {
    BackwardOptions options;
    options.leaf_gradients = LeafGradients::kOverwrite;
    backward(sum(exp(Tensor(x) * w)), {}, options);
  });
  replace.replay();
  EXPECT_EQ(gradient.to_vector<float>(), once);
}

TEST(Graph, TheSinkIsCalledInEachReplayWhenAGradientIsReady) {
  Tensor a(random_array({5}, 1), true);
  Tensor b(random_array({5}, 2), true);
  a.set_parameter_id(ParameterId(0));
  b.set_parameter_id(ParameterId(1));
  std::vector<std::pair<int, float>> calls;
  const auto step = [&] {
    BackwardOptions options;
    options.leaf_gradients = LeafGradients::kOverwrite;
    backward(
        sum(tanh(a * 2.0) * b),
        [&](ParameterId id, const Array& gradient) {
          calls.emplace_back(static_cast<int>(id.value()), gradient.to_vector<float>()[0]);
        },
        options);
  };
  Graph graph = capture(step);
  const auto recorded = std::exchange(calls, {});
  ASSERT_EQ(recorded.size(), 2U);
  graph.replay();
  EXPECT_EQ(std::exchange(calls, {}), recorded);
  Array(a.array()).fill(0.25);
  graph.replay();
  const auto replayed = std::exchange(calls, {});
  step();
  EXPECT_EQ(calls, replayed);
  EXPECT_NE(calls, recorded);
}

TEST(Graph, ABackwardThatNeedsWhatAReplayHasWrittenSaysSo) {
  Array x = random_array({6, 4}, 1);
  Array counter = Array::zeros({8});
  Tensor features;
  Graph graph = capture([&] {
    features = tanh(Tensor(x));
    Array half = counter.slice(0, 0, 4);
    accumulate(Array::full({4}, 1.0), half);
  });
  const Tensor w(random_array({6, 4}, 2), true);
  const Tensor loss = sum(features * w);
  const Tensor untouched = sum(slice(Tensor(counter), 0, 4, 8) * slice(reshape(w, {24}), 0, 0, 4));
  graph.replay();
  EXPECT_THAT(error_of([&] { backward(loss); }), HasSubstr("written in place by \"replay\""));
  EXPECT_EQ(error_of([&] { backward(untouched); }), "");
}

TEST(Graph, InputsCanBeRebound) {
  const Array recorded = random_array({6, 4}, 1);
  Tensor y;
  Graph graph = capture([&] { y = softmax(slice(Tensor(recorded), 0, 1, 5), -1) * 2.0; });
  const Array batches = random_array({3, 6, 4}, 2);
  for (int i = 0; i < 3; ++i) {
    const Array batch = batches.select(0, i);
    ASSERT_TRUE(graph.rebind(i == 0 ? recorded : batches.select(0, i - 1), batch));
    graph.replay();
    EXPECT_EQ(y.array().to_vector<float>(),
              (softmax(slice(Tensor(batch), 0, 1, 5), -1) * 2.0).array().to_vector<float>());
  }
  EXPECT_FALSE(graph.rebind(random_array({2}, 1), random_array({2}, 1)));
  EXPECT_THAT(error_of([&] {
                graph.rebind(batches.select(0, 2), random_array({4, 6}, 1));
              }),
              HasSubstr("[rebind] expected a contiguous array of shape [6, 4]"));
  EXPECT_THAT(error_of([&] {
                graph.rebind(batches.select(0, 2).slice(0, 0, 2), random_array({2, 4}, 1));
              }),
              HasSubstr("holds all that the graph uses"));
}

TEST(Graph, ConstantsOfTheHostAreKeptAndPutBack) {
  const Array x = random_array({3}, 1);
  Array plain;
  Array changed;
  Graph graph = capture([&] {
    const Array constant = Array::from(std::vector<float>{1, 2, 3}, {3});
    plain = binary(BinaryOp::kAdd, x, constant);
    changed = Array::from(std::vector<float>{1, 2, 3}, {3});
    accumulate(x, changed);
  });
  const std::vector<float> want = plain.to_vector<float>();
  graph.replay();
  graph.replay();
  EXPECT_EQ(plain.to_vector<float>(), want);
  EXPECT_EQ(changed.to_vector<float>(), want);
}

TEST(Graph, WhatCannotBeCapturedSaysSo) {
  const Tensor x(random_array({3}, 1));
  EXPECT_THAT(error_of([&] { capture([&] { sum(x).item(); }); }),
              HasSubstr("\"item\" reads values on the host"));
  EXPECT_THAT(error_of([&] { capture([&] { x.array().to_vector<float>(); }); }),
              HasSubstr("where(), if_else() or while_loop()"));
  EXPECT_THAT(error_of([&] {
                capture([&] {
                  Array y = Array::empty({3});
                  y.data<float>()[0] = 1;  // outside of any launch
                  binary(BinaryOp::kAdd, y, y);
                });
              }),
              HasSubstr("\"add\" reads an array that was made in this run"));
  EXPECT_THAT(error_of([&] { capture([&] { capture([] {}); }); }), HasSubstr("[capture]"));
  EXPECT_EQ(current_recorder(), nullptr);
  EXPECT_EQ(sum(x).array().size(), 1);
}

TEST(Graph, TextDotAndTraceNameEveryNode) {
  const Tensor x(random_array({2, 3}, 1));
  const Tensor w(random_array({3, 4}, 2));
  Tensor y;
  Graph graph = capture([&] { y = exp(matmul(x, w) + 1.0); });
  graph.set_name(x.array(), "batch");
  graph.set_name(w.array(), "say \"weight\"");
  const std::string text = graph.to_text();
  EXPECT_THAT(text, HasSubstr("matmul(batch f32[2, 3], say \"weight\" f32[3, 4])"));
  EXPECT_THAT(text, HasSubstr("f32[2, 4] = fused(add exp)("));
  const std::string dot = graph.to_dot();
  EXPECT_THAT(dot, HasSubstr("digraph weft {"));
  EXPECT_THAT(dot, HasSubstr("[label=\"say \\\"weight\\\"\", shape=ellipse]"));
  const GraphTrace trace = graph.replay_timed(SystemClock());
  ASSERT_EQ(trace.size(), 2U);
  EXPECT_GE(trace[1].start_us, trace[0].start_us + trace[0].duration_us);
  EXPECT_EQ(trace[0].result, "f32[2, 4]");
  const std::string json = to_chrome_trace(trace);
  EXPECT_THAT(json, HasSubstr("\"name\": \"fused(add exp)\""));
  EXPECT_THAT(json, HasSubstr("\"ph\": \"X\""));
  EXPECT_THAT(to_table(trace), HasSubstr("matmul"));
  EXPECT_THAT(to_table({}), Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace weft::graph_test
