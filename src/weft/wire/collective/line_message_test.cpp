#include "weft/wire/line_message.h"

#include <cmath>

#include <gtest/gtest.h>

#include "weft/wire/core/message_checks.h"

namespace weft::line_message_test {
namespace {

const ViewId kView{ViewNumber(3), {7}};

LineReportMessage report() {
  LineRow row{
      2, 9, 30, {{0, LineCode::of(12.5e6), LineCode::of(800)}, {1, LineCode(), LineCode()}}};
  return {kView, {row, {1, 4, 0, {}}}};
}

TEST(LineMessage, EveryMessageSurvivesAndEveryCutIsRefused) {
  check_message(report());
  check_message(ProbeHead{kView, 5, 7, 8});
}

TEST(LineMessage, CodesKeepAThousandthOverAllSizes) {
  double value = 2;
  while (value < 1e18) {
    EXPECT_NEAR(LineCode::of(value).value() / value, 1, 1e-3);
    value *= 7.3;
  }
  EXPECT_FALSE(LineCode().known());
  EXPECT_EQ(LineCode().value(), 0);
  // What is known stays known, however small or large.
  for (const double odd : {0.0, -5.0, 0.3, 1e300}) {
    EXPECT_TRUE(LineCode::of(odd).known());
    EXPECT_TRUE(std::isfinite(LineCode::of(odd).value()));
  }
}

TEST(LineMessage, RefusesEachFieldBeyondItsBound) {
  const auto refused = [](const LineReportMessage& message) {
    return LineReportMessage::decode(message.encode()).status().code() == Code::kCorrupt;
  };
  LineReportMessage odd = report();
  odd.rows[0].reporter = kMembersMax;
  EXPECT_TRUE(refused(odd));
  odd = report();
  odd.rows[0].lines[1].from = 2;  // the reporter
  EXPECT_TRUE(refused(odd));
  odd = report();
  odd.rows[0].lines[1].from = 0;  // twice
  EXPECT_TRUE(refused(odd));
  odd = report();
  odd.rows[0].lines[1].from = kMembersMax;
  EXPECT_TRUE(refused(odd));
  for (const ProbeHead& head : {ProbeHead{kView, 1, 8, 8}, ProbeHead{kView, 1, 0, 1},
                                ProbeHead{kView, 1, 0, kProbeFramesMax + 1}}) {
    EXPECT_EQ(ProbeHead::decode(head.encode()).status().code(), Code::kCorrupt);
  }
}

TEST(LineMessage, TheLargestReportFitsIntoAFrame) {
  LineReportMessage large{kView, {}};
  for (std::uint16_t reporter = 0; reporter < kLineRowsMax; ++reporter) {
    LineRow& row = large.rows.emplace_back();
    row.reporter = reporter;
    for (std::uint16_t from = 0; from < kMembersMax; ++from) {
      if (from != reporter) row.lines.push_back({from, LineCode(1), LineCode(1)});
    }
  }
  EXPECT_LT(large.encode().size(), 256U * 1024);
}

}  // namespace
}  // namespace weft::line_message_test
