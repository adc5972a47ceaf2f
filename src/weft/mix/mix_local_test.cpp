// Local updates against closed forms; and numbers in place of models: the byte, the derivative, the
// directions that all draw alike, and a group whose members hold one model.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/mix/local/mix_local_def.h"
#include "weft/mix/local/test_logistic.h"
#include "weft/mix/test_mix_group.h"

namespace weft::mix_local_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(MixLocal, SharpnessIsThatOfTheClosedForm) {
  // The gradient of |x|^2 / 2 at x (1 + rho / |x|) is x (1 + rho / |x|).
  QuadraticLearner learner({{0, 0, 0}}, 0.1F, 0);
  std::vector<float> model = {3, 0, 4};
  const MixLocal local = *MixLocal::parse("sam:rho=0.5", 1);
  ASSERT_TRUE(local.run({.member = 0, .first_step = 0, .steps = 1}, learner, model).ok());
  const float kept = 1 - 0.1F * (1 + 0.5F / 5);
  EXPECT_THAT(model, Pointwise(FloatNear(1e-6F), std::vector<float>{3 * kept, 0, 4 * kept}));
}

TEST(MixLocal, TheProximalTermPullsBack) {
  // From x0 = 0 to the target 1: the fixed point of x = (1 + mu x0) / (1 + mu).
  QuadraticLearner learner({{1, 1, 1}}, 0.1F, 0);
  std::vector<float> model = {0, 0, 0};
  const MixLocal local = *MixLocal::parse("prox:mu=3", 1);
  ASSERT_TRUE(local.run({.member = 0, .first_step = 0, .steps = 200}, learner, model).ok());
  EXPECT_NEAR(model[0], 0.25, 1e-6);
}

TEST(MixLocal, AGradientIsThatOfTheLossAndThePenalty) {
  QuadraticLearner learner({{1, 1, 1}}, 0.1F, 0);
  std::vector<float> model = {3, 0, 1};
  const MixLocal local = *MixLocal::parse("gradient:l2=0.5", 1);
  EXPECT_TRUE(local.gives_gradients());
  ASSERT_TRUE(local.run({.member = 0, .first_step = 0, .steps = 1}, learner, model).ok());
  EXPECT_THAT(model, ElementsAre(2 + 1.5F, -1.0F, 0.5F));
}

TEST(MixLocal, WorkIsTheSameWhateverItsPieces) {
  for (const MixLocalDef* const def : mix_locals()) {
    // Depends on where a piece begins, or is no sequence of steps of the optimizer.
    if (def->name == "prox" || def->run != nullptr) continue;
    QuadraticLearner learner({{1, -1, 2}}, 0.1F, 1);
    const MixLocal local = *MixLocal::parse(def->name, 1);
    std::vector<float> once = {0, 0, 0};
    std::vector<float> pieces = once;
    ASSERT_TRUE(local.run({0, 0, 6}, learner, once).ok());
    ASSERT_TRUE(local.run({0, 0, 2}, learner, pieces).ok());
    ASSERT_TRUE(local.run({0, 2, 4}, learner, pieces).ok());
    EXPECT_EQ(once, pieces) << def->name;
  }
}

// --- Numbers.

float through_a_byte(const MixLocal& local, float number) {
  return local.unpack(local.pack(std::vector<float>{number}))->front();
}

