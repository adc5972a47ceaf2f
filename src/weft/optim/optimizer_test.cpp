#include "weft/optim/optimizer.h"

#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"

namespace weft::optimizer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int kSteps = 5;

Layout vector_layout(std::int64_t size) {
  Layout layout;
  layout.add("w", {size});
  return layout;
}

void fill_normal_values(Array values, Rng& rng) {
  for (float& value : values.flat<float>()) value = static_cast<float>(rng.normal());
}

// The papers' update rules, value by value in f64 and without any sharing of code.
class Reference {
 public:
  Reference(const OptimizerOptions& options, double value) : o_(options), value_(value) {}
  double value() const { return value_; }

  void step(double g) {
    ++steps_;
    if (o_.name == "sgd") return sgd(g);
    if (o_.name == "adamw") {
      value_ -= o_.learning_rate * o_.weight_decay * value_;
    } else {
      g += o_.weight_decay * value_;
    }
    m_ = o_.beta1 * m_ + (1 - o_.beta1) * g;
    v_ = o_.beta2 * v_ + (1 - o_.beta2) * g * g;
    const double mean = m_ / (1 - std::pow(o_.beta1, steps_));
    const double variance = v_ / (1 - std::pow(o_.beta2, steps_));
    value_ -= o_.learning_rate * mean / (std::sqrt(variance) + o_.epsilon);
  }

 private:
  void sgd(double g) {
    g += o_.weight_decay * value_;
    m_ = steps_ == 1 ? g : o_.momentum * m_ + (1 - o_.dampening) * g;
    value_ -= o_.learning_rate * (o_.nesterov ? g + o_.momentum * m_ : m_);
  }

  OptimizerOptions o_;
  double value_;
  double m_ = 0;
  double v_ = 0;
  int steps_ = 0;
};

std::vector<OptimizerOptions> cases() {
  return {
      {.name = "sgd", .learning_rate = 0.1},
      {.name = "sgd", .learning_rate = 0.1, .momentum = 0.9},
      {.name = "sgd", .learning_rate = 0.1, .momentum = 0.9, .dampening = 0.5},
      {.name = "sgd", .learning_rate = 0.1, .momentum = 0.9, .nesterov = true},
      {.name = "sgd", .learning_rate = 0.1, .weight_decay = 0.01, .momentum = 0.9},
      {.name = "adam", .learning_rate = 0.01},
      {.name = "adam", .learning_rate = 0.01, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.99},
      {.name = "adamw", .learning_rate = 0.01, .weight_decay = 0.1, .epsilon = 1e-6},
  };
}

