// Gradients that are absent, sparse or too late: what modules, backward() and optimizers make of
// them together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/array/arena/parameter_arena.h"
#include "weft/autograd/backward.h"
#include "weft/base/rng.h"
#include "weft/graph/graph.h"
#include "weft/nn/containers.h"
#include "weft/nn/embedding.h"
#include "weft/nn/layers.h"
#include "weft/op/embedding.h"
#include "weft/op/ops.h"
#include "weft/optim/optimizer.h"

namespace weft::optimizer_gradients_test {
namespace {

using ::testing::HasSubstr;

std::vector<OptimizerOptions> all_optimizers() {
  std::vector<OptimizerOptions> all;
  for (const std::string& name : optimizer_names()) {
    all.push_back({.name = name, .learning_rate = 0.05, .weight_decay = 0.1});
    all.push_back({.name = name, .learning_rate = 0.05});
    if (name == "sgd" || name == "rmsprop" || name == "muon") all.back().momentum = 0.9;
  }
  return all;
}

Array random_array(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed, 0);
  Array x = Array::empty(shape);
  for (float& value : x.flat<float>()) value = static_cast<float>(rng.normal());
  return x;
}

// Two ways from input to output, of which a step uses one or both.
class TwoWays : public Module {
 public:
  TwoWays() {
    left_ = &register_part("left", std::make_unique<Linear>(4, 4));
    right_ = &register_part("right", std::make_unique<Linear>(4, 4));
    head_ = &register_part("head", std::make_unique<Linear>(4, 2));
  }
  Tensor forward(const Tensor& x) override {
    const Tensor left = left_->forward(x);
    return head_->forward(use_right ? left + right_->forward(x) : left);
  }
  bool use_right = false;

 private:
  Module* left_;
  Module* right_;
  Module* head_;
};

struct Learner {
  explicit Learner(const OptimizerOptions& options) : arena(model.layout()) {
    model.initialize(1);
    model.bind(arena);
    optimizer = *make_optimizer(options, arena);
  }
  void step(const Array& x) {
    arena.zero_gradients();
    backward(mean(model.forward(Tensor(x)) * 3.0));
    optimizer->step();
  }
  std::vector<float> values(const std::string& name) const {
    return arena.parameter(arena.layout().find(name)).to_vector<float>();
  }

