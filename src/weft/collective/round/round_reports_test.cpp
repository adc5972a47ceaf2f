// Reports of rounds at one member, event by event; whole groups are in swarm_reports_test.cpp.
#include <algorithm>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/reduce/collective_form.h"
#include "weft/collective/round/round_core.h"
#include "weft/wire/frame_type.h"

namespace weft::round_reports_test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

PeerId peer_id(std::uint8_t number) {
  PeerId id;
  id.bytes[0] = number;
  return id;
}

View make_view(std::uint64_t number, const std::vector<std::uint8_t>& members, std::uint64_t base) {
  View view;
  view.id.number = ViewNumber(number);
  view.id.hash[0] = static_cast<std::uint8_t>(number);
  for (const std::uint8_t member : members) view.members.push_back({peer_id(member), 1, {}});
  view.base_round = Round(base);
  return view;
}

// A round with one exchange, of all members of the view.
ReadyMessage ready_message(const CollectiveId& id, std::uint64_t elements, int members) {
  return {id, {{Team::derive(id.view, members, "all")->id(), elements, {}}}};
}
ExchangeId exchange_id(const CollectiveId& id) { return {id.view, id.round, 0}; }

struct Recorder final : StateSink {
  struct Sent {
    PeerId to;
    Frame frame;
  };
  void send(const PeerId& to, Lane /*lane*/, Frame frame) override {
    sent.push_back({to, std::move(frame)});
  }
  std::size_t queued_bytes(const PeerId& /*to*/) const override { return 0; }
  int count(std::uint8_t type) const {
    return static_cast<int>(std::count_if(
        sent.begin(), sent.end(), [&](const Sent& each) { return each.frame.type == type; }));
  }
  std::vector<Sent> sent;
};

// Member 1 of a view of members 1 and 2; direct exchange of 4 values.
class ReportedRoundTest : public testing::Test {
 protected:
  ReportedRoundTest() : reported_(options(true), sink_) {
    EXPECT_TRUE(reported_.on_view(view_, TimePoint()).ok());
  }
  static RoundCoreOptions options(bool reports) {
    RoundCoreOptions made;
    made.self = peer_id(1);
    made.stall_timeout = seconds(10);
    made.wait_interval = seconds(60);
    made.reports = reports;
    return made;
  }
  CollectiveId id(std::uint64_t round) const { return {view_.id, Round(round)}; }
  Status hear(std::uint8_t type, const Bytes& head, const std::vector<float>& body = {}) {
    return reported_.on_frame(peer_id(2), {type, head, as_bytes(std::span<const float>(body))},
                              now_);
  }
  Status hear_ready(std::uint64_t round) {
    return hear(frame_type::kReady, ready_message(id(round), 4, 2).encode());
  }
  Status hear_data(std::uint64_t round) {
    const std::uint8_t form = form_of({}, Algorithm::kDirect);
    const SegmentHead head{exchange_id(id(round)), CollectiveOp::kDirect, form, 4, 0};
    return hear(frame_type::kSegment, head.encode(), theirs_);
  }
  Status hear_report(std::uint64_t round, const Bytes& report) {
    return hear(frame_type::kReport, ReportMessage{id(round), report}.encode());
  }
  Status hear_done(std::uint64_t round, const Bytes& reports) {
    return hear(frame_type::kDone, DoneMessage{id(round), result_hash(sum_, reports)}.encode());
  }
  void give_values(std::uint64_t round) {
    reported_.begin(id(round), 4, now_);
    reported_.contribute(0, mine_, now_);
  }

  const std::vector<float> mine_ = {1, 2, 3, 4};
  const std::vector<float> theirs_ = {10, 20, 30, 40};
  const std::vector<float> sum_ = {11, 22, 33, 44};
  const View view_ = make_view(5, {1, 2}, 0);
  TimePoint now_;
  Recorder sink_;
  const Bytes own_ = {1, 1, 1};
  const Bytes other_ = {2, 2};
  const Bytes both_ = RoundReports{{own_, other_}}.encode();
  RoundCore reported_;
};

TEST_F(ReportedRoundTest, AResultIsTheSumsAndTheReportsOfAll) {
  give_values(1);
  ASSERT_TRUE(hear_ready(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kReport), 0);
  reported_.report(own_, now_);
  EXPECT_EQ(sink_.count(frame_type::kReport), 1);
  ASSERT_TRUE(hear_data(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kDone), 0) << "the other's report is not here";
  EXPECT_EQ(reported_.status({}).done, Round(0)) << "nor is it held";
  ASSERT_TRUE(hear_report(1, other_).ok());
  EXPECT_EQ(sink_.count(frame_type::kDone), 1);
  EXPECT_EQ(reported_.status({}).done, Round(1));
  EXPECT_EQ(reported_.status({}).result_hash, result_hash(sum_, both_));
  ASSERT_TRUE(hear_done(1, both_).ok());
  const auto outcome = reported_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  ASSERT_TRUE(outcome->status.ok());
  EXPECT_THAT(reports_of(outcome->reports), ElementsAre(own_, other_));
}

TEST_F(ReportedRoundTest, NoReportGoesToWhoTakesNoDataYet) {
  give_values(1);
  reported_.report(own_, now_);
  EXPECT_EQ(sink_.count(frame_type::kReport), 0);
  ASSERT_TRUE(hear_ready(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kReport), 1);
  reported_.on_link_down(peer_id(2));
  reported_.on_link_up(peer_id(2));
  ASSERT_TRUE(hear_ready(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kReport), 2) << "a link that came back is told again";
}