// One more for every other optimizer; golden tests hold their formulas.
std::vector<OptimizerOptions> all_cases() {
  std::vector<OptimizerOptions> all = cases();
  const std::vector<OptimizerOptions> more = {
      {.name = "adam", .learning_rate = 0.01, .amsgrad = true},
      {.name = "adagrad", .learning_rate = 0.1},
      {.name = "rmsprop", .learning_rate = 0.01, .momentum = 0.9, .centered = true},
      {.name = "adadelta", .learning_rate = 1.0},
      {.name = "lion", .learning_rate = 0.01},
      {.name = "adafactor", .learning_rate = 0.1},
      {.name = "muon", .learning_rate = 0.1, .momentum = 0.9, .nesterov = true},
  };
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::unique_ptr<Optimizer> make_or_die(const OptimizerOptions& options, ParameterArena& arena) {
  Result<std::unique_ptr<Optimizer>> made = make_optimizer(options, arena);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

TEST(Optimizer, FiveStepsFollowThePapersInF64) {
  for (const OptimizerOptions& options : cases()) {
    ParameterArena arena(vector_layout(37));
    Rng rng(3);
    fill_normal_values(arena.parameter(0), rng);
    std::vector<Reference> references;
    for (const float value : arena.parameter(0).flat<float>()) {
      references.emplace_back(options, value);
    }
    const auto optimizer = make_or_die(options, arena);
    for (int step = 0; step < kSteps; ++step) {
      fill_normal_values(arena.gradient(0), rng);
      for (std::size_t i = 0; i < references.size(); ++i) {
        references[i].step(arena.gradients()[i]);
      }
      optimizer->step();
      for (std::size_t i = 0; i < references.size(); ++i) {
        ASSERT_NEAR(arena.parameters()[i], references[i].value(), 2e-6)
            << options.name << " step " << step << " value " << i;
      }
    }
    EXPECT_EQ(optimizer->steps(), kSteps);
  }
}

TEST(Optimizer, FirstAdamStepHasTheSizeOfTheLearningRate) {
  ParameterArena arena(vector_layout(2));
  const auto optimizer = make_or_die({.name = "adam", .learning_rate = 0.125}, arena);
  arena.gradients()[0] = 1e-3F;
  arena.gradients()[1] = -1e3F;
  optimizer->step();
  EXPECT_NEAR(arena.parameters()[0], -0.125, 1e-5);
  EXPECT_NEAR(arena.parameters()[1], 0.125, 1e-6);
}

// Rates that suit the quadratic below; 0.05 where nothing is said.
double rate_for(const std::string& name) {
  static const std::map<std::string, double> kRates = {
      {"adadelta", 20.0}, {"adafactor", 0.3}, {"adagrad", 1.0}, {"muon", 4.0}};
  const auto found = kRates.find(name);
  return found != kRates.end() ? found->second : 0.05;
}

TEST(Optimizer, EveryOptimizerReachesTheMinimumOfAQuadratic) {
  for (const OptimizerDef* def : optimizer_table()) {
    ParameterArena arena(vector_layout(3));
    const float target[] = {1.0F, -2.0F, 0.5F};
    const double rate = rate_for(def->name);
    const auto optimizer =
        make_or_die({.name = def->name, .learning_rate = rate, .relative_step = false}, arena);
    for (int step = 0; step < 1000; ++step) {
      optimizer->set_learning_rate(rate * (1.0 - step / 1000.0));
      for (std::size_t i = 0; i < 3; ++i) {
        const float curvature = static_cast<float>(i + 1);
        arena.gradients()[i] = curvature * (arena.parameters()[i] - target[i]);
      }
      optimizer->step();
    }
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(arena.parameters()[i], target[i], 1e-3) << def->name;
    }
  }
}

TEST(Optimizer, StateInTheArenaAndTheStepCountAreTheWholeState) {
  for (const OptimizerOptions& options : all_cases()) {
    ParameterArena straight(vector_layout(20));
    ParameterArena resumed(vector_layout(20));
    const auto first = make_or_die(options, straight);
    Rng rng(5);
    const auto next_gradient = [&] {
      Array gradient = Array::zeros({32});
      for (std::size_t i = 0; i < 20; ++i) {
        gradient.flat<float>()[i] = static_cast<float>(rng.normal());
      }
      return gradient;
    };
    for (int step = 0; step < 3; ++step) first->step(next_gradient().flat<float>());
    const auto second = make_or_die(options, resumed);
    resumed.parameter(0).copy_from(straight.parameter(0));
    for (const std::string& name : straight.state_names()) {
      resumed.state(name).copy_from(straight.state(name));
    }
    second->set_steps(first->steps());
    for (int step = 0; step < 3; ++step) {
      const Array gradient = next_gradient();
      first->step(gradient.flat<float>());
      second->step(gradient.flat<float>());
    }
    EXPECT_EQ(straight.parameter(0).to_vector<float>(), resumed.parameter(0).to_vector<float>())
        << options.name;
  }
}

TEST(Optimizer, BuffersAndGapsStayAsTheyAre) {
  for (const OptimizerOptions& base : all_cases()) {
    Layout layout;
    layout.add("a", {3});
    layout.add("running_mean", {3}, ParameterKind::kBuffer);
    layout.add("running_var", {1}, ParameterKind::kBuffer);
    layout.add("b", {2}, ParameterKind::kBias);
    ParameterArena arena(layout);
    for (int i = 0; i < arena.size(); ++i) arena.parameter(i).fill(2.0);
    OptimizerOptions options = base;
    options.weight_decay = 0.5;
    const auto optimizer = make_or_die(options, arena);
    for (int step = 0; step < 3; ++step) optimizer->step(arena.gradients());
    EXPECT_THAT(arena.parameter(1).to_vector<float>(), ElementsAre(2.0F, 2.0F, 2.0F));
    EXPECT_EQ(arena.parameter(2).item(), 2.0);
    EXPECT_LT(arena.parameter(0).select(0, 0).item(), 2.0);
    EXPECT_LT(arena.parameter(3).select(0, 1).item(), 2.0);
    for (const std::size_t gap : {3U, 15U, 19U, 33U, 50U, 63U}) {
      EXPECT_EQ(arena.parameters()[gap], 0.0F) << gap;
    }
  }
}

TEST(Optimizer, SameBitsForAnyThreadCount) {
  Layout layout;
  layout.add("first.weight", {300, 401});
  layout.add("second.weight", {70, 33});
  layout.add("bias", {40001}, ParameterKind::kBias);
  layout.add("head.weight", {10, 70});
  for (const OptimizerOptions& options : all_cases()) {
    std::map<int, std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      ParameterArena arena(layout);
      const auto optimizer = make_or_die(options, arena);
      Rng rng(9);
      for (int i = 0; i < arena.size(); ++i) fill_normal_values(arena.parameter(i), rng);
      for (int step = 0; step < 2; ++step) {
        for (int i = 0; i < arena.size(); ++i) fill_normal_values(arena.gradient(i), rng);
        optimizer->step();
      }
      results[threads].assign(arena.parameters().begin(), arena.parameters().end());
    }
    set_thread_count(1);
    EXPECT_EQ(results[1], results[2]) << options.name;
    EXPECT_EQ(results[1], results[3]) << options.name;
  }
}

