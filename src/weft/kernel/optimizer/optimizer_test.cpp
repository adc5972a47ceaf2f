#include "weft/kernel/optimizer/optimizer.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/core/flat_loops.h"
#include "weft/kernel/optimizer/optimizer_loops.h"

namespace weft::optimizer_test {
namespace {

std::vector<float> random(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(rng.normal());
  return values;
}

TEST(Sgd, FollowsItsFormulaForThreeSteps) {
  for (const bool nesterov : {false, true}) {
    SgdConstants constants;
    constants.learning_rate = 0.1F;
    constants.momentum = 0.9F;
    constants.weight_decay = 0.01F;
    constants.dampening = nesterov ? 0.0F : 0.5F;
    constants.nesterov = nesterov;
    std::vector<float> parameters = random(1003, 1);
    std::vector<float> state(1003, 0.0F);
    std::vector<double> p(parameters.begin(), parameters.end());
    std::vector<double> m(1003, 0.0);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const std::vector<float> gradients = random(1003, 10 + step);
      constants.first_step = step == 0;
      sgd_step(constants, gradients, state, parameters);
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double g = static_cast<double>(gradients[i]) + 0.01 * p[i];
        m[i] = step == 0 ? g : 0.9 * m[i] + (nesterov ? 1.0 : 0.5) * g;
        p[i] -= 0.1 * (nesterov ? g + 0.9 * m[i] : m[i]);
        ASSERT_NEAR(static_cast<double>(parameters[i]), p[i], 2e-6) << i;
      }
    }
  }
}

TEST(Sgd, NeedsNoStateWithoutMomentum) {
  SgdConstants constants;
  constants.learning_rate = 0.5F;
  std::vector<float> parameters = {1.0F, 2.0F, 3.0F};
  sgd_step(constants, std::vector<float>{2.0F, 0.0F, -2.0F}, {}, parameters);
  EXPECT_EQ(parameters, (std::vector<float>{0.0F, 2.0F, 4.0F}));
  sgd_step(constants, {}, {}, {});
}

TEST(Adam, FollowsItsFormulaForThreeSteps) {
  for (const bool decoupled : {false, true}) {
    AdamConstants constants;
    constants.learning_rate = 0.01;
    constants.weight_decay = 0.1;
    constants.decoupled_weight_decay = decoupled;
    std::vector<float> parameters = random(517, 2);
    std::vector<float> mean(517, 0.0F);
    std::vector<float> variance(517, 0.0F);
    std::vector<double> p(parameters.begin(), parameters.end());
    std::vector<double> m(517, 0.0);
    std::vector<double> v(517, 0.0);
    for (int step = 1; step <= 3; ++step) {
      const std::vector<float> gradients = random(517, 20 + static_cast<std::uint64_t>(step));
      constants.step = step;
      adam_step(constants, gradients, {mean, variance}, parameters);
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double g = static_cast<double>(gradients[i]) + (decoupled ? 0.0 : 0.1 * p[i]);
        if (decoupled) p[i] *= 1.0 - 0.01 * 0.1;
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        const double corrected = v[i] / (1.0 - std::pow(0.999, step));
        p[i] -= 0.01 * (m[i] / (1.0 - std::pow(0.9, step))) / (std::sqrt(corrected) + 1e-8);
        ASSERT_NEAR(static_cast<double>(parameters[i]), p[i], 2e-6) << i;
      }
    }
  }
}

TEST(Optimizer, HasTheSameBitsForAnyThreadCount) {
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    std::vector<float> parameters = random(200001, 3);
    std::vector<float> mean(parameters.size(), 0.1F);
    std::vector<float> variance(parameters.size(), 0.2F);
    adam_step({}, random(parameters.size(), 4), {mean, variance}, parameters);
    SgdConstants constants;
    constants.momentum = 0.9F;
    sgd_step(constants, random(parameters.size(), 5), mean, parameters);
    results.push_back(parameters);
  }
  set_thread_count(1);
  EXPECT_EQ(results[0], results[1]);
}

TEST(FlatLoops, GiveTheSameBitsOnEveryInstructionSet) {
  std::vector<std::vector<float>> results;
  for (const auto& [isa, loops] : loops_that_run(flat_loops_tables)) {
    std::vector<float> parameters = random(1037, 6);
    const std::vector<float> gradients = random(1037, 7);
    loops->relu(parameters.data(), parameters.data(), 0, 500);
    loops->relu_gradient(parameters.data(), gradients.data(), parameters.data(), 250, 700);
    loops->add(gradients.data(), parameters.data(), 3, 1000);
    loops->column_sums({gradients.data(), 100, 10}, parameters.data(), 5, 87);
    results.push_back(parameters);
    EXPECT_EQ(results.back(), results[0]) << "instruction set " << static_cast<int>(isa);
  }
}

