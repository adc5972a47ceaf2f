#include "weft/wire/link_rate_message.h"

#include <cmath>

#include <gtest/gtest.h>

#include "weft/wire/core/message_checks.h"

namespace weft::link_rate_message_test {
namespace {

const ViewId kView{ViewNumber(3), {7}};

LinkReportMessage report() {
  LinkRow row{
      2, 9, 30, {{0, LinkCode::of(12.5e6), LinkCode::of(800)}, {1, LinkCode(), LinkCode()}}};
  return {kView, {row, {1, 4, 0, {}}}};
}

TEST(LinkRateMessage, EveryMessageSurvivesAndEveryCutIsRefused) {
  check_message(report());
  check_message(ProbeHead{kView, 5, 7, 8});
}

TEST(LinkRateMessage, CodesKeepAThousandthOverAllSizes) {
  double value = 2;
  while (value < 1e18) {
    EXPECT_NEAR(LinkCode::of(value).value() / value, 1, 1e-3);
    value *= 7.3;
  }
  EXPECT_FALSE(LinkCode().known());
  EXPECT_EQ(LinkCode().value(), 0);
  // What is known stays known, however small or large.
  for (const double odd : {0.0, -5.0, 0.3, 1e300}) {
    EXPECT_TRUE(LinkCode::of(odd).known());
    EXPECT_TRUE(std::isfinite(LinkCode::of(odd).value()));
  }
}

TEST(LinkRateMessage, RefusesEachFieldBeyondItsBound) {
  const auto refused = [](const LinkReportMessage& message) {
    return LinkReportMessage::decode(message.encode()).status().code() == Code::kCorrupt;
  };
  LinkReportMessage odd = report();
  odd.rows[0].reporter = kMembersMax;
  EXPECT_TRUE(refused(odd));
  odd = report();
  odd.rows[0].links[1].from = 2;  // the reporter
  EXPECT_TRUE(refused(odd));
  odd = report();
  odd.rows[0].links[1].from = 0;  // twice
  EXPECT_TRUE(refused(odd));
  odd = report();
  odd.rows[0].links[1].from = kMembersMax;
  EXPECT_TRUE(refused(odd));
  for (const ProbeHead& head : {ProbeHead{kView, 1, 8, 8}, ProbeHead{kView, 1, 0, 1},
                                ProbeHead{kView, 1, 0, kProbeFramesMax + 1}}) {
    EXPECT_EQ(ProbeHead::decode(head.encode()).status().code(), Code::kCorrupt);
  }
}

TEST(LinkRateMessage, TheLargestReportFitsIntoAFrame) {
  LinkReportMessage large{kView, {}};
  for (std::uint16_t reporter = 0; reporter < kLinkRowsMax; ++reporter) {
    LinkRow& row = large.rows.emplace_back();
    row.reporter = reporter;
    for (std::uint16_t from = 0; from < kMembersMax; ++from) {
      if (from != reporter) row.links.push_back({from, LinkCode(1), LinkCode(1)});
    }
  }
  EXPECT_LT(large.encode().size(), 256U * 1024);
}

}  // namespace
}  // namespace weft::link_rate_message_test