TEST(Optimizer, AdafactorKeepsOneValueARowAndOneAColumn) {
  Layout layout;
  layout.add("kernel", {64, 32, 3, 3});
  layout.add("bias", {64}, ParameterKind::kBias);
  layout.add("running", {64}, ParameterKind::kBuffer);
  ParameterArena arena(layout);
  const auto optimizer = make_or_die({.name = "adafactor"}, arena);
  EXPECT_EQ(arena.state("variance_rows").size(), 64);
  EXPECT_EQ(arena.state("variance_columns").size(), 32 * 9);
  EXPECT_EQ(arena.state("variance").size(), 64);
}

// Singular values: U V^T has all 1; Newton-Schulz comes near.
TEST(Optimizer, MuonMovesAHiddenMatrixByANearlyOrthogonalOne) {
  Layout layout;
  layout.add("hidden", {6, 4});
  layout.add("head", {3, 6});
  ParameterArena arena(layout);
  const auto optimizer = make_or_die({.name = "muon", .learning_rate = 1.0}, arena);
  Rng rng(5);
  fill_normal_values(arena.gradient(0), rng);
  optimizer->step();
  const std::vector<float> x = arena.parameter(0).to_vector<float>();
  for (std::size_t a = 0; a < 4; ++a) {
    for (std::size_t b = 0; b < 4; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < 6; ++i) {
        product += static_cast<double>(x[i * 4 + a]) * static_cast<double>(x[i * 4 + b]);
      }
      EXPECT_NEAR(product / 1.5, a == b ? 1.0 : 0.0, 0.5);  // the scale is sqrt(6 / 4)
    }
  }
}

TEST(Optimizer, GroupsChangeRateDecayAndFreeze) {
  Layout layout;
  layout.add("a.weight", {2});
  layout.add("a.bias", {2}, ParameterKind::kBias);
  layout.add("b.weight", {2});
  layout.add("norm.weight", {2}, ParameterKind::kNorm);
  ParameterArena arena(layout);
  for (int i = 0; i < arena.size(); ++i) arena.parameter(i).fill(1.0);
  OptimizerOptions options = {.name = "sgd", .learning_rate = 0.5, .weight_decay = 0.5};
  options.groups = *parse_parameter_groups("a.weight rate=2 ; b.* frozen");
  options.decay_biases_and_norms = false;
  const auto optimizer = make_or_die(options, arena);
  for (int i = 0; i < arena.size(); ++i) arena.gradient(i).fill(1.0);
  optimizer->step();
  EXPECT_EQ(arena.parameter(0).to_vector<float>()[1], -0.5F);  // 1 - 0.5 * 2 * (1 + 0.5 * 1)
  EXPECT_EQ(arena.parameter(1).to_vector<float>()[0], 0.5F);
  EXPECT_EQ(arena.parameter(2).to_vector<float>()[0], 1.0F);
  EXPECT_EQ(arena.parameter(3).to_vector<float>()[1], 0.5F);
  options.groups = *parse_parameter_groups("c.* frozen");
  EXPECT_THAT(make_optimizer(options, arena).status().message(), HasSubstr("got \"c.*\""));
}