  TwoWays model;
  ParameterArena arena;
  std::unique_ptr<Optimizer> optimizer;
};

TEST(AbsentGradients, FrozenAndUnusedParametersStayUnderEveryOptimizer) {
  const Array x = random_array({5, 4}, 1);
  for (const OptimizerOptions& options : all_optimizers()) {
    SCOPED_TRACE(options.name + (options.weight_decay > 0 ? " with decay" : ""));
    Learner learner(options);
    learner.model.use_right = true;
    learner.step(x);  // there is a momentum now
    learner.model.use_right = false;
    learner.model.set_requires_grad(false, "left");
    const std::vector<float> frozen = learner.values("left.weight");
    const std::vector<float> unused = learner.values("right.weight");
    const std::vector<float> head = learner.values("head.weight");
    for (int i = 0; i < 3; ++i) learner.step(x);
    learner.optimizer->step(learner.arena.gradients());
    EXPECT_EQ(learner.values("left.weight"), frozen);
    EXPECT_NE(learner.values("head.weight"), head);
    learner.model.set_requires_grad(true);
    const std::vector<float> moved = learner.values("right.weight");
    learner.model.use_right = true;
    learner.step(x);
    EXPECT_NE(learner.values("left.weight"), frozen);
    EXPECT_NE(learner.values("right.weight"), moved);
    if (options.weight_decay == 0 && options.momentum == 0) continue;
    EXPECT_NE(unused, learner.values("right.weight"));
  }
}

TEST(AbsentGradients, AnUnusedBranchIsSkippedStepByStep) {
  const Array x = random_array({5, 4}, 1);
  for (const OptimizerOptions& options : all_optimizers()) {
    Learner learner(options);
    for (int i = 0; i < 6; ++i) {
      learner.model.use_right = i % 2 == 1;
      const std::vector<float> before = learner.values("right.bias");
      learner.step(x);
      EXPECT_EQ(learner.values("right.bias") != before, i % 2 == 1) << options.name << " " << i;
    }
  }
}

// Such a gradient is there, and momentum and decay go on, also where a graph has computed it.
TEST(AbsentGradients, ZerosThatABackwardWroteAreAGradient) {
  for (const bool captured : {false, true}) {
    Learner learner({.name = "sgd", .learning_rate = 0.1, .weight_decay = 0.5});
    const Array zeros = Array::zeros({5, 4});
    const auto work = [&] { backward(mean(learner.model.forward(Tensor(zeros)))); };
    Graph graph;
    if (captured) graph = capture(work);
    learner.arena.zero_gradients();
    const std::vector<float> left = learner.values("left.weight");
    const std::vector<float> right = learner.values("right.weight");
    captured ? graph.replay() : work();
    learner.optimizer->step();
    EXPECT_NE(learner.values("left.weight"), left) << captured;
    EXPECT_EQ(learner.values("right.weight"), right) << captured;
  }
}

TEST(AbsentGradients, GradientsFromElsewhereCountWhereTheyAreNotZero) {
  Learner learner({.name = "sgd", .learning_rate = 0.1});
  learner.arena.zero_gradients();
  const std::vector<float> before = learner.values("right.bias");
  learner.arena.gradient(learner.arena.layout().find("right.bias")).fill(1);
  learner.optimizer->step();
  EXPECT_NE(learner.values("right.bias"), before);
}

// An embedding and a head, with the embedding's gradient as a whole or as rows.
TEST(SparseRows, EveryOptimizerMovesAnEmbeddingByRowsAsByTheDenseGradient) {
  for (const OptimizerOptions& options : all_optimizers()) {
    SCOPED_TRACE(options.name);
    std::vector<std::vector<float>> tables;
    for (const bool sparse : {false, true}) {
      Sequential model;
      auto embedding = std::make_unique<Embedding>(9, 4);
      auto linear = std::make_unique<Linear>(4, 3);
      const Embedding* const table = embedding.get();
      Linear* const head = linear.get();
      model.add("embed", std::move(embedding)).add("head", std::move(linear));
      model.initialize(2);
      ParameterArena arena(model.layout());
      model.bind(arena);
      const auto optimizer = *make_optimizer(options, arena);
      for (std::int64_t step = 0; step < 4; ++step) {
        const std::vector<std::int64_t> ids = {1, 5, 1, step, 7, 5};
        const Array tokens = Array::from(ids, {6});
        const Array labels = Array::from(std::vector<std::int64_t>{0, 1, 2, 0, 1, 2}, {6});
        arena.zero_gradients();
        if (sparse) {
          const SparseEmbedding looked_up = sparse_embedding(table->weight().array(), tokens);
          backward(cross_entropy(head->forward(looked_up.output), labels));
          const SparseRows rows = sparse_rows(looked_up);
          EXPECT_TRUE(
              optimizer->add_rows(0, rows.rows.flat<std::int64_t>(), rows.values.flat<float>())
                  .ok());
        } else {
          backward(cross_entropy(model.forward(Tensor(tokens)), labels));
        }
        optimizer->step();
      }
      tables.push_back(table->weight().array().to_vector<float>());
    }
    EXPECT_EQ(tables[0], tables[1]);
  }
}

TEST(StepsInPlace, ABackwardThatNeedsTheOldParametersThrows) {
  for (const OptimizerOptions& options : all_optimizers()) {
    Learner learner(options);
    const Array x = random_array({5, 4}, 1);
    learner.step(x);
    const Tensor late = mean(learner.model.forward(Tensor(x)));
    learner.step(x);
    try {
      backward(late);
      ADD_FAILURE() << options.name;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr("written in place by \"optimizer step\""));
    }
  }
}

TEST(StepsInPlace, ABackwardThatNeedsOnlyFrozenParametersDoesNot) {
  Learner learner({.name = "adamw", .learning_rate = 0.1});
  learner.model.set_requires_grad(false);
  learner.model.set_requires_grad(true, "right");
  const Array x = random_array({5, 4}, 1);
  const Tensor input(x, true);
  const Tensor late = mean(learner.model.forward(input));
  learner.model.use_right = true;
  const std::vector<float> right = learner.values("right.weight");
  learner.step(x);
  EXPECT_NE(learner.values("right.weight"), right);
  EXPECT_NO_THROW(backward(late));
  EXPECT_TRUE(input.grad().defined());
}

}  // namespace
}  // namespace weft::optimizer_gradients_test
