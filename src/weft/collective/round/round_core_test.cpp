// The commit rule of one member, event by event; whole groups are in swarm_core_test.cpp.
#include "weft/collective/round/round_core.h"

#include <limits>
#include <new>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/round/test_round_member.h"

namespace weft::round_core_test {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

class RoundCoreTest : public RoundMemberTest {
 protected:
  RoundCoreTest() : RoundMemberTest(false) {}
  Status give_done(std::uint64_t round) {
    return give(frame_type::kDone, DoneMessage{id(round), sum_hash()}.encode());
  }
  Hash128 sum_hash() const { return xxh3_128(as_bytes(std::span<const float>(sum_))); }
};

// A view that is too small for the rule runs no rounds, and nothing is sent.
TEST(AggregatingRoundCore, TakesNoRoundOfTooFewMembers) {
  RoundRecorder sink;
  RoundCoreOptions options;
  options.self = round_peer_id(1);
  options.all_reduce.aggregator = *Aggregator::parse("trimmed_mean");
  options.all_reduce.aggregate_round.liars = 1;
  RoundCore core(options, sink);
  const View small = round_view(5, {1, 2}, 0);
  ASSERT_TRUE(core.on_view(small, TimePoint()).ok());
  EXPECT_EQ(core.can_aggregate().message(),
            "trimmed_mean takes 2 f + 1 = 3 members against 1 liars, got 2");
  core.begin({small.id, Round(1)}, 4, TimePoint());
  const std::optional<RoundOutcome> outcome = core.take_outcome();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status.code(), Code::kAborted);
  EXPECT_TRUE(sink.sent.empty());
  const View enough = round_view(6, {1, 2, 3}, 0);
  ASSERT_TRUE(core.on_view(enough, TimePoint()).ok());
  EXPECT_TRUE(core.can_aggregate().ok());
  core.begin({enough.id, Round(1)}, 4, TimePoint());
  EXPECT_TRUE(core.open());
}

TEST_F(RoundCoreTest, CommitsWhenAllAreDone) {
  begin(1);
  EXPECT_EQ(sink_.count(frame_type::kReady), 1);
  EXPECT_EQ(sink_.count(frame_type::kSegment), 0) << "nothing before the other is ready";
  ASSERT_TRUE(give_ready(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kSegment), 1);
  ASSERT_TRUE(give_data(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kDone), 1);
  EXPECT_FALSE(core_.take_outcome().has_value()) << "not before the other is done";
  EXPECT_EQ(core_.status({}).done, Round(1));
  ASSERT_TRUE(give_done(1).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->status.ok());
  EXPECT_THAT(std::vector<float>(outcome->values->span().begin(), outcome->values->span().end()),
              ElementsAre(11, 22, 33, 44));
  EXPECT_EQ(core_.committed(), Round(1));
}

TEST_F(RoundCoreTest, ReadyForTheNextRoundShowsThatThisOneIsCommitted) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  ASSERT_TRUE(give_data(1).ok());
  ASSERT_TRUE(give_ready(2).ok());
  EXPECT_EQ(core_.committed(), Round(1));
  core_.take_outcome();
  begin(2);
  EXPECT_EQ(sink_.count(frame_type::kSegment), 2) << "its Ready was kept";
}

TEST_F(RoundCoreTest, AfterTheFreezeNothingIsSaidAndNothingOfItCommitted) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  core_.on_freeze();
  EXPECT_EQ(core_.status({}).done, Round(0));
  ASSERT_TRUE(give_data(1).ok());
  EXPECT_EQ(sink_.count(frame_type::kDone), 0);
  ASSERT_TRUE(give_done(1).ok());
  EXPECT_FALSE(core_.take_outcome().has_value());
  // The others agreed without this result: it is run again.
  ASSERT_TRUE(core_.on_view(round_view(6, {1, 2}, 0), now_).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->status.code(), Code::kAborted);
  EXPECT_EQ(core_.committed(), Round(0));
}