TEST(Optimizer, AStepOfRowsIsAStepWhoseOtherRowsHaveNoGradient) {
  Layout layout;
  layout.add("first", {3});
  layout.add("table", {7, 5});
  std::vector<OptimizerOptions> all = all_cases();
  all.push_back({.name = "sgd", .learning_rate = 0.1, .weight_decay = 0.1});
  for (const OptimizerOptions& options : all) {
    SCOPED_TRACE(options.name);
    ParameterArena dense(layout);
    ParameterArena sparse(layout);
    const auto by_all = make_or_die(options, dense);
    const auto by_rows = make_or_die(options, sparse);
    dense.use(0)->trained = false;
    sparse.use(1)->watched = true;  // and no backward writes it
    sparse.use(0)->trained = false;
    Rng rng(3);
    fill_normal_values(dense.parameter(1), rng);
    sparse.parameter(1).copy_from(dense.parameter(1));
    const std::vector<std::int64_t> rows = {0, 3, 6};
    for (int step = 0; step < 3; ++step) {
      Array values = Array::zeros({3, 5});
      fill_normal_values(values, rng);
      dense.zero_gradients();
      for (std::int64_t i = 0; i < 3; ++i) {
        dense.gradient(1)
            .select(0, rows[static_cast<std::size_t>(i)])
            .copy_from(values.select(0, i));
      }
      by_all->step();
      sparse.zero_gradients();
      EXPECT_TRUE(by_rows->add_rows(1, rows, values.flat<float>()).ok());
      by_rows->step();
      EXPECT_EQ(dense.parameter(1).to_vector<float>(), sparse.parameter(1).to_vector<float>());
    }
    EXPECT_FALSE(by_rows->add_rows(1, std::vector<std::int64_t>{7}, std::vector<float>(5)).ok());
    EXPECT_FALSE(
        by_rows->add_rows(1, std::vector<std::int64_t>{2, 2}, std::vector<float>(10)).ok());
    EXPECT_FALSE(by_rows->add_rows(1, std::vector<std::int64_t>{2}, std::vector<float>(4)).ok());
    const std::vector<float> before = sparse.parameter(0).to_vector<float>();
    EXPECT_TRUE(by_rows->add_rows(0, std::vector<std::int64_t>{1}, std::vector<float>(1)).ok());
    by_rows->step();
    EXPECT_EQ(sparse.parameter(0).to_vector<float>(), before);
  }
}

TEST(Optimizer, RowsThatAreGivenTwiceAddUp) {
  Layout layout;
  layout.add("table", {4, 2});
  for (const char* name : {"adagrad", "adamw"}) {
    ParameterArena dense(layout);
    ParameterArena sparse(layout);
    sparse.use(0)->watched = true;
    const auto by_all = make_or_die({.name = name, .learning_rate = 0.1}, dense);
    const auto by_rows = make_or_die({.name = name, .learning_rate = 0.1}, sparse);
    dense.gradient(0).select(0, 1).fill(3);
    dense.gradient(0).select(0, 2).fill(1);
    by_all->step();
    const std::vector<float> ones(4, 1.0F);
    const std::vector<float> twos(2, 2.0F);
    EXPECT_TRUE(by_rows->add_rows(0, std::vector<std::int64_t>{1, 2}, ones).ok());
    EXPECT_TRUE(by_rows->add_rows(0, std::vector<std::int64_t>{1}, twos).ok());
    by_rows->step();
    EXPECT_EQ(sparse.parameter(0).to_vector<float>(), dense.parameter(0).to_vector<float>())
        << name;
  }
}

// A parameter that is skipped now and then goes the way of one that sees the other steps only.
TEST(Optimizer, AStepWithoutAGradientDoesNotCount) {
  Layout layout;
  layout.add("hidden.weight", {6, 4});
  layout.add("late.weight", {6, 4});
  layout.add("bias", {5}, ParameterKind::kBias);
  layout.add("head.weight", {3, 6});
  std::vector<OptimizerOptions> all = all_cases();
  for (OptimizerOptions& options : all) options.weight_decay = 0.1;
  for (const OptimizerOptions& options : all) {
    ParameterArena arena(layout);
    ParameterArena alone(layout);
    const auto optimizer = make_or_die(options, arena);
    const auto only = make_or_die(options, alone);
    Rng rng(7);
    for (int i = 0; i < arena.size(); ++i) {
      fill_normal_values(arena.parameter(i), rng);
      alone.parameter(i).copy_from(arena.parameter(i));
      arena.use(i)->watched = true;
    }
    arena.use(3)->trained = false;
    const std::vector<float> frozen = arena.parameter(3).to_vector<float>();
    for (int step = 0; step < 6; ++step) {
      arena.zero_gradients();
      alone.zero_gradients();
      fill_normal_values(arena.gradient(0), rng);
      fill_normal_values(arena.gradient(3), rng);
      if (step == 2 || step == 3 || step == 5) {
        // In the last of them all is 0, and still a gradient.
        if (step != 5) fill_normal_values(arena.gradient(1), rng);
        arena.use(1)->written = true;
        alone.gradient(1).copy_from(arena.gradient(1));
        only->step();
      }
      optimizer->step();
      EXPECT_EQ(arena.parameter(1).to_vector<float>(), alone.parameter(1).to_vector<float>())
          << options.name << " step " << step;
    }
    EXPECT_EQ(arena.parameter(3).to_vector<float>(), frozen) << options.name;
    EXPECT_EQ(optimizer->steps(), 6);
    optimizer->step(arena.gradients());
    EXPECT_EQ(arena.parameter(3).to_vector<float>(), frozen) << options.name;
  }
}

