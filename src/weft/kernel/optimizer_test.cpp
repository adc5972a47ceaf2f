#include "weft/kernel/optimizer.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/kernel/cpu/flat_loops.h"
#include "weft/kernel/cpu/optimizer_loops.h"

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

#if defined(__x86_64__)
TEST(FlatLoops, BothBuildsGiveTheSameBits) {
  if (__builtin_cpu_supports("avx2") == 0) GTEST_SKIP() << "this processor has no AVX2";
  std::vector<std::vector<float>> results;
  for (const FlatLoops* loops : {&kFlatLoopsGeneric, &kFlatLoopsAvx2}) {
    std::vector<float> parameters = random(1037, 6);
    const std::vector<float> gradients = random(1037, 7);
    std::vector<float> mean = random(1037, 8);
    std::vector<float> variance(1037, 0.3F);
    const AdamPass adam{gradients.data(),
                        mean.data(),
                        variance.data(),
                        parameters.data(),
                        0.9F,
                        0.1F,
                        0.999F,
                        0.001F,
                        0.01F,
                        0.5F,
                        1e-8F,
                        0.03F,
                        0.99F};
    loops->adam(adam, 0, 1037);
    for (const bool nesterov : {false, true}) {
      loops->sgd(
          {gradients.data(), mean.data(), parameters.data(), 0.1F, 0.9F, 0.7F, 0.01F, nesterov}, 0,
          1037);
    }
    loops->sgd({gradients.data(), nullptr, parameters.data(), 0.1F, 0.0F, 1.0F, 0.01F, false}, 0,
               1037);
    loops->relu(parameters.data(), parameters.data(), 0, 500);
    loops->relu_gradient(parameters.data(), gradients.data(), parameters.data(), 250, 700);
    loops->add(gradients.data(), parameters.data(), 3, 1000);
    loops->column_sums({gradients.data(), 100, 10}, parameters.data(), 5, 87);
    parameters.insert(parameters.end(), mean.begin(), mean.end());
    parameters.insert(parameters.end(), variance.begin(), variance.end());
    results.push_back(parameters);
  }
  EXPECT_EQ(results[0], results[1]);
}
#endif

// The loops of both instruction sets on the same input, odd sizes included.
TEST(OptimizerLoops, HaveTheSameBitsOnEveryInstructionSet) {
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP();
  std::vector<std::vector<float>> results;
  for (const OptimizerLoops* loops : {&kOptimizerLoopsGeneric, &kOptimizerLoopsAvx2}) {
    constexpr std::int64_t kRows = 37;
    constexpr std::int64_t kColumns = 53;
    constexpr std::int64_t kSize = kRows * kColumns;
    std::vector<float> p = random(kSize, 1);
    const std::vector<float> g = random(kSize, 2);
    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> c;
    std::vector<float> seen;
    // Keeps what a loop has left in the states and gives the next one states that are not negative.
    const auto next = [&] {
      for (std::vector<float>* values : {&a, &b, &c}) {
        seen.insert(seen.end(), values->begin(), values->end());
      }
      a.assign(kSize, 0.3F);
      b.assign(kSize, 0.2F);
      c.assign(kSize, 0.1F);
    };
    next();
    AdamPass adam = {g.data(), a.data(), b.data(), p.data(), 0.9F, 0.1F, 0.99F,
                     0.01F,    0.1F,     0.5F,     1e-8F,    0.1F, 0.9F};
    loops->amsgrad({adam, c.data()}, 0, kSize);
    next();
    loops->adagrad({g.data(), a.data(), p.data(), 0.1F, 1e-8F, 0.1F}, 0, kSize);
    next();
    loops->rms_prop(
        {g.data(), a.data(), b.data(), c.data(), p.data(), 0.1F, 0.9F, 0.1F, 0.9F, 1e-3F, 0.1F}, 0,
        kSize);
    next();
    loops->adadelta({g.data(), a.data(), c.data(), p.data(), 0.1F, 0.9F, 0.1F, 1e-6F, 0.1F}, 0,
                    kSize);
    next();
    loops->lion({g.data(), a.data(), p.data(), 0.1F, 0.9F, 0.1F, 0.99F, 0.01F, 0.9F}, 0, kSize);
    next();
    const FactoredPass factored = {g.data(), a.data(), b.data(), kColumns};
    loops->factored_update(factored, 0.9F, p.data(), 0, kRows);
    std::vector<double> sums(kColumns);
    loops->column_squares(factored, kRows, sums.data(), 0, kColumns);
    sums.push_back(loops->scaled_squares(factored, 5));
    sums.push_back(loops->sum_of_squares(p.data(), 0, kSize));
    loops->product({p.data(), g.data(), c.data(), kColumns, kRows, 1.5F, 0.5F}, 0, 37);
    next();
    p.insert(p.end(), seen.begin(), seen.end());
    for (const double sum : sums) p.push_back(static_cast<float>(sum));
    for (const float value : p) ASSERT_TRUE(std::isfinite(value));
    results.push_back(p);
  }
  EXPECT_EQ(results[0], results[1]);
#endif
}

}  // namespace
}  // namespace weft::optimizer_test
