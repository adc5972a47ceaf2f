// The commit rule of one member, event by event; whole groups are in swarm_core_test.cpp.
#include "weft/collective/round/round_core.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/reduce/collective_form.h"
#include "weft/wire/frame_type.h"

namespace weft::round_core_test {
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
class RoundCoreTest : public testing::Test {
 protected:
  RoundCoreTest() : core_(options(), sink_) { EXPECT_TRUE(core_.on_view(view_, TimePoint()).ok()); }
  static RoundCoreOptions options() {
    RoundCoreOptions made;
    made.self = peer_id(1);
    made.stall_timeout = seconds(10);
    made.wait_interval = seconds(60);
    return made;
  }
  CollectiveId id(std::uint64_t round) const { return {view_.id, Round(round)}; }
  Status give(std::uint8_t type, const Bytes& head, const std::vector<float>& body = {}) {
    return core_.on_frame(peer_id(2), {type, head, as_bytes(std::span<const float>(body))}, now_);
  }
  Status ready(std::uint64_t round, std::uint64_t elements = 4) {
    return give(frame_type::kReady, ready_message(id(round), elements, 2).encode());
  }
  Status data(std::uint64_t round) {
    const std::uint8_t form = form_of({}, Algorithm::kDirect);
    const SegmentHead head{exchange_id(id(round)), CollectiveOp::kDirect, form, 4, 0};
    return give(frame_type::kSegment, head.encode(), theirs_);
  }
  Status done(std::uint64_t round) {
    return give(frame_type::kDone, DoneMessage{id(round), sum_hash()}.encode());
  }
  Hash128 sum_hash() const { return xxh3_128(as_bytes(std::span<const float>(sum_))); }
  void begin(std::uint64_t round) {
    core_.begin(id(round), 4, now_);
    core_.contribute(0, mine_, now_);
  }

  std::vector<float> mine_ = {1, 2, 3, 4};
  std::vector<float> theirs_ = {10, 20, 30, 40};
  std::vector<float> sum_ = {11, 22, 33, 44};
  View view_ = make_view(5, {1, 2}, 0);
  TimePoint now_;
  Recorder sink_;
  RoundCore core_;
};

// A view that is too small for the rule runs no rounds, and nothing is sent.
TEST(AggregatingRoundCore, TakesNoRoundOfTooFewMembers) {
  Recorder sink;
  RoundCoreOptions options;
  options.self = peer_id(1);
  options.all_reduce.aggregator = *Aggregator::parse("trimmed_mean");
  options.all_reduce.aggregate_round.liars = 1;
  RoundCore core(options, sink);
  const View small = make_view(5, {1, 2}, 0);
  ASSERT_TRUE(core.on_view(small, TimePoint()).ok());
  EXPECT_EQ(core.can_aggregate().message(),
            "trimmed_mean takes 2 f + 1 = 3 members against 1 liars, got 2");
  core.begin({small.id, Round(1)}, 4, TimePoint());
  const std::optional<RoundOutcome> outcome = core.take_outcome();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status.code(), Code::kAborted);
  EXPECT_TRUE(sink.sent.empty());
  const View enough = make_view(6, {1, 2, 3}, 0);
  ASSERT_TRUE(core.on_view(enough, TimePoint()).ok());
  EXPECT_TRUE(core.can_aggregate().ok());
  core.begin({enough.id, Round(1)}, 4, TimePoint());
  EXPECT_TRUE(core.open());
}

TEST_F(RoundCoreTest, CommitsWhenAllAreDone) {
  begin(1);
  EXPECT_EQ(sink_.count(frame_type::kReady), 1);
  EXPECT_EQ(sink_.count(frame_type::kSegment), 0) << "nothing before the other is ready";
  ASSERT_TRUE(ready(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kSegment), 1);
  ASSERT_TRUE(data(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kDone), 1);
  EXPECT_FALSE(core_.take_outcome().has_value()) << "not before the other is done";
  EXPECT_EQ(core_.status({}).done, Round(1));
  ASSERT_TRUE(done(1).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->status.ok());
  EXPECT_THAT(std::vector<float>(outcome->values->span().begin(), outcome->values->span().end()),
              ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(core_.committed(), Round(1));
}

TEST_F(RoundCoreTest, ReadyForTheNextRoundShowsThatThisOneIsCommitted) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  ASSERT_TRUE(data(1).ok());
  ASSERT_TRUE(ready(2).ok());
  EXPECT_EQ(core_.committed(), Round(1));
  core_.take_outcome();
  begin(2);
  EXPECT_EQ(sink_.count(frame_type::kSegment), 2) << "its Ready was kept";
}