TEST(Optimizer, AStepIsAWriteInPlace) {
  Layout layout;
  layout.add("a", {40});
  layout.add("frozen", {20});
  layout.add("b", {7});
  ParameterArena arena(layout);
  const auto optimizer = make_or_die({.name = "muon", .momentum = 0.9}, arena);
  arena.use(1)->trained = false;
  const Storage& storage = *arena.parameter_buffer().storage();
  const std::uint64_t before = storage.version();
  optimizer->step(arena.gradients());
  const auto writer = [&](std::size_t first, std::size_t last) {
    const char* const name = storage.writer_since(before, first * 4, last * 4);
    return name == nullptr ? std::string() : std::string(name);
  };
  EXPECT_EQ(writer(0, 40), "optimizer step");
  EXPECT_EQ(writer(48, 68), "");
  EXPECT_EQ(writer(80, 81), "optimizer step");
}

TEST(ParameterGroups, AreReadFromText) {
  const auto groups = parse_parameter_groups(" embed* rate=0.1 decay=0 ;kind:norm decay=0.5;; ");
  ASSERT_TRUE(groups.ok());
  ASSERT_EQ(groups->size(), 2U);
  EXPECT_EQ(groups->at(0).pattern, "embed*");
  EXPECT_EQ(groups->at(0).rate_factor, 0.1);
  EXPECT_EQ(groups->at(0).weight_decay, 0.0);
  EXPECT_EQ(groups->at(1).kind, ParameterKind::kNorm);
  EXPECT_TRUE(parse_parameter_groups("")->empty());
  for (const char* text : {"a", "a rate=", "a rate=x", "a rate=-1", "a decay=nan", "a frost",
                           "kind:buffer decay=0", "kind: frozen"}) {
    EXPECT_EQ(parse_parameter_groups(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(ParameterGroups, PatternsHaveStarsAndQuestionMarks) {
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("a*b*c", "aXbYbZc"));
  EXPECT_TRUE(matches_pattern("h.?.w*", "h.3.weight"));
  EXPECT_FALSE(matches_pattern("h.?.w*", "h.13.weight"));
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_FALSE(matches_pattern("a*b", "abc"));
  EXPECT_FALSE(matches_pattern("*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

TEST(Optimizer, UnknownNamesAndValuesOutOfRangeAreRefused) {
  ParameterArena arena(vector_layout(1));
  const auto refusal = [&](const OptimizerOptions& options) {
    const auto made = make_optimizer(options, arena);
    EXPECT_EQ(made.status().code(), Code::kInvalidArgument);
    return made.status().message();
  };
  EXPECT_THAT(refusal({.name = "lyon"}),
              HasSubstr("one of adadelta, adafactor, adagrad, adam, adamw, lion, muon, rmsprop, "
                        "sgd, got \"lyon\""));
  EXPECT_THAT(refusal({.name = "rmsprop", .smoothing = 1.0}), HasSubstr("smoothing"));
  EXPECT_THAT(refusal({.name = "adafactor", .clip_threshold = 0.0}), HasSubstr("clip_threshold"));
  EXPECT_THAT(refusal({.learning_rate = -1}), HasSubstr("learning_rate"));
  EXPECT_THAT(refusal({.learning_rate = std::nan("")}), HasSubstr("learning_rate"));
  EXPECT_THAT(refusal({.weight_decay = -0.1}), HasSubstr("weight_decay"));
  EXPECT_THAT(refusal({.momentum = 1.0}), HasSubstr("momentum"));
  EXPECT_THAT(refusal({.name = "adam", .beta1 = 1.0}), HasSubstr("beta1"));
  EXPECT_THAT(refusal({.name = "adam", .beta2 = -0.1}), HasSubstr("beta2"));
  EXPECT_THAT(refusal({.nesterov = true}), HasSubstr("nesterov"));
  EXPECT_TRUE(arena.state_names().empty());
}

TEST(Optimizer, SgdWithoutMomentumKeepsNoState) {
  ParameterArena arena(vector_layout(1));
  const auto plain = make_or_die({.name = "sgd"}, arena);
  EXPECT_TRUE(arena.state_names().empty());
  const auto momentum = make_or_die({.name = "sgd", .momentum = 0.9}, arena);
  EXPECT_THAT(arena.state_names(), ElementsAre("momentum", "steps"));
}

}  // namespace
}  // namespace weft::optimizer_test
