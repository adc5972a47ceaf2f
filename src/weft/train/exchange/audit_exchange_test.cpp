#include "weft/train/exchange/audit_exchange.h"

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/train/exchange/scripted_exchange.h"
#include "weft/train/report/round_report.h"

namespace weft::audit_exchange_test {
namespace {

using testing::ElementsAre;

std::vector<float> drawn(std::uint64_t seed, std::size_t size) {
  Rng rng(seed, 7);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(rng.uniform()) - 0.5F;
  return values;
}

TEST(VectorDigest, OfASumIsTheSumOfTheDigests) {
  const std::vector<float> a = drawn(1, 5000);
  const std::vector<float> b = drawn(2, 5000);
  std::vector<float> sum(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] = a[i] + b[i];
  const VectorDigest left = digest_of(a);
  const VectorDigest right = digest_of(b);
  const VectorDigest both = digest_of(sum);
  const double rounding = 0x1p-24 * (left.magnitude + right.magnitude);
  for (std::size_t i = 0; i < kAuditProjections; ++i) {
    EXPECT_NEAR(both.projections[i], left.projections[i] + right.projections[i], rounding);
    // What is left out shows: a projection is about the Euclidean norm, not the rounding.
    EXPECT_GT(std::abs(right.projections[i]), rounding);
  }
  for (std::size_t i = 0; i < kAuditValues; ++i) {
    EXPECT_NEAR(both.values[i], left.values[i] + right.values[i], 1e-6);
  }
}

TEST(VectorDigest, ProjectionsSeeEachElementAndDifferFromOneAnother) {
  for (const std::size_t changed :
       {std::size_t{0}, std::size_t{63}, std::size_t{64}, std::size_t{999}}) {
    std::vector<float> vector(1000, 0.0F);
    vector[changed] = 2.0F;
    for (const double projection : digest_of(vector).projections) {
      EXPECT_DOUBLE_EQ(std::abs(projection), 2.0) << changed;
    }
  }
  const VectorDigest digest = digest_of(std::vector<float>(6400, 1.0F));
  EXPECT_NE(digest.projections[0], digest.projections[1]);
  EXPECT_NE(digest.projections[1], digest.projections[2]);
}

TEST(VectorDigest, OfNothingIsNothing) { EXPECT_EQ(digest_of({}).magnitude, 0); }

Bytes report_of(double samples) {
  RoundReport report;
  report.samples = samples;
  return report.encode();
}

class AuditExchangeTest : public testing::Test {
 protected:
  void SetUp() override {
    log_ = std::move(EventLog::open("", clock_, [&](const Event& event) {
             told_.push_back(event);
           })).value();
    audit_ = make_audit_exchange(script_, *log_);
  }
  std::vector<std::string> kinds() const {
    std::vector<std::string> kinds;
    for (const Event& event : told_) kinds.push_back(event.kind);
    return kinds;
  }

  SystemClock clock_;
  std::unique_ptr<EventLog> log_;
  ScriptedExchange script_{Round(3)};
  std::unique_ptr<RoundExchange> audit_;
  std::vector<Event> told_;
};

TEST_F(AuditExchangeTest, TheInputIsToldWithItsLastPieceAndTheSumWhenItIsThere) {
  ASSERT_TRUE(audit_->next().ok());
  const std::vector<float> vector = {1, -2, 3, -4};
  ASSERT_TRUE(audit_->begin(4).ok());
  audit_->contribute(2, std::span<const float>(vector).subspan(2));
  EXPECT_TRUE(told_.empty());
  audit_->contribute(0, std::span<const float>(vector).first(2));
  EXPECT_TRUE(told_.empty()) << "its report belongs to it";
  ASSERT_TRUE(audit_->report(report_of(12)).ok());
  EXPECT_THAT(kinds(), ElementsAre("audit_input"));
  ASSERT_TRUE(audit_->finish().ok());
  ASSERT_THAT(kinds(), ElementsAre("audit_input", "audit_sum"));
  // Alone, what comes out is what went in.
  EXPECT_EQ(told_[0].integer("round"), 1);
  EXPECT_EQ(told_[0].number("magnitude"), 10);
  EXPECT_EQ(told_[0].number("samples"), 12);
  EXPECT_EQ(told_[1].number("samples"), 12);
  for (const char* field : {"hash", "projections", "values"}) {
    EXPECT_EQ(told_[0].text(field), told_[1].text(field));
  }
  EXPECT_EQ(told_[1].text("values"), "1 -2 3 -4");
  EXPECT_FALSE(told_[1].flag("caught_up"));
}

TEST_F(AuditExchangeTest, AnAbortedRoundHasNoSumAndItsRerunBeginsAnew) {
  script_.abort_next(Round(1), 1);
  const std::vector<float> vector = {1, 2};
  for (int attempt = 0; attempt < 2; ++attempt) {
    ASSERT_TRUE(audit_->next().ok());
    ASSERT_TRUE(audit_->begin(2).ok());
    ASSERT_TRUE(audit_->report(report_of(2)).ok());
    audit_->contribute(0, vector);
    EXPECT_EQ(audit_->finish().ok(), attempt == 1);
  }
  EXPECT_THAT(kinds(), ElementsAre("audit_input", "audit_input", "audit_sum"));
}

TEST_F(AuditExchangeTest, ASumThatIsOnlyAppliedIsToldAsSuch) {
  script_.give_result(Round(1), {5, 6}, {report_of(4), report_of(3)});
  ASSERT_TRUE(audit_->next().ok());
  ASSERT_THAT(kinds(), ElementsAre("audit_sum"));
  EXPECT_TRUE(told_[0].flag("caught_up"));
  EXPECT_EQ(told_[0].integer("elements"), 2);
  EXPECT_EQ(told_[0].number("samples"), 7);
}

TEST_F(AuditExchangeTest, WhatIsNotLoggedReachesTheExchangeBehindIt) {
  EXPECT_EQ(audit_->state_lender(), script_.state_lender());
  audit_->applied(Round(2), {});
  EXPECT_EQ(script_.rounds_applied(), 2U);
}

}  // namespace
}  // namespace weft::audit_exchange_test