TEST_F(RoundCoreTest, AfterTheFreezeNothingIsSaidAndNothingOfItCommitted) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  core_.on_freeze();
  EXPECT_EQ(core_.status({}).done, Round(0));
  ASSERT_TRUE(data(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kDone), 0);
  ASSERT_TRUE(done(1).ok());
  EXPECT_FALSE(core_.take_outcome().has_value());
  // The others agreed without this result: it is run again.
  ASSERT_TRUE(core_.on_view(make_view(6, {1, 2}, 0), now_).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->status.code(), Code::kAborted);
  EXPECT_EQ(core_.committed(), Round(0));
}

TEST_F(RoundCoreTest, TheNextViewCommitsWhatItsBaseReaches) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  ASSERT_TRUE(data(1).ok());
  core_.on_freeze();
  ASSERT_TRUE(core_.on_view(make_view(6, {1}, 1), now_).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->status.ok());
}

TEST_F(RoundCoreTest, AfterMissedViewsTheHeldResultIsNotTrusted) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  ASSERT_TRUE(data(1).ok());
  core_.on_freeze();
  ASSERT_TRUE(core_.on_view(make_view(8, {1, 2}, 1), now_).ok());
  EXPECT_EQ(core_.take_outcome()->status.code(), Code::kAborted);
  EXPECT_EQ(core_.committed(), Round(1)) << "its result must be fetched";
}

TEST_F(RoundCoreTest, WhatWasSaidStandsWhenTheRoundIsGivenUp) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  ASSERT_TRUE(data(1).ok());
  core_.cancel(aborted("leaving"), now_);
  EXPECT_EQ(core_.status({}).done, Round(1));
}

// A member that hears the others again after it has given the round up, having lost the quorum.
TEST_F(RoundCoreTest, OthersMayBeDoneWithARoundThatWasGivenUpHere) {
  begin(1);
  core_.on_freeze();
  core_.release(aborted("the quorum is lost"), now_);
  EXPECT_TRUE(ready(1).ok());
  EXPECT_TRUE(done(1).ok());
  EXPECT_EQ(done(2).code(), Code::kCorrupt) << "of that they have no input";
}

// A member that leaves gives its round up after it has said that it is done with it.
TEST_F(RoundCoreTest, OthersMayGoOnToTheNextRoundWhenThisOneWasGivenUpHere) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  ASSERT_TRUE(data(1).ok());
  core_.cancel(aborted("leaving"), now_);
  EXPECT_TRUE(ready(2).ok());
  EXPECT_EQ(ready(3).code(), Code::kCorrupt) << "without this member's part of round 2";
}

TEST_F(RoundCoreTest, CommittedAboveTheNewBaseIsAnError) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  ASSERT_TRUE(data(1).ok());
  ASSERT_TRUE(done(1).ok());
  EXPECT_EQ(core_.on_view(make_view(6, {1, 2}, 0), now_).code(), Code::kInternal);
}

TEST_F(RoundCoreTest, ReadyOfAViewNotYetKnownIsKept) {
  const View next = make_view(6, {1, 3}, 0);
  const ReadyMessage message = ready_message({next.id, Round(1)}, 4, 2);
  ASSERT_TRUE(core_.on_frame(peer_id(3), {frame_type::kReady, message.encode(), {}}, now_).ok());
  ASSERT_TRUE(core_.on_view(next, now_).ok());
  EXPECT_TRUE(core_.begun_elsewhere(Round(1)));
  core_.begin({next.id, Round(1)}, 4, now_);
  core_.contribute(0, mine_, now_);
  EXPECT_EQ(sink_.count(frame_type::kSegment), 1);
}