// What number 1 of a piece of work stands for.
std::vector<float> direction(const MixLocal& local, std::uint64_t version, std::uint32_t member,
                             std::size_t elements) {
  std::vector<float> out(elements);
  local.replay(version, member, std::vector<float>{1}, out);
  return out;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

TEST(MixSpsa, EveryByteButOneIsANumberOfItsOwn) {
  const MixLocal local = *MixLocal::parse("spsa", 1);
  for (int byte = 0; byte < 256; ++byte) {
    const Bytes one = {static_cast<std::uint8_t>(byte)};
    const Result<std::vector<float>> number = local.unpack(one);
    if (byte == 0x80) {
      EXPECT_EQ(number.status().code(), Code::kCorrupt);
      EXPECT_THAT(number.status().message(), HasSubstr("0x80"));
    } else {
      ASSERT_TRUE(number.ok()) << byte;
      EXPECT_EQ(local.pack(*number), one);
    }
  }
  EXPECT_EQ(local.unpack({}).status().code(), Code::kCorrupt);
}

TEST(MixSpsa, AByteIsWithinASixteenthOfAPowerOfTwo) {
  const MixLocal local = *MixLocal::parse("spsa", 1);
  const double most = std::exp2(1.0 / 16) * (1 + 1e-6);
  Rng draws(3);
  for (int i = 0; i < 20000; ++i) {
    const auto size = static_cast<float>(std::exp2(-8 + 15.75 * draws.uniform()));
    const float number = draws.chance(0.5) ? size : -size;
    const double ratio = static_cast<double>(through_a_byte(local, number)) / number;
    ASSERT_GT(ratio, 1 / most) << number;
    ASSERT_LT(ratio, most) << number;
  }
  EXPECT_EQ(through_a_byte(local, 0), 0);
  EXPECT_EQ(through_a_byte(local, 1e-6F), 0);
  EXPECT_EQ(through_a_byte(local, std::numeric_limits<float>::quiet_NaN()), 0);
  EXPECT_EQ(through_a_byte(local, 1e6F), through_a_byte(local, kInf));
  EXPECT_EQ(through_a_byte(local, -kInf), -through_a_byte(local, kInf));
  EXPECT_NEAR(through_a_byte(local, kInf), std::exp2(7.75), 1e-4);
}

TEST(MixSpsa, DirectionsAreNormalAndIndependent) {
  constexpr std::size_t kSize = 40000;
  const double limit = 5 / std::sqrt(double{kSize});
  const MixLocal local = *MixLocal::parse("spsa", 1);
  const std::vector<float> one = direction(local, 3, 2, kSize);
  EXPECT_NEAR(dot(one, std::vector<float>(kSize, 1)) / kSize, 0, limit);
  EXPECT_NEAR(dot(one, one) / kSize, 1, std::sqrt(2) * limit);
  const MixLocal other_seed = *MixLocal::parse("spsa", 2);
  for (const auto& other : {direction(local, 4, 2, kSize), direction(local, 3, 1, kSize),
                            direction(other_seed, 3, 2, kSize)}) {
    EXPECT_NEAR(dot(one, other) / kSize, 0, limit);
  }
  EXPECT_EQ(direction(local, 3, 2, kSize), one);
}

TEST(MixSpsa, ANumberIsTheDerivativeAlongItsDirection) {
  // A central difference of a quadratic loss has no error but that of rounding.
  QuadraticLearner learner({{1, -2, 3, 0.5F}}, 0.1F, 0);
  const MixLocal local = *MixLocal::parse("spsa:directions=64:epsilon=0.01", 9);
  const std::vector<float> given = {0.5F, 0.25F, -1, 2};
  const std::vector<float> gradient = {-0.5F, 2.25F, -4, 1.5F};
  std::vector<float> numbers = given;
  MixLocalWork work = {.member = 0, .steps = 1, .version = 5};
  ASSERT_TRUE(local.run(work, learner, numbers).ok());
  ASSERT_EQ(numbers.size(), 64U);
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    std::vector<float> only(numbers.size());
    only[k] = static_cast<float>(numbers.size());  // the delta is the mean over all of them
    std::vector<float> along(given.size());
    local.replay(5, 0, only, along);
    const double exact = dot(gradient, along);
    if (std::abs(exact) < 0.05) continue;
    EXPECT_NEAR(numbers[k] / exact, 1, 0.05) << k;
  }
}

