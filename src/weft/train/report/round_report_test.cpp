#include "weft/train/report/round_report.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/wire/collective_message.h"

namespace weft::round_report_test {
namespace {

RoundReport full() {
  RoundReport report;
  report.loss = 1.0 / 3;
  report.correct = 7;
  report.samples = 12;
  report.labels = 24;
  report.validation = {0.25, 3, 5, 9};
  report.errors = {.absolute = 30, .squared = 0.5, .values = -1, .value_squares = 1};
  report.compute_seconds = 0.125;
  report.member.emplace();
  report.member->name = 0xabcdef;
  report.member->attendance = Attendance::kCarried;
  report.member->share = 12;
  report.member->seconds_per_sample = 0.01;
  report.member->settled = true;
  return report;
}

TEST(RoundReport, SurvivesARoundTripAndNothingElseDecodes) {
  for (const RoundReport& report : {full(), RoundReport()}) {
    const Bytes bytes = report.encode();
    const Result<RoundReport> whole = RoundReport::decode(bytes);
    ASSERT_TRUE(whole.ok()) << whole.status().to_string();
    EXPECT_EQ(whole->encode(), bytes);
    Bytes longer = bytes;
    longer.push_back(0);
    EXPECT_EQ(RoundReport::decode(longer).status().code(), Code::kCorrupt);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_EQ(RoundReport::decode(ByteSpan(bytes).first(size)).status().code(), Code::kCorrupt);
    }
    // Each length and count among them.
    for (std::size_t at = 0; at + 4 <= bytes.size(); ++at) {
      Bytes altered = bytes;
      for (std::size_t i = at; i < at + 4; ++i) altered[i] = 0xff;
      const Result<RoundReport> other = RoundReport::decode(altered);
      if (other.ok()) {
        EXPECT_EQ(other->encode(), altered) << "ones at " << at;
      }
    }
  }
  EXPECT_EQ(RoundReport().encode().size(), 74U);
  EXPECT_EQ(full().encode().size(), 136U);
  EXPECT_LT(full().encode().size(), kReportBytesMax);
}

TEST(RoundReport, KeepsEveryField) {
  const Result<RoundReport> got = RoundReport::decode(full().encode());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->loss, 1.0 / 3) << "in double";
  EXPECT_EQ(got->correct, 7);
  EXPECT_EQ(got->samples, 12);
  EXPECT_EQ(got->labels, 24);
  EXPECT_EQ(got->validation, full().validation);
  EXPECT_EQ(got->errors, full().errors);
  EXPECT_EQ(got->compute_seconds, 0.125);
  MemberReport member = *full().member;
  member.compute_seconds = 0.125;
  EXPECT_EQ(got->member, member);
}

TEST(RoundReport, ALossMayBeNoNumberACountMayNot) {
  RoundReport report;
  report.loss = std::numeric_limits<double>::quiet_NaN();
  report.correct = -std::numeric_limits<double>::quiet_NaN();
  report.validation.loss = std::numeric_limits<double>::infinity();
  const Result<RoundReport> got = RoundReport::decode(report.encode());
  ASSERT_TRUE(got.ok());
  EXPECT_TRUE(std::isnan(got->loss));
  EXPECT_TRUE(std::isnan(got->correct));
  for (const double samples : {-1.0, 1e300, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
    RoundReport wrong;
    wrong.samples = samples;
    EXPECT_EQ(RoundReport::decode(wrong.encode()).status().code(), Code::kCorrupt) << samples;
    wrong.samples = 0;
    wrong.validation.labels = samples;
    EXPECT_EQ(RoundReport::decode(wrong.encode()).status().code(), Code::kCorrupt) << samples;
  }
  RoundReport wrong;
  wrong.compute_seconds = -1;
  EXPECT_EQ(RoundReport::decode(wrong.encode()).status().code(), Code::kCorrupt);
}

TEST(RoundReport, FoldedTheyAreAddedUpByRank) {
  RoundReport other = full();
  other.member.reset();
  other.compute_seconds = 2;
  const std::vector<Bytes> reports = {full().encode(), {}, other.encode()};
  const RoundMetrics sums = fold_reports(reports);
  EXPECT_EQ(sums.loss, 1.0 / 3 + 1.0 / 3);
  EXPECT_EQ(sums.samples, 24);
  EXPECT_EQ(sums.accuracy(), 14.0 / 48);
  EXPECT_EQ(sums.validation.samples, 10);
  EXPECT_EQ(sums.errors->absolute, 60);
  EXPECT_EQ(sums.compute_seconds, (std::vector<double>{0.125, 0, 2}));
  ASSERT_EQ(sums.members.size(), 3U);
  EXPECT_EQ(sums.members[0].name, 0xabcdefU);
  EXPECT_EQ(sums.members[1].name, 0U);
  EXPECT_EQ(sums.members[2].name, 0U);
}

TEST(RoundReport, MoreMembersThanAVectorHadPlacesForAreNoMatter) {
  const std::vector<Bytes> reports(1000, full().encode());
  const RoundMetrics sums = fold_reports(reports);
  EXPECT_EQ(sums.samples, 12000);
  EXPECT_EQ(sums.compute_seconds.size(), 1000U);
  EXPECT_EQ(sums.members.back().share, 12);
}

// Whatever a member sends, the others go on, and what it says of itself counts for nothing.
// Two of five say what they like, and the median stays between what the others say.
TEST(RoundReport, AFewLiarsCannotMoveTheMedianLoss) {
  const auto said = [](double mean, double samples) {
    RoundReport report;
    report.samples = samples;
    report.loss = mean * samples / 100;  // of a batch of 100
    return report.encode();
  };
  const double none = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Bytes> reports = {said(2.0, 20), said(none, 20), said(2.5, 10), said(3.0, 30),
                                      said(1e9, 20)};
  EXPECT_DOUBLE_EQ(median_loss(reports, 100), 3.0);
  EXPECT_DOUBLE_EQ(
      median_loss(std::vector<Bytes>{said(2.0, 20), said(-1e9, 20), said(4.0, 20)}, 100), 2.0);
  EXPECT_TRUE(std::isnan(median_loss(std::vector<Bytes>{said(2.0, 0), Bytes{1, 2}}, 100)));
}

TEST(RoundReport, GarbageIsTakenForNothing) {
  Rng rng(5, 1);
  for (int trial = 0; trial < 2000; ++trial) {
    Bytes garbage(rng.below(300));
    for (std::uint8_t& byte : garbage) byte = static_cast<std::uint8_t>(rng.next_u32());
    if (!garbage.empty()) garbage[0] = 9;  // no version that there is
    const RoundMetrics sums = fold_reports(std::vector<Bytes>{garbage, full().encode()});
    EXPECT_EQ(sums.samples, 12);
    EXPECT_EQ(sums.compute_seconds, (std::vector<double>{0, 0.125}));
  }
}

}  // namespace
}  // namespace weft::round_report_test