TEST(FloatBuffer, SizesThatNoMachineHoldsFindNoMemory) {
  for (const std::int64_t elements : {std::int64_t{-1}, (std::int64_t{1} << 45) + 1,
                                      std::int64_t{1} << 62,  // its bytes wrap to none
                                      std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_THROW(FloatBuffer{elements}, std::bad_alloc) << elements;
  }
}

TEST_F(RoundCoreTest, AVectorThatFindsNoMemoryEndsTheRoundInWords) {
  core_.begin(id(1), std::int64_t{1} << 60, now_);
  const std::optional<RoundOutcome> outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->status.code(), Code::kUnavailable);
  EXPECT_NE(outcome->status.message().find("not enough memory"), std::string::npos);
  core_.contribute(0, mine_, now_);
  core_.begin(id(1), 4, now_);
  EXPECT_FALSE(core_.take_outcome().has_value()) << "with less the round goes on";
}

TEST_F(RoundCoreTest, BeginOfAnOldTurnIsAborted) {
  core_.begin({make_view(4, {1}, 0).id, Round(1)}, 4, now_);
  EXPECT_EQ(core_.take_outcome()->status.code(), Code::kAborted);
  core_.begin(id(2), 4, now_);
  EXPECT_EQ(core_.take_outcome()->status.code(), Code::kAborted);
  core_.on_freeze();
  core_.begin(id(1), 4, now_);
  EXPECT_EQ(core_.take_outcome()->status.code(), Code::kAborted);
  core_.contribute(0, mine_, now_);
}

TEST_F(RoundCoreTest, HostileFramesAreCorrupt) {
  begin(1);
  EXPECT_EQ(give(frame_type::kDone, {1, 2, 3}).code(), Code::kCorrupt);
  EXPECT_EQ(give(0x4f, {}).code(), Code::kCorrupt);
  EXPECT_EQ(ready(3).code(), Code::kCorrupt);
  EXPECT_EQ(done(2).code(), Code::kCorrupt);
  EXPECT_EQ(data(9).code(), Code::kCorrupt);
  EXPECT_TRUE(core_.open());
}

TEST_F(RoundCoreTest, AnotherLengthIsSaid) {
  begin(1);
  ASSERT_TRUE(ready(1, 5).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->status.code(), Code::kInvalidArgument);
  EXPECT_THAT(outcome->status.message(), testing::HasSubstr("5 elements"));
}

TEST_F(RoundCoreTest, OfThreeNoneEndsTheRoundOfTheOthersByAnotherLengthOrWay) {
  const View three = make_view(6, {1, 2, 3}, 0);
  ASSERT_TRUE(core_.on_view(three, now_).ok());
  const CollectiveId round{three.id, Round(1)};
  core_.begin(round, 4, now_);
  core_.contribute(0, mine_, now_);
  EXPECT_EQ(give(frame_type::kReady, ready_message(round, 5, 3).encode()).code(), Code::kCorrupt);
  ASSERT_TRUE(give(frame_type::kReady, ready_message(round, 4, 3).encode()).ok());
  const std::uint8_t ring = form_of({}, Algorithm::kRing);
  const SegmentHead head{exchange_id(round), CollectiveOp::kReduce, ring, 4, 0};
  EXPECT_EQ(give(frame_type::kSegment, head.encode(), theirs_).code(), Code::kCorrupt);
  EXPECT_TRUE(core_.open());
}

TEST_F(RoundCoreTest, OfThreeAnotherLengthSaidBeforeTheRoundIsReported) {
  const View three = make_view(6, {1, 2, 3}, 0);
  ASSERT_TRUE(core_.on_view(three, now_).ok());
  const CollectiveId round{three.id, Round(1)};
  ASSERT_TRUE(give(frame_type::kReady, ready_message(round, 5, 3).encode()).ok());
  core_.begin(round, 4, now_);
  const std::vector<Stall> stalls = core_.take_stalls();
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].kind, StallKind::kDiffers);
  EXPECT_EQ(stalls[0].peer, peer_id(2));
  EXPECT_TRUE(core_.open());
}

TEST_F(RoundCoreTest, DoneComesAgainWithALinkThatCameBack) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  ASSERT_TRUE(data(1).ok());
  core_.on_link_down(peer_id(2));
  core_.on_link_up(peer_id(2));
  EXPECT_EQ(sink_.count(frame_type::kDone), 2);
  EXPECT_EQ(sink_.count(frame_type::kReady), 2);
}

