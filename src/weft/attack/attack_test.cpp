// Each attack against values of an independent reference in NumPy, which ByzFL 0.0.2 agrees with
// where it has the attack, and what holds for all of them.
#include "weft/attack/attack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/attack/attack_def.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_plugin_table.h"

namespace weft::attack_test {
namespace {

using testing::HasSubstr;
using testing::Pointwise;
using Vector = std::vector<float>;

Attack attack_of(const std::string& text) {
  const Result<Attack> attack = Attack::parse(text);
  EXPECT_TRUE(attack.ok()) << attack.status().message();
  return *attack;
}

// Some honest members, and an attacker that would send `own`.
struct Scene {
  std::vector<Vector> honest;
  Vector own;
  int liars = 1;
  std::uint64_t seed = 5;

  Vector forge(const Attack& attack, AttackMemory& memory) const {
    const std::vector<std::span<const float>> spans(honest.begin(), honest.end());
    Vector out(own.size(), -77.0F);
    attack.forge({.honest = spans, .own = own, .liars = liars, .seed = seed}, memory, out);
    return out;
  }
  Vector forge(const std::string& text) const {
    AttackMemory memory;
    return forge(attack_of(text), memory);
  }
};

// As in aggregator_test.cpp, without the two updates that are far out.
Scene general_position() {
  Scene scene;
  for (int i = 0; i < 9; ++i) {
    Vector& update = scene.honest.emplace_back();
    for (int k = 0; k < 4; ++k) {
      update.push_back(static_cast<float>(std::sin(1 + 3 * i + 7 * k) + 0.1 * i));
    }
  }
  scene.own = {1, -2, 3, 0.5};
  scene.liars = 2;
  return scene;
}

Scene random_scene(std::size_t members, std::size_t size, std::uint64_t seed) {
  Scene scene;
  Rng rng(seed);
  scene.honest.assign(members, Vector(size));
  for (Vector& update : scene.honest) {
    for (float& value : update) value = static_cast<float>(rng.normal());
  }
  for (std::size_t i = 0; i < size; ++i) scene.own.push_back(static_cast<float>(rng.normal()));
  scene.seed = seed;
  return scene;
}

std::vector<std::string> every_text() {
  std::vector<std::string> all;
  for (const AttackDef* def : attacks()) {
    all.emplace_back(def->name);
    for (const Option& option : def->options) {
      // Beyond such numbers the range of float ends.
      const double most = std::min(option.max, 1e20);
      all.push_back(fmt::format("{}:{}={}", def->name, option.name, std::max(option.min, -most)));
      all.push_back(fmt::format("{}:{}={}", def->name, option.name, most));
    }
  }
  return all;
}

TEST(Attack, GivesTheReferencesValuesInGeneralPosition) {
  const auto expect = [](const std::string& text, const std::vector<double>& expected) {
    EXPECT_THAT(general_position().forge(text), Pointwise(testing::DoubleNear(2e-6), expected))
        << text;
  };
  expect("alie:z=1.5", {1.26146883616, 1.89316336108, 1.98556096626, 1.51319057689});
  expect("ipm:scale=2", {-0.875238188392, -0.963478666211, -0.971255681594, -0.894741422635});
  expect("sign_flip:scale=4", {-4, 8, -12, -2});
}

TEST(Attack, GivesByzFLsOwnTestValues) {
  const Scene line = {{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, {4, 5, 6}};
  EXPECT_EQ(line.forge("sign_flip"), (Vector{-4, -5, -6}));
  EXPECT_EQ(line.forge("ipm:scale=2"), (Vector{-8, -10, -12}));
  EXPECT_EQ(line.forge("alie:z=1.5"), (Vector{8.5, 9.5, 10.5}));
  EXPECT_EQ(line.forge("mimic:warmup=0"), (Vector{1, 2, 3}));
}

// Two of the honest values are such that the mean is 0 and the deviation of the sample 1.
TEST(Attack, AlieTakesAsManyDeviationsAsTheNumbersOfMembersAllow) {
  const auto deviations = [](std::size_t honest, int liars) {
    Scene scene{std::vector<Vector>(honest, Vector{0}), {0}, liars};
    scene.honest[0][0] = static_cast<float>(std::sqrt(static_cast<double>(honest - 1) / 2));
    scene.honest[1][0] = -scene.honest[0][0];
    return scene.forge("alie")[0];
  };
  EXPECT_NEAR(deviations(20, 5), 0.2533, 1e-4);
  EXPECT_NEAR(deviations(16, 4), 0.1573, 1e-4);
  EXPECT_NEAR(deviations(38, 12), 0.3360, 1e-4);
  EXPECT_EQ(Scene({{{3, 1}}, {3, 1}}).forge("alie"), (Vector{3, 1})) << "one member has no spread";
}

TEST(Attack, GaussianHasItsMomentsOrTenTimesTheMedianLength) {
  const Scene scene = random_scene(5, 20'000, 3);
  const Vector drawn = scene.forge("gaussian:sigma=2:mean=-1");
  double sum = 0;
  double squares = 0;
  for (const float value : drawn) {
    sum += value;
    squares += std::pow(value + 1, 2);
  }
  EXPECT_NEAR(sum / 20'000, -1, 0.05);
  EXPECT_NEAR(std::sqrt(squares / 20'000), 2, 0.05);
  double visible = 0;
  for (const float value : scene.forge("gaussian")) visible += std::pow(value, 2);
  // Each honest value is drawn with the deviation 1.
  EXPECT_NEAR(std::sqrt(visible / 20'000), 10, 0.25);
}

TEST(Attack, DropLeavesItsShareOfCoordinatesOut) {
  Scene scene = random_scene(2, 10'000, 4);
  const Vector first = scene.forge("drop");
  std::size_t dropped = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (first[i] == 0) {
      ++dropped;
    } else {
      EXPECT_EQ(first[i], scene.own[i]);
    }
  }
  EXPECT_NEAR(static_cast<double>(dropped), 3000, 150);
  EXPECT_EQ(scene.forge("drop:ratio=0"), scene.own);
  EXPECT_EQ(scene.forge("drop:ratio=1"), scene.forge("zero"));
  scene.seed = 6;
  EXPECT_NE(scene.forge("drop"), first);
}

TEST(Attack, StaleSendsWhatItComputedSoManyRoundsAgo) {
  const Attack attack = attack_of("stale:age=2");
  AttackMemory memory;
  std::vector<float> sent;
  for (int round = 1; round <= 5; ++round) {
    const Scene scene{{{0}}, {static_cast<float>(round)}};
    sent.push_back(scene.forge(attack, memory)[0]);
  }
  EXPECT_THAT(sent, testing::ElementsAre(1, 1, 1, 2, 3));
}

// The updates differ in the second coordinate above all, and member 3 goes farthest there.
TEST(Attack, MimicStaysWithTheMemberThatGoesFarthestInTheDirectionOfMostVariance) {
  const Attack attack = attack_of("mimic:warmup=3");
  AttackMemory memory;
  Scene scene{{{1, 2, 0}, {1.1F, -3, 0}, {0.9F, 4, 0}, {1, -9, 0.1F}, {1, 5, 0}}, {0, 0, 0}};
  for (int round = 0; round < 3; ++round) {
    scene.seed = static_cast<std::uint64_t>(round);
    EXPECT_EQ(scene.forge(attack, memory), scene.honest[3]);
  }
  EXPECT_NEAR(std::abs(memory.vectors[1][1]), 1, 0.01);
  scene.honest[0] = {0, 100, 0};
  EXPECT_EQ(scene.forge(attack, memory), scene.honest[3]) << "it looks for nobody any more";
}

// --- What holds for every attack.

TEST(AttackContract, NamesAndOptionsAreWords) {
  EXPECT_EQ(plugin_table_fault(attacks()), "");
  for (const std::string& text : every_text()) {
    EXPECT_EQ(attack_of(attack_of(text).text()).text(), attack_of(text).text());
  }
}

TEST(AttackContract, TheSameViewSeedAndMemoryGiveTheSameVector) {
  for (const std::string& text : every_text()) {
    const Attack attack = attack_of(text);
    AttackMemory one;
    AttackMemory other;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const Scene scene = random_scene(5, 37, 100 + round);
      EXPECT_EQ(scene.forge(attack, one), scene.forge(attack, other)) << text;
      EXPECT_EQ(one.rounds, round + 1) << text;
    }
  }
}

TEST(AttackContract, OnlyAttacksThatSaySoDependOnEarlierRounds) {
  for (const std::string& text : every_text()) {
    const Attack attack = attack_of(text);
    AttackMemory memory;
    for (std::uint64_t round = 0; round < 3; ++round) {
      random_scene(4, 20, round).forge(attack, memory);
    }
    if (attack.remembers()) continue;
    EXPECT_TRUE(memory.vectors.empty()) << text;
    AttackMemory fresh;
    const Scene scene = random_scene(4, 20, 9);
    EXPECT_EQ(scene.forge(attack, memory), scene.forge(attack, fresh)) << text;
  }
}

TEST(AttackContract, EveryCoordinateIsWrittenWhateverTheNumberOfMembers) {
  for (const std::string& text : every_text()) {
    for (const std::size_t members : {1U, 2U, 9U}) {
      for (const std::size_t size : {1U, 3U, 100U}) {
        const bool infinite = text == "infinite";
        for (const float value : random_scene(members, size, 8).forge(text)) {
          EXPECT_NE(value, -77.0F) << text;
          EXPECT_EQ(std::isfinite(value), !infinite) << text << " of " << members;
        }
      }
    }
  }
}

TEST(Attack, NamesAndOptionsAreReadStrictly) {
  const auto refusal = [](std::string_view text) {
    const Result<Attack> attack = Attack::parse(text);
    return attack.ok() ? "" : std::string(attack.status().message());
  };
  EXPECT_THAT(refusal("sign_flop"), HasSubstr("did you mean \"sign_flip\"?"));
  EXPECT_THAT(refusal(""), HasSubstr("attack: expected one of alie, drop, "));
  EXPECT_THAT(refusal("zero:scale=1"), HasSubstr("zero: expected no option, got \"scale=1\""));
  EXPECT_THAT(refusal("drop:ratio=1.5"), HasSubstr("expected a number from 0 to 1"));
  EXPECT_THAT(refusal("stale:age=1.5"), HasSubstr("expected a whole number from 1 to 1000"));
  EXPECT_THAT(refusal(std::string(300, 'x')), HasSubstr("expected one of"));
  EXPECT_EQ(attack_of("sign_flip:scale=4").text(), "sign_flip:scale=4");
  EXPECT_EQ(attack_of("ipm:scale=0.5").text(), "ipm");
}

}  // namespace
}  // namespace weft::attack_test
