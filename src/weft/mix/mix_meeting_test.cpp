// Meetings without rounds: the numbers of graphs, and accelerated gossip against the minimum that
// plain gradient descent finds.
#include "weft/mix/meet/mix_meeting.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/mix/local/test_logistic.h"
#include "weft/mix/meet/edge_graph.h"
#include "weft/mix/meet/small_matrix.h"
#include "weft/mix/test_mix_group.h"

namespace weft::mix_meeting_test {
namespace {

using testing::HasSubstr;

TEST(EdgeGraph, ItsNumbersAreThoseOfClosedForms) {
  // A ring's smallest eigenvalue is 2 - 2 cos(2 pi / n), and the resistance of its edges 1 - 1 / n.
  const EdgeGraph ring(10, 1);
  EXPECT_NEAR(ring.chi1(), 10 / (2 - 2 * std::cos(std::acos(-1.0) / 5)), 1e-9);
  EXPECT_NEAR(ring.chi2(), 4.5, 1e-9);
  EXPECT_NEAR(std::sqrt(2 * ring.chi1() * ring.chi2()), 15.35, 0.005);
  // All with all: every eigenvalue is n, and the resistance 2 / n.
  for (const std::uint32_t members : {2U, 3U, 6U, 7U}) {
    const EdgeGraph all(members, members);
    EXPECT_EQ(all.edges(), members * (members - 1) / 2);
    EXPECT_NEAR(all.chi1(), (members - 1) / 2.0, 1e-9);
    EXPECT_NEAR(all.chi2(), (members - 1) / 2.0, 1e-9);
  }
  EXPECT_EQ(EdgeGraph(1, 1).edges(), 0U);
}

TEST(EdgeGraph, EveryEdgeBelongsToOneEnd) {
  for (const std::uint32_t members : {1U, 2U, 5U, 8U}) {
    for (const std::uint32_t reach : {1U, 2U, 4U, 9U}) {
      const EdgeGraph graph(members, reach);
      std::size_t owned = 0;
      for (std::uint32_t a = 0; a < members; ++a) {
        owned += graph.owned(a).size();
        for (const std::uint32_t b : graph.owned(a)) {
          EXPECT_TRUE(graph.has(a, b) && graph.has(b, a));
          for (const std::uint32_t back : graph.owned(b)) EXPECT_NE(back, a);
        }
      }
      EXPECT_EQ(owned, graph.edges()) << members << " " << reach;
    }
  }
}

TEST(SmallMatrix, TheExponentialOfATurnIsARotation) {
  for (const double angle : {0.1, 1.0, 40.0}) {
    SmallMatrix<2> turn;
    turn.rows = {{{0, -angle}, {angle, 0}}};
    const SmallMatrix<2> e = exponential(turn);
    EXPECT_NEAR(e.rows[0][0], std::cos(angle), 1e-12);
    EXPECT_NEAR(e.rows[1][0], std::sin(angle), 1e-12);
  }
}

// Ten members in a ring, as long as each computes so many gradients.
struct Accelerated {
  std::shared_ptr<LogisticLearner> learner = std::make_shared<LogisticLearner>(LogisticOptions{});
  std::vector<double> best = learner->minimum();