TEST_F(RoundCoreTest, TheNextViewCommitsWhatItsBaseReaches) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  ASSERT_TRUE(give_data(1).ok());
  core_.on_freeze();
  ASSERT_TRUE(core_.on_view(round_view(6, {1}, 1), now_).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_TRUE(outcome->status.ok());
}

TEST_F(RoundCoreTest, AfterMissedViewsTheHeldResultIsNotTrusted) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  ASSERT_TRUE(give_data(1).ok());
  core_.on_freeze();
  ASSERT_TRUE(core_.on_view(round_view(8, {1, 2}, 1), now_).ok());
  EXPECT_EQ(core_.take_outcome()->status.code(), Code::kAborted);
  EXPECT_EQ(core_.committed(), Round(1)) << "its result must be fetched";
}

TEST_F(RoundCoreTest, WhatWasSaidStandsWhenTheRoundIsGivenUp) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  ASSERT_TRUE(give_data(1).ok());
  core_.cancel(aborted("leaving"), now_);
  EXPECT_EQ(core_.status({}).done, Round(1));
}

// A member that hears the others again after it has given the round up, having lost the quorum.
TEST_F(RoundCoreTest, OthersMayBeDoneWithARoundThatWasGivenUpHere) {
  begin(1);
  core_.on_freeze();
  core_.release(aborted("the quorum is lost"), now_);
  EXPECT_TRUE(give_ready(1).ok());
  EXPECT_TRUE(give_done(1).ok());
  EXPECT_EQ(give_done(2).code(), Code::kCorrupt) << "of that they have no input";
}

// A member that leaves gives its round up after it has said that it is done with it.
TEST_F(RoundCoreTest, OthersMayGoOnToTheNextRoundWhenThisOneWasGivenUpHere) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  ASSERT_TRUE(give_data(1).ok());
  core_.cancel(aborted("leaving"), now_);
  EXPECT_TRUE(give_ready(2).ok());
  EXPECT_EQ(give_ready(3).code(), Code::kCorrupt) << "without this member's part of round 2";
}

TEST_F(RoundCoreTest, CommittedAboveTheNewBaseIsAnError) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  ASSERT_TRUE(give_data(1).ok());
  ASSERT_TRUE(give_done(1).ok());
  EXPECT_EQ(core_.on_view(round_view(6, {1, 2}, 0), now_).code(), Code::kInternal);
}

TEST_F(RoundCoreTest, ReadyOfAViewNotYetKnownIsKept) {
  const View next = round_view(6, {1, 3}, 0);
  const ReadyMessage message = round_ready({next.id, Round(1)}, 4, 2);
  ASSERT_TRUE(
      core_.on_frame(round_peer_id(3), {frame_type::kReady, message.encode(), {}}, now_).ok());
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
  core_.begin({round_view(4, {1}, 0).id, Round(1)}, 4, now_);
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
  EXPECT_EQ(give_ready(3).code(), Code::kCorrupt);
  EXPECT_EQ(give_done(2).code(), Code::kCorrupt);
  EXPECT_EQ(give_data(9).code(), Code::kCorrupt);
  EXPECT_TRUE(core_.open());
}

TEST_F(RoundCoreTest, AnotherLengthIsSaid) {
  begin(1);
  ASSERT_TRUE(give_ready(1, 5).ok());
  const auto outcome = core_.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->status.code(), Code::kInvalidArgument);
  EXPECT_THAT(outcome->status.message(), testing::HasSubstr("5 elements"));
}

TEST_F(RoundCoreTest, OfThreeNoneEndsTheRoundOfTheOthersByAnotherLengthOrWay) {
  const View three = round_view(6, {1, 2, 3}, 0);
  ASSERT_TRUE(core_.on_view(three, now_).ok());
  const CollectiveId round{three.id, Round(1)};
  core_.begin(round, 4, now_);
  core_.contribute(0, mine_, now_);
  EXPECT_EQ(give(frame_type::kReady, round_ready(round, 5, 3).encode()).code(), Code::kCorrupt);
  ASSERT_TRUE(give(frame_type::kReady, round_ready(round, 4, 3).encode()).ok());
  const std::uint8_t ring = form_of({}, Algorithm::kRing);
  const SegmentHead head{round_exchange(round), CollectiveOp::kReduce, ring, 4, 0};
  EXPECT_EQ(give(frame_type::kSegment, head.encode(), theirs_).code(), Code::kCorrupt);
  EXPECT_TRUE(core_.open());
}

