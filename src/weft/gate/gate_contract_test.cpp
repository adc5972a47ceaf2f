// What holds for every registered gate, with its default options and at the ends of their ranges;
// and the closed forms of each.
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/testing/test_plugin_table.h"
#include "weft/gate/gate.h"
#include "weft/gate/gate_def.h"

namespace weft::gate_contract_test {
namespace {

using testing::HasSubstr;

Gate gate_of(const std::string& text) {
  const Result<Gate> gate = Gate::parse(text);
  EXPECT_TRUE(gate.ok()) << gate.status().message();
  return gate.ok() ? *gate : Gate();
}

std::vector<std::string> every_text() {
  std::vector<std::string> all;
  for (const GateDef* def : gates()) {
    all.emplace_back(def->name);
    for (const Option& option : def->options) {
      all.push_back(fmt::format("{}:{}={}", def->name, option.name, option.min));
      all.push_back(fmt::format("{}:{}={}", def->name, option.name, option.max));
    }
  }
  return all;
}

std::vector<float> drawn(std::uint64_t seed, std::size_t size, double scale) {
  Rng rng(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>((rng.uniform() * 2 - 1) * scale);
  return values;
}

TEST(GateContract, NamesAndOptionsAreWords) { EXPECT_EQ(plugin_table_fault(gates()), ""); }

TEST(GateContract, ATextComesBack) {
  for (const std::string& text : every_text()) {
    const std::string again = gate_of(text).text();
    EXPECT_EQ(gate_of(again).text(), again) << text;
    EXPECT_EQ(gate_of(text).weight({3, 5}), gate_of(again).weight({3, 5})) << text;
  }
}

TEST(GateContract, BadTextsAreRefusedWithWhatWasExpected) {
  const std::vector<std::string> bad = {"", ":", "carryy", "carry:weight=1", std::string(300, 'x')};
  for (const std::string& text : bad) {
    EXPECT_EQ(Gate::parse(text).status().code(), Code::kInvalidArgument) << text;
  }
  EXPECT_THAT(Gate::parse("polynomal").status().message(), HasSubstr("polynomial"));
  for (const GateDef* def : gates()) {
    for (const Option& option : def->options) {
      const std::string head = fmt::format("{}:{}=", def->name, option.name);
      for (const double beyond : {option.min - 1, option.max + 1}) {
        EXPECT_FALSE(Gate::parse(head + fmt::format("{}", beyond)).ok()) << head << beyond;
      }
      EXPECT_FALSE(Gate::parse(head + "nan").ok()) << head;
      EXPECT_FALSE(Gate::parse(head).ok()) << head;
    }
  }
}

TEST(GateContract, AWeightIsThatOfAMeanAndNeverGrowsWithAge) {
  for (const std::string& text : every_text()) {
    SCOPED_TRACE(text);
    const Gate gate = gate_of(text);
    for (const std::int64_t round : {1, 2, 1000, 1'000'000'000}) {
      double before = 1;
      for (const std::int64_t staleness : {1, 2, 3, 4, 5, 10, 100, 1000, 1'000'000}) {
        const double weight = gate.weight({staleness, round});
        EXPECT_TRUE(std::isfinite(weight)) << staleness;
        EXPECT_GE(weight, 0) << staleness;
        EXPECT_LE(weight, before) << staleness;
        before = weight;
      }
    }
    EXPECT_EQ(gate.keeps(), gate.weight({1, 1'000'000}) > 0)
        << "a gate that keeps gradients uses some";
  }
}

TEST(GateContract, GradientsStayWhereNoParameterHasMoved) {
  const std::vector<float> parameters = drawn(1, 257, 1);
  for (const std::string& text : every_text()) {
    const Gate gate = gate_of(text);
    std::vector<float> gradients = drawn(2, 257, 1);
    gradients[3] = std::numeric_limits<float>::infinity();
    gradients[4] = std::numeric_limits<float>::denorm_min();
    gradients[5] = -0.0F;
    const std::vector<float> before = gradients;
    gate.correct({parameters, parameters, 0.25}, gradients);
    for (std::size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(gradients[i]), std::bit_cast<std::uint32_t>(before[i]))
          << text << ", element " << i;
    }
  }
}

TEST(GateContract, ACorrectionMakesNoValueInfinite) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const std::array<float, 4> then = {0, kLargest, -kLargest, 0};
  const std::array<float, 4> now = {kLargest, -kLargest, kLargest, 1};
  for (const std::string& text : every_text()) {
    std::array<float, 4> gradients = {kLargest, -kLargest, 1e30F, 0};
    gate_of(text).correct({then, now, 1e-6}, gradients);
    for (const float value : gradients) EXPECT_TRUE(std::isfinite(value)) << text;
  }
}

// A gate that only weights has nothing to keep parameters for.
TEST(GateContract, WhatDoesNotCorrectChangesNothing) {
  const std::vector<float> then = drawn(1, 100, 1);
  const std::vector<float> now = drawn(2, 100, 1);
  for (const std::string& text : every_text()) {
    const Gate gate = gate_of(text);
    if (gate.corrects()) continue;
    std::vector<float> gradients = drawn(3, 100, 1);
    gate.correct({then, now, 1}, gradients);
    EXPECT_EQ(gradients, drawn(3, 100, 1)) << text;
  }
}

TEST(Gate, WeightsAreThoseOfTheirFormulas) {
  struct Expected {
    std::string text;
    Lateness late;
    double weight;
  };
  const std::vector<Expected> all = {
      {"drop", {1, 7}, 0},
      {"carry", {1000, 7}, 1},
      {"polynomial", {3, 7}, 0.5},
      {"polynomial:exponent=2", {4, 7}, 0.04},
      {"polynomial:exponent=0", {9, 7}, 1},
      {"hinge", {4, 7}, 1},
      {"hinge", {6, 7}, 1.0 / 21},
      {"hinge:slope=0.5:rounds=0", {2, 7}, 0.5},
      {"exponential:base=2", {3, 7}, 0.125},
      {"exponential", {2, 7}, 4 / (std::numbers::e * std::numbers::e)},
      {"exponential:base=1", {9, 7}, 1},
      {"adadelay", {3, 1}, 0.5},
      {"adadelay", {16, 9}, 0.6},
      {"delay_compensation", {5, 7}, 1},
  };
  for (const Expected& each : all) {
    EXPECT_NEAR(gate_of(each.text).weight(each.late), each.weight, 1e-15) << each.text;
  }
  EXPECT_FALSE(Gate().keeps());
  EXPECT_EQ(Gate().text(), "drop");
}

// On 0.5 h w^2 the gradient is h w: with lambda g^2 = h at the late place the correction is exact.
TEST(Gate, DelayCompensationIsExactWhereItsCurvatureIsTheTrueOne) {
  for (const double part : {1.0, 0.25}) {
    const std::array<float, 2> then = {2.0F, -1.0F};
    const std::array<float, 2> now = {1.5F, 3.0F};
    // h = 1: lambda = h / g^2 with g = 2; the other element has another curvature.
    std::array<float, 2> gradients = {static_cast<float>(2.0 * part),
                                      static_cast<float>(-1.0 * part)};
    gate_of("delay_compensation:lambda=0.25").correct({then, now, part}, gradients);
    EXPECT_FLOAT_EQ(gradients[0], static_cast<float>(1.5 * part));
    EXPECT_FLOAT_EQ(gradients[1], static_cast<float>((-1.0 + 0.25 * 4.0) * part));
  }
}

}  // namespace
}  // namespace weft::gate_contract_test
