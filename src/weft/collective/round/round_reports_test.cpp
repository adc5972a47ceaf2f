// Reports of rounds at one member, event by event; whole groups are in swarm_reports_test.cpp.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/round/test_round_member.h"

namespace weft::round_reports_test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

class ReportedRoundTest : public RoundMemberTest {
 protected:
  ReportedRoundTest() : RoundMemberTest(true) {}
  Status give_report(std::uint64_t round, const Bytes& report) {
    return give(frame_type::kReport, ReportMessage{id(round), report}.encode());
  }
  Status give_done(std::uint64_t round, const Bytes& reports) {
    return give(frame_type::kDone, DoneMessage{id(round), result_hash(sum_, reports)}.encode());
  }

  const Bytes own_ = {1, 1, 1};
  const Bytes other_ = {2, 2};
  const Bytes both_ = RoundReports{{own_, other_}}.encode();
};

TEST_F(ReportedRoundTest, AResultIsTheSumsAndTheReportsOfAll) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kReport), 0);
  core_.report(own_, now_);
  EXPECT_EQ(sink_.count(frame_type::kReport), 1);
  ASSERT_TRUE(give_data(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kDone), 0) << "the other's report is not here";
  EXPECT_EQ(core_.status({}).done, Round(0)) << "nor is it held";
  ASSERT_TRUE(give_report(1, other_).ok());
  EXPECT_EQ(sink_.count(frame_type::kDone), 1);
  EXPECT_EQ(core_.status({}).done, Round(1));
  EXPECT_EQ(core_.status({}).result_hash, result_hash(sum_, both_));
  ASSERT_TRUE(give_done(1, both_).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  ASSERT_TRUE(outcome->status.ok());
  EXPECT_THAT(reports_of(outcome->reports), ElementsAre(own_, other_));
}

TEST_F(ReportedRoundTest, NoReportGoesToWhoTakesNoDataYet) {
  begin(1);
  core_.report(own_, now_);
  EXPECT_EQ(sink_.count(frame_type::kReport), 0);
  ASSERT_TRUE(give_ready(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kReport), 1);
  core_.on_link_down(round_peer_id(2));
  core_.on_link_up(round_peer_id(2));
  ASSERT_TRUE(give_ready(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kReport), 2) << "it is sent again over a restored link";
}

TEST_F(ReportedRoundTest, OtherReportsAreAnotherResult) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  core_.report(own_, now_);
  ASSERT_TRUE(give_data(1).ok());
  ASSERT_TRUE(give_report(1, other_).ok());
  ASSERT_TRUE(give_done(1, RoundReports{{own_, own_}}.encode()).ok());
  EXPECT_FALSE(core_.take_outcome().has_value());
  const std::vector<Stall> stalls = core_.take_stalls();
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].kind, StallKind::kDiffers);
}

TEST_F(ReportedRoundTest, NobodyIsDoneWithARoundThatLacksThisMembersReport) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  EXPECT_EQ(give_done(1, both_).code(), Code::kCorrupt);
  EXPECT_EQ(core_.next_deadline(), TimePoint::max()) << "it is this member that is waited for";
  core_.report(own_, now_);
  EXPECT_TRUE(give_done(1, both_).ok());
}

TEST_F(ReportedRoundTest, WhoOwesItsReportIsNamed) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  core_.report(own_, now_);
  ASSERT_TRUE(give_data(1).ok());
  now_ += seconds(61);
  const auto wait = core_.waiting(now_);
  ASSERT_TRUE(wait.has_value());
  EXPECT_THAT(wait->owing, ElementsAre(round_peer_id(2)));
}

TEST_F(ReportedRoundTest, TheNextViewCommitsBothOrNeither) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  core_.report(own_, now_);
  ASSERT_TRUE(give_data(1).ok());
  core_.on_freeze();
  ASSERT_TRUE(give_report(1, other_).ok());
  EXPECT_EQ(core_.status({}).done, Round(1)) << "it would promise sums and reports";
  ASSERT_TRUE(core_.on_view(round_view(6, {1}, 1), now_).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  ASSERT_TRUE(outcome->status.ok());
  EXPECT_THAT(reports_of(outcome->reports), ElementsAre(own_, other_))
      << "of whoever was in the round, also where that one is gone";
}

TEST_F(ReportedRoundTest, SumsWithoutAReportAreRunAgain) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  core_.report(own_, now_);
  ASSERT_TRUE(give_data(1).ok());
  core_.on_freeze();
  ASSERT_TRUE(core_.on_view(round_view(6, {1}, 0), now_).ok());
  EXPECT_EQ(core_.take_outcome()->status.code(), Code::kAborted);
}

TEST_F(ReportedRoundTest, AReleasedResultIsAdoptedWithItsReports) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  core_.report(own_, now_);
  ASSERT_TRUE(give_data(1).ok());
  ASSERT_TRUE(give_report(1, other_).ok());
  core_.on_freeze();
  core_.release(aborted("the quorum is lost"), now_);
  ASSERT_TRUE(core_.on_view(round_view(6, {1}, 1), now_).ok());
  const auto adopted = core_.take_adopted();
  ASSERT_TRUE(adopted.has_value());
  EXPECT_THAT(reports_of(adopted->reports), ElementsAre(own_, other_));
}

TEST_F(ReportedRoundTest, AGroupOfOneHoldsItsOwnReport) {
  ASSERT_TRUE(core_.on_view(round_view(6, {1}, 0), now_).ok());
  core_.begin({round_view(6, {1}, 0).id, Round(1)}, 4, now_);
  core_.contribute(0, mine_, now_);
  EXPECT_FALSE(core_.take_outcome().has_value());
  core_.report({}, now_);
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_THAT(reports_of(outcome->reports), ElementsAre(Bytes()));
}

TEST_F(ReportedRoundTest, HostileReportsAreCorrupt) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  EXPECT_EQ(give_report(1, Bytes(kReportBytesMax + 1)).code(), Code::kCorrupt);
  EXPECT_EQ(give(frame_type::kReport, {1, 2, 3}).code(), Code::kCorrupt);
  EXPECT_EQ(give_report(3, other_).code(), Code::kCorrupt) << "of a round that nobody has begun";
  EXPECT_TRUE(give_report(1, Bytes(kReportBytesMax)).ok());
  EXPECT_TRUE(give_report(1, Bytes(kReportBytesMax)).ok()) << "said again";
  EXPECT_EQ(give_report(1, other_).code(), Code::kCorrupt) << "another one";
  RoundCore without(options(false), sink_);
  ASSERT_TRUE(without.on_view(view_, now_).ok());
  without.begin(id(1), 4, now_);
  const Bytes head = ReportMessage{id(1), other_}.encode();
  EXPECT_EQ(without.on_frame(round_peer_id(2), {frame_type::kReport, head, {}}, now_).code(),
            Code::kCorrupt)
      << "where rounds have none";
}

}  // namespace
}  // namespace weft::round_reports_test