TEST_F(RoundCoreTest, OfThreeAnotherLengthSaidBeforeTheRoundIsReported) {
  const View three = round_view(6, {1, 2, 3}, 0);
  ASSERT_TRUE(core_.on_view(three, now_).ok());
  const CollectiveId round{three.id, Round(1)};
  ASSERT_TRUE(give(frame_type::kReady, round_ready(round, 5, 3).encode()).ok());
  core_.begin(round, 4, now_);
  const std::vector<Stall> stalls = core_.take_stalls();
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].kind, StallKind::kDiffers);
  EXPECT_EQ(stalls[0].peer, round_peer_id(2));
  EXPECT_TRUE(core_.open());
}

TEST_F(RoundCoreTest, DoneComesAgainWithALinkThatCameBack) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  ASSERT_TRUE(give_data(1).ok());
  core_.on_link_down(round_peer_id(2));
  core_.on_link_up(round_peer_id(2));
  EXPECT_EQ(sink_.count(frame_type::kDone), 2);
  EXPECT_EQ(sink_.count(frame_type::kReady), 2);
}

TEST_F(RoundCoreTest, SilenceOfWhoOwesIsReportedComputingIsNot) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
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
  EXPECT_EQ(stalls[0].peer, round_peer_id(2));
}

// Member 1 of a view of members 1, 2 and 3, with the usual interval.
TEST(RoundCore, AsksEveryoneWhereTheyStandAndNamesThoseThatCompute) {
  RoundRecorder sink;
  RoundCoreOptions options;
  options.self = round_peer_id(1);
  RoundCore core(options, sink);
  const View view = round_view(5, {1, 2, 3}, 0);
  TimePoint now;
  ASSERT_TRUE(core.on_view(view, now).ok());
  const CollectiveId id{view.id, Round(1)};
  const auto receive = [&](std::uint8_t from, const ProgressMessage& message) {
    ASSERT_TRUE(
        core.on_frame(round_peer_id(from), {frame_type::kProgress, message.encode(), {}}, now)
            .ok());
  };
  core.begin(id, 4, now);
  now += seconds(30);
  EXPECT_FALSE(core.waiting(now).has_value()) << "it computes itself";
  receive(2, {id, true, false, {}});
  receive(3, {id, true, false, {}});
  EXPECT_THAT(core.awaited(now)->by, ElementsAre(round_peer_id(2), round_peer_id(3)));
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
  receive(2, {id, false, true, {}});
  receive(3, {id, false, false, {}});
  EXPECT_THAT(core.waiting(now)->computing, ElementsAre(round_peer_id(3)));
  EXPECT_EQ(core.waiting(now)->waited, seconds(2));
  EXPECT_EQ(core.waiting(now)->elements, 4);
  core.on_timer(now + seconds(2));
  EXPECT_EQ(sink.count(frame_type::kProgress), 4) << "asked again";
  receive(3, {id, false, true, {}});
  EXPECT_TRUE(core.waiting(now)->computing.empty());
  core.on_freeze();
  EXPECT_FALSE(core.waiting(now).has_value()) << "the members change";
}

TEST_F(RoundCoreTest, AnotherResultIsNamed) {
  begin(1);
  ASSERT_TRUE(give_ready(1).ok());
  ASSERT_TRUE(give_data(1).ok());
  sum_[0] = 0;
  ASSERT_TRUE(give_done(1).ok());
  const std::vector<Stall> stalls = core_.take_stalls();
  ASSERT_EQ(stalls.size(), 1U);
  EXPECT_EQ(stalls[0].kind, StallKind::kDiffers);
  EXPECT_FALSE(core_.take_outcome().has_value());
}

}  // namespace
}  // namespace weft::round_core_test