// What all loops leave behind, with Values of the same sizes; odd ones included.
template <class Value>
std::vector<Value> run_loops(const OptimizerLoops<Value>& loops) {
  constexpr std::int64_t kRows = 37;
  constexpr std::int64_t kColumns = 53;
  constexpr std::int64_t kSize = kRows * kColumns;
  const auto values = [](std::uint64_t seed) {
    const std::vector<float> drawn = random(kSize, seed);
    return std::vector<Value>(drawn.begin(), drawn.end());
  };
  const auto of = [](double value) { return static_cast<Value>(value); };
  std::vector<Value> p = values(1);
  const std::vector<Value> g = values(2);
  std::vector<Value> a;
  std::vector<Value> b;
  std::vector<Value> c;
  std::vector<Value> seen;
  // Keeps what a loop has left in the states and gives the next one states that are not negative.
  const auto next = [&] {
    for (std::vector<Value>* state : {&a, &b, &c}) {
      seen.insert(seen.end(), state->begin(), state->end());
    }
    a.assign(kSize, of(0.3));
    b.assign(kSize, of(0.2));
    c.assign(kSize, of(0.1));
  };
  next();
  for (const bool nesterov : {false, true}) {
    loops.sgd({g.data(), a.data(), p.data(), of(0.1), of(0.9), of(0.7), of(0.01), nesterov}, 0,
              kSize);
  }
  loops.sgd({g.data(), nullptr, p.data(), of(0.1), 0, 1, of(0.01), false}, 0, kSize);
  next();
  const AdamPass<Value> adam = {g.data(), a.data(), b.data(), p.data(), of(0.9), of(0.1), of(0.99),
                                of(0.01), of(0.1),  of(0.5),  of(1e-8), of(0.1), of(0.9)};
  loops.adam(adam, 0, kSize);
  next();
  loops.amsgrad({adam, c.data()}, 0, kSize);
  next();
  loops.adagrad({g.data(), a.data(), p.data(), of(0.1), of(1e-8), of(0.1)}, 0, kSize);
  next();
  loops.rms_prop({g.data(), a.data(), b.data(), c.data(), p.data(), of(0.1), of(0.9), of(0.1),
                  of(0.9), of(1e-3), of(0.1)},
                 0, kSize);
  next();
  loops.adadelta(
      {g.data(), a.data(), c.data(), p.data(), of(0.1), of(0.9), of(0.1), of(1e-6), of(0.1)}, 0,
      kSize);
  next();
  loops.lion({g.data(), a.data(), p.data(), of(0.1), of(0.9), of(0.1), of(0.99), of(0.01), of(0.9)},
             0, kSize);
  next();
  const FactoredPass<Value> factored = {g.data(), a.data(), b.data(), kColumns};
  loops.factored_update(factored, of(0.9), p.data(), 0, kRows);
  std::vector<double> sums(kColumns);
  loops.column_squares(factored, kRows, sums.data(), 0, kColumns);
  sums.push_back(loops.scaled_squares(factored, 5));
  sums.push_back(loops.sum_of_squares(p.data(), 0, kSize));
  loops.product({p.data(), g.data(), c.data(), kColumns, kRows, of(1.5), of(0.5)}, 0, 37);
  next();
  p.insert(p.end(), seen.begin(), seen.end());
  for (const double sum : sums) p.push_back(static_cast<Value>(sum));
  return p;
}

TEST(OptimizerLoops, HaveTheSameBitsOnEveryInstructionSet) {
  const std::vector<float> single = run_loops(optimizer_buildGeneric.f32);
  const std::vector<double> twofold = run_loops(optimizer_buildGeneric.f64);
  for (const auto& [isa, loops] : loops_that_run(optimizer_build_tables)) {
    EXPECT_EQ(single, run_loops(loops->f32)) << "instruction set " << static_cast<int>(isa);
    EXPECT_EQ(twofold, run_loops(loops->f64)) << "instruction set " << static_cast<int>(isa);
  }
  for (std::size_t i = 0; i < single.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(single[i]), twofold[i], 1e-4 * (1 + std::abs(twofold[i]))) << i;
  }
}

// Beside the formulas in double: what single precision would leave is far above the tolerance.
TEST(OptimizerLoops, ComputeInDoubleWhereTheirValuesAre) {
  AdamConstants constants;
  constants.learning_rate = 0.1;
  std::vector<double> p = {1.0, -2.0};
  std::vector<double> mean(2);
  std::vector<double> variance(2);
  std::vector<double> momentum(2);
  const std::vector<double> g = {0.1, -0.3};
  adam_step<double>(constants, g, {mean, variance}, p);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(mean[i], 0.1 * g[i], 1e-16);
    EXPECT_NEAR(variance[i], 0.001 * g[i] * g[i], 1e-18);
  }
  EXPECT_NEAR(p[0], 1.0 - 0.1 * (0.1 / (0.1 + 1e-8)), 1e-14);
  p = {1.0, -2.0};
  SgdConstants sgd;
  sgd.learning_rate = 0.1;
  sgd.momentum = 0.9;
  sgd_step<double>(sgd, g, momentum, p);
  EXPECT_NEAR(p[1], -2.0 + 0.1 * 0.3, 1e-15);
}

}  // namespace
}  // namespace weft::optimizer_test