  TestMixOptions group(MixMethodTexts texts) const {
    TestMixOptions out;
    out.texts = std::move(texts);
    out.members = 10;
    out.versions = 1U << 20U;
    out.steps = 1;
    out.seconds = {1e-3};
    out.latency = 1e-3;
    out.first.assign(8, 1.0F);
    out.learner = learner;
    return out;
  }
  TestMixOptions dadao(double rate) const {
    return group({.method = "dadao",
                  .plan = fmt::format("accelerated:mu=0.1:smoothness={:g}:rate={:g}",
                                      learner->smoothness(), rate)});
  }
  // Sum over members of |x - best|^2, over that at the start.
  double error(const TestMixGroup& of) const {
    double now = 0;
    double first = 0;
    for (std::uint32_t member = 0; member < 10; ++member) {
      for (std::size_t i = 0; i < 8; ++i) {
        now += std::pow(static_cast<double>(of.model(member)[i]) - best[i], 2);
        first += std::pow(1 - best[i], 2);
      }
    }
    return now / first;
  }
  double error_after(const TestMixOptions& options, double seconds) const {
    TestMixGroup group(options);
    group.run(seconds);
    return error(group);
  }
};

TEST(AcceleratedMeeting, ConvergesLinearlyToTheMinimumOfAll) {
  const Accelerated set_up;
  const double after300 = set_up.error_after(set_up.dadao(1), 300);
  const double after600 = set_up.error_after(set_up.dadao(1), 600);
  const double after900 = set_up.error_after(set_up.dadao(1), 900);
  RecordProperty("smoothness", fmt::format("{:.3g}", set_up.learner->smoothness()));
  RecordProperty("after_300", fmt::format("{:.2g}", after300));
  RecordProperty("after_600", fmt::format("{:.2g}", after600));
  RecordProperty("after_900", fmt::format("{:.2g}", after900));
  EXPECT_LT(after300, 1e-2);
  // As many digits each time.
  EXPECT_LT(after600, after300 * 1e-2);
  EXPECT_LT(after900, 1e-8);
  EXPECT_GT(after900, 0.0);
}

// Both are Poisson processes: the deviation of a count is its root.
TEST(AcceleratedMeeting, ClocksTickAtTheirRates) {
  const Accelerated set_up;
  TestMixGroup group(set_up.dadao(1));
  group.run(300);
  double gradients = 0;
  for (std::uint32_t member = 0; member < 10; ++member) {
    const auto own = static_cast<double>(group.core(member).version());
    EXPECT_NEAR(own, 300, 5 * std::sqrt(300)) << member;
    gradients += own;
  }
  EXPECT_NEAR(gradients, 3000, 5 * std::sqrt(3000));
  const double exchanges = 300 * 15.35;
  EXPECT_NEAR(static_cast<double>(group.returned()), exchanges, 5 * std::sqrt(exchanges));
  RecordProperty("gradients", fmt::format("{:g}", gradients));
  RecordProperty("exchanges", fmt::format("{}", group.returned()));
}

TEST(AcceleratedMeeting, MoreExchangesChangeLittleAndTooFewDiverge) {
  const Accelerated set_up;
  const double planned = set_up.error_after(set_up.dadao(1), 300);
  const double four = set_up.error_after(set_up.dadao(4), 300);
  RecordProperty("four_times_after_300", fmt::format("{:.2g}", four));
  EXPECT_LT(std::abs(std::log10(four / planned)), 2.0);

  TestMixGroup few(set_up.dadao(0.25));
  few.run(2000);
  ASSERT_FALSE(few.failure().ok());
  EXPECT_EQ(few.failure().code(), Code::kInvalidArgument);
  RecordProperty("a_quarter", std::string(few.failure().message()));
  EXPECT_THAT(few.failure().message(), HasSubstr("has diverged"));
  EXPECT_THAT(few.failure().message(), HasSubstr("accelerated:rate of 1 or more, got 0.25"));
}

TEST(AcceleratedMeeting, NeighboursThatOnlyAverageStallBeforeIt) {
  const Accelerated set_up;
  const double accelerated = set_up.error_after(set_up.dadao(1), 900);
  // As many gradients: the mean of members with steps of a constant size is not the minimum.
  TestMixOptions plain = set_up.group({.method = "dpsgd"});
  plain.versions = 900;
  plain.seconds = {1.0};
  const double stalled = set_up.error_after(plain, 1e6);
  RecordProperty("neighbours_after_900", fmt::format("{:.2g}", stalled));
  EXPECT_GT(stalled, 100 * accelerated);
}

TEST(AcceleratedMeeting, SurvivesALostMember) {
  const Accelerated set_up;
  TestMixGroup group(set_up.dadao(2));
  group.kill_at(4, 20.0);
  group.run(200);
  EXPECT_TRUE(group.failure().ok()) << group.failure().message();
  EXPECT_GT(group.core(3).version(), 100U);
}

TEST(AcceleratedMeeting, WhatNobodyAskedForIsIgnored) {
  const MixMethod method = *MixMethod::parse({.method = "dadao"});
  const auto values = std::make_shared<const std::vector<float>>(1, 3.0F);
  MixCore core(
      {.self = 0, .members = 5, .versions = 9, .tensors = {{0, 1, true}}, .method = &method},
      values, TimePoint());
  core.given(1, {.version = 0, .model = values}, TimePoint());   // no answer is due
  core.returned(2, {.base = 0, .values = values}, TimePoint());  // no neighbour
  EXPECT_TRUE(core.take_sends().empty());
  core.returned(1, {.base = 0, .values = values}, TimePoint());
  EXPECT_EQ(core.take_sends().size(), 1U);
}

}  // namespace
}  // namespace weft::mix_meeting_test