TEST(MixSpsa, WhoHasNoStepsToTakeMovesNothing) {
  QuadraticLearner learner({{1, 1, 1}}, 0.1F, 0);
  const MixLocal local = *MixLocal::parse("spsa:directions=4", 1);
  std::vector<float> numbers = {0, 0, 0};
  ASSERT_TRUE(local.run({.member = 0, .steps = 0}, learner, numbers).ok());
  EXPECT_THAT(numbers, ElementsAre(0));
}

TEST(MixSpsa, ALossThatIsNoNumberIsNamed) {
  QuadraticLearner learner({{1, 1, 1}}, 0.1F, 0);
  const MixLocal local = *MixLocal::parse("spsa", 1);
  std::vector<float> model = {kInf, 0, 0};
  const Status status = local.run({.member = 0, .steps = 1}, learner, model).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("smaller rate in mix.outer"));
}

TestMixOptions spsa_group() {
  TestMixOptions options;
  options.texts = {.method = "spsa_byte", .outer = "plain:rate=0.05", .local = "spsa:directions=4"};
  options.members = 5;
  options.versions = 400;
  options.steps = 1;
  options.seconds = {0.1, 0.3};
  options.latency = 0.01;
  options.targets = {{1, 2, 3}, {-1, 0.5, 2}, {0.25, 0, -3}, {4, 1, 1}, {0, 0, 0}};
  return options;
}

TEST(MixSpsa, AllHoldOneModelWhichFindsTheMinimum) {
  TestMixGroup group(spsa_group());
  std::vector<std::vector<float>> made(401);
  group.on_combined = [&](const MixCombined& combined, std::uint32_t /*by*/) {
    std::vector<float>& first = made[combined.version];
    if (first.empty()) first = *combined.model;
    EXPECT_EQ(*combined.model, first) << combined.version;
  };
  EXPECT_FALSE(group.run());
  EXPECT_EQ(group.newest().version, 400U);
  // The mean of all targets.
  const std::vector<double> minimum = {0.85, 0.7, 0.6};
  for (std::size_t i = 0; i < minimum.size(); ++i) {
    EXPECT_NEAR(group.model()[i], minimum[i], 0.3) << i;
  }
}

// How far a descent along drawn directions comes, over where it began: by the exact derivatives, or
// by what is left of differences of losses in a byte.
double descended(bool by_bytes) {
  LogisticLearner learner({.members = 1});
  const std::vector<double> minimum = learner.minimum();
  const MixLocal local = *MixLocal::parse("spsa:directions=4", 3);
  const auto off = [&](const std::vector<float>& x) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::pow(double{x[i]} - minimum[i], 2);
    return sum;
  };
  std::vector<float> model(learner.elements());
  const double first = off(model);
  std::vector<float> delta(model.size());
  for (std::uint64_t version = 0; version < 2000; ++version) {
    std::vector<float> numbers = model;
    EXPECT_TRUE(local.run({.member = 0, .steps = 1, .version = version}, learner, numbers).ok());
    if (!by_bytes) {
      std::vector<float> gradient(model.size());
      EXPECT_TRUE(learner.gradient(0, version, model, gradient).ok());
      for (std::size_t k = 0; k < numbers.size(); ++k) {
        std::vector<float> only(numbers.size());
        only[k] = static_cast<float>(numbers.size());
        local.replay(version, 0, only, delta);
        numbers[k] = static_cast<float>(dot(gradient, delta));
      }
    }
    local.replay(version, 0, numbers, delta);
    for (std::size_t i = 0; i < model.size(); ++i) model[i] -= 0.02F * delta[i];
  }
  return off(model) / first;
}

TEST(MixSpsa, AByteCostsNothing) {
  const double exact = descended(false);
  EXPECT_LT(exact, 0.05);
  EXPECT_NEAR(descended(true), exact, 0.02);
}