TEST_F(ReportedRoundTest, OtherReportsAreAnotherResult) {
  give_values(1);
  ASSERT_TRUE(hear_ready(1).ok());
  reported_.report(own_, now_);
  ASSERT_TRUE(hear_data(1).ok());
  ASSERT_TRUE(hear_report(1, other_).ok());
  ASSERT_TRUE(hear_done(1, RoundReports{{own_, own_}}.encode()).ok());
  EXPECT_FALSE(reported_.take_outcome().has_value());
  const std::vector<Stall> stalls = reported_.take_stalls();
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].kind, StallKind::kDiffers);
}

TEST_F(ReportedRoundTest, NobodyIsDoneWithARoundThatLacksThisMembersReport) {
  give_values(1);
  ASSERT_TRUE(hear_ready(1).ok());
  EXPECT_EQ(hear_done(1, both_).code(), Code::kCorrupt);
  EXPECT_EQ(reported_.next_deadline(), TimePoint::max()) << "it is this member that is waited for";
  reported_.report(own_, now_);
  EXPECT_TRUE(hear_done(1, both_).ok());
}

TEST_F(ReportedRoundTest, WhoOwesItsReportIsNamed) {
  give_values(1);
  ASSERT_TRUE(hear_ready(1).ok());
  reported_.report(own_, now_);
  ASSERT_TRUE(hear_data(1).ok());
  now_ += seconds(61);
  const auto wait = reported_.waiting(now_);
  ASSERT_TRUE(wait.has_value());
  EXPECT_THAT(wait->owing, ElementsAre(peer_id(2)));
}

TEST_F(ReportedRoundTest, TheNextViewCommitsBothOrNeither) {
  give_values(1);
  ASSERT_TRUE(hear_ready(1).ok());
  reported_.report(own_, now_);
  ASSERT_TRUE(hear_data(1).ok());
  reported_.on_freeze();
  ASSERT_TRUE(hear_report(1, other_).ok());
  EXPECT_EQ(reported_.status({}).done, Round(1)) << "it would promise sums and reports";
  ASSERT_TRUE(reported_.on_view(make_view(6, {1}, 1), now_).ok());
  const auto outcome = reported_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  ASSERT_TRUE(outcome->status.ok());
  EXPECT_THAT(reports_of(outcome->reports), ElementsAre(own_, other_))
      << "of whoever was in the round, also where that one is gone";
}

TEST_F(ReportedRoundTest, SumsWithoutAReportAreRunAgain) {
  give_values(1);
  ASSERT_TRUE(hear_ready(1).ok());
  reported_.report(own_, now_);
  ASSERT_TRUE(hear_data(1).ok());
  reported_.on_freeze();
  ASSERT_TRUE(reported_.on_view(make_view(6, {1}, 0), now_).ok());
  EXPECT_EQ(reported_.take_outcome()->status.code(), Code::kAborted);
}

TEST_F(ReportedRoundTest, AReleasedResultIsAdoptedWithItsReports) {
  give_values(1);
  ASSERT_TRUE(hear_ready(1).ok());
  reported_.report(own_, now_);
  ASSERT_TRUE(hear_data(1).ok());
  ASSERT_TRUE(hear_report(1, other_).ok());
  reported_.on_freeze();
  reported_.release(aborted("the quorum is lost"), now_);
  ASSERT_TRUE(reported_.on_view(make_view(6, {1}, 1), now_).ok());
  const auto adopted = reported_.take_adopted();
  ASSERT_TRUE(adopted.has_value());
  EXPECT_THAT(reports_of(adopted->reports), ElementsAre(own_, other_));
}

TEST_F(ReportedRoundTest, AGroupOfOneHoldsItsOwnReport) {
  ASSERT_TRUE(reported_.on_view(make_view(6, {1}, 0), now_).ok());
  reported_.begin({make_view(6, {1}, 0).id, Round(1)}, 4, now_);
  reported_.contribute(0, mine_, now_);
  EXPECT_FALSE(reported_.take_outcome().has_value());
  reported_.report({}, now_);
  const auto outcome = reported_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_THAT(reports_of(outcome->reports), ElementsAre(Bytes()));
}

TEST_F(ReportedRoundTest, HostileReportsAreCorrupt) {
  give_values(1);
  ASSERT_TRUE(hear_ready(1).ok());
  EXPECT_EQ(hear_report(1, Bytes(kReportBytesMax + 1)).code(), Code::kCorrupt);
  EXPECT_EQ(hear(frame_type::kReport, {1, 2, 3}).code(), Code::kCorrupt);
  EXPECT_EQ(hear_report(3, other_).code(), Code::kCorrupt) << "of a round that nobody has begun";
  EXPECT_TRUE(hear_report(1, Bytes(kReportBytesMax)).ok());
  EXPECT_TRUE(hear_report(1, Bytes(kReportBytesMax)).ok()) << "said again";
  EXPECT_EQ(hear_report(1, other_).code(), Code::kCorrupt) << "another one";
  RoundCore without(options(false), sink_);
  ASSERT_TRUE(without.on_view(view_, now_).ok());
  without.begin(id(1), 4, now_);
  const Bytes head = ReportMessage{id(1), other_}.encode();
  EXPECT_EQ(without.on_frame(peer_id(2), {frame_type::kReport, head, {}}, now_).code(),
            Code::kCorrupt)
      << "where rounds have none";
}

}  // namespace
}  // namespace weft::round_reports_test