TEST_F(RoundCoreTest, SilenceOfWhoOwesIsReportedComputingIsNot) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  ASSERT_EQ(core_.next_deadline(), now_ + seconds(5));
  now_ += seconds(5);
  core_.on_timer(now_);
  EXPECT_EQ(sink_.count(frame_type::kProgress), 1);
  ASSERT_TRUE(give(frame_type::kProgress, ProgressMessage{id(1), false, false, {}}.encode()).ok());
  EXPECT_TRUE(core_.take_stalls().empty());
  now_ += seconds(5);
  core_.on_timer(now_);
  ASSERT_TRUE(give(frame_type::kProgress, ProgressMessage{id(1), false, true, {}}.encode()).ok());
  std::vector<Stall> stalls = core_.take_stalls();
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].kind, StallKind::kStuck);
  now_ += seconds(5);
  core_.on_timer(now_);
  now_ += seconds(5);
  core_.on_timer(now_);
  stalls = core_.take_stalls();
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].kind, StallKind::kSilent);
  EXPECT_EQ(stalls[0].peer, peer_id(2));
}

// Member 1 of a view of members 1, 2 and 3, with the usual interval.
TEST(RoundCore, AsksEveryoneWhereTheyStandAndNamesThoseThatCompute) {
  Recorder sink;
  RoundCoreOptions options;
  options.self = peer_id(1);
  RoundCore core(options, sink);
  const View view = make_view(5, {1, 2, 3}, 0);
  TimePoint now;
  ASSERT_TRUE(core.on_view(view, now).ok());
  const CollectiveId id{view.id, Round(1)};
  const auto hear = [&](std::uint8_t from, const ProgressMessage& message) {
    ASSERT_TRUE(
        core.on_frame(peer_id(from), {frame_type::kProgress, message.encode(), {}}, now).ok());
  };
  core.begin(id, 4, now);
  now += seconds(30);
  EXPECT_FALSE(core.waiting(now).has_value()) << "it computes itself";
  hear(2, {id, true, false, {}});
  hear(3, {id, true, false, {}});
  EXPECT_THAT(core.awaited(now)->by, ElementsAre(peer_id(2), peer_id(3)));
  EXPECT_FALSE(core.awaited(now + seconds(10)).has_value()) << "they ask no more";
  sink.sent.clear();
  const std::vector<float> mine = {1, 2, 3, 4};
  core.contribute(0, mine, now);
  EXPECT_FALSE(core.awaited(now).has_value());
  core.on_timer(now + seconds(1));
  EXPECT_EQ(sink.count(frame_type::kProgress), 0);
  now += seconds(2);
  core.on_timer(now);
  EXPECT_EQ(sink.count(frame_type::kProgress), 2);
  ASSERT_TRUE(core.waiting(now).has_value());
  EXPECT_TRUE(core.waiting(now)->computing.empty());
  EXPECT_EQ(core.waiting(now)->owing.size(), 1U) << "nobody has answered yet";
  hear(2, {id, false, true, {}});
  hear(3, {id, false, false, {}});
  EXPECT_THAT(core.waiting(now)->computing, ElementsAre(peer_id(3)));
  EXPECT_EQ(core.waiting(now)->waited, seconds(2));
  EXPECT_EQ(core.waiting(now)->elements, 4);
  core.on_timer(now + seconds(2));
  EXPECT_EQ(sink.count(frame_type::kProgress), 4) << "asked again";
  hear(3, {id, false, true, {}});
  EXPECT_TRUE(core.waiting(now)->computing.empty());
  core.on_freeze();
  EXPECT_FALSE(core.waiting(now).has_value()) << "the members change";
}

TEST_F(RoundCoreTest, AnotherResultIsNamed) {
  begin(1);
  ASSERT_TRUE(ready(1).ok());
  ASSERT_TRUE(data(1).ok());
  sum_[0] = 0;
  ASSERT_TRUE(done(1).ok());
  const std::vector<Stall> stalls = core_.take_stalls();
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].kind, StallKind::kDiffers);
  EXPECT_FALSE(core_.take_outcome().has_value());
}

}  // namespace
}  // namespace weft::round_core_test