// One who listens to one that trains: it takes no step of its own, and replays the other's numbers.
double distance_of_a_listener(std::uint64_t its_seed) {
  constexpr std::size_t kSize = 64;
  QuadraticLearner learner({std::vector<float>(kSize, 1)}, 0.1F, 0);
  const MixLocal trains = *MixLocal::parse("spsa:directions=8", 7);
  const MixLocal listens = *MixLocal::parse("spsa:directions=8", its_seed);
  std::vector<float> model(kSize);
  std::vector<float> heard(kSize);
  for (std::uint64_t version = 0; version < 600; ++version) {
    std::vector<float> numbers = model;
    EXPECT_TRUE(trains.run({.member = 0, .steps = 1, .version = version}, learner, numbers).ok());
    std::vector<float> delta(kSize);
    trains.replay(version, 0, numbers, delta);
    for (std::size_t i = 0; i < kSize; ++i) model[i] -= 0.05F * delta[i];
    listens.replay(version, 0, numbers, delta);
    for (std::size_t i = 0; i < kSize; ++i) heard[i] -= 0.05F * delta[i];
  }
  double off = 0;
  for (const float value : heard) off += (double{value} - 1) * (double{value} - 1);
  return off / kSize;
}

TEST(MixSpsa, AnotherSeedLearnsNothing) {
  EXPECT_LT(distance_of_a_listener(7), 1e-3);
  // As far as it was at first, and what it has wandered.
  EXPECT_GT(distance_of_a_listener(8), 0.9);
}

TEST(MixSpsa, ALossInTheMiddleEndsTheRun) {
  TestMixOptions options = spsa_group();
  TestMixGroup group(options);
  group.kill_at(3, 2.05);
  group.run();
  EXPECT_EQ(group.failure().code(), Code::kUnavailable);
  EXPECT_THAT(group.failure().message(), HasSubstr("member 3 is lost"));
  EXPECT_THAT(group.failure().message(), HasSubstr("local_sgd"));
}

TEST(MixSpsa, OneThatHasEndedMayLeave) {
  const auto first = std::make_shared<const std::vector<float>>(3, 0.0F);
  const MixMethod method = *MixMethod::parse({.method = "spsa_byte"});
  const TimePoint now;
  const auto member = [&] {
    return MixCore(
        {.self = 0, .members = 3, .versions = 1, .tensors = {{0, 3, true}}, .method = &method},
        first, now);
  };
  const MixReturned number = {
      .base = 0, .steps = 1, .values = std::make_shared<const std::vector<float>>(1, 2.0F)};
  MixCore waits_for_two = member();
  waits_for_two.returned(1, number, now);
  waits_for_two.lost(1, now);
  EXPECT_TRUE(waits_for_two.failure().ok());
  waits_for_two.lost(2, now);
  EXPECT_EQ(waits_for_two.failure().code(), Code::kUnavailable);
}

TEST(MixSpsa, TooManyNumbersOrNoneAreIgnored) {
  const auto first = std::make_shared<const std::vector<float>>(3, 0.0F);
  const MixMethod method = *MixMethod::parse({.method = "spsa_byte", .local = "spsa:directions=2"});
  const TimePoint now;
  MixCore core({.self = 0,
                .members = 2,
                .versions = 1,
                .steps = 3,
                .tensors = {{0, 3, true}},
                .method = &method},
               first, now);
  const auto numbers = [](std::size_t count) {
    return std::make_shared<const std::vector<float>>(count, 2.0F);
  };
  const std::optional<MixWork> work = core.take_work();
  ASSERT_TRUE(work.has_value());
  core.worked(work->id, numbers(6), {}, now);
  for (const std::size_t count : {std::size_t{0}, std::size_t{7}}) {
    core.returned(1, {.base = 0, .steps = 3, .values = numbers(count)}, now);
    core.settle(now);
    EXPECT_EQ(core.version(), 0U) << count;
  }
  core.returned(1, {.base = 0, .steps = 3, .values = numbers(6)}, now);
  core.settle(now);
  EXPECT_EQ(core.version(), 1U);
}

}  // namespace
}  // namespace weft::mix_local_test
