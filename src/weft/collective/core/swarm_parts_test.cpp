// The parts of a swarm, each by its own methods.
#include "weft/collective/parts/swarm_parts.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/core/test_swarm_parts.h"
#include "weft/wire/fingerprint.h"

namespace weft::swarm_parts_test {
namespace {

using testing::HasSubstr;

SwarmCoreOptions options_with(std::uint64_t last_round) {
  SwarmCoreOptions options;
  options.last_round = Round(last_round);
  return options;
}

RoundOutcome aborted_after(Round round, Duration took) {
  RoundOutcome outcome = failed_outcome(round, aborted("the view has changed"));
  outcome.took = took;
  return outcome;
}

TEST(SwarmParts, WhatIsSaidOnceReachesAllThatAskForIt) {
  SwarmCoreOptions options;
  options.vector_elements_max = 10;
  LoneSwarmParts swarm(options);
  EXPECT_EQ(swarm.parts.options.rounds.self, LoneSwarmParts::self());
  EXPECT_EQ(swarm.parts.options.links.self, LoneSwarmParts::self());
  EXPECT_EQ(swarm.parts.options.fetch.elements_max, 10U);
}

TEST(SwarmParts, ASettingThatIsFilledInMayNotSayOtherwise) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  SwarmCoreOptions options;
  options.rounds.self = LoneSwarmParts::other();
  EXPECT_DEATH(LoneSwarmParts{options}, "field == said");
  options.rounds.self = LoneSwarmParts::self();
  const LoneSwarmParts swarm(options);
  EXPECT_EQ(swarm.parts.self(), LoneSwarmParts::self());
}

TEST(SwarmNews, CountsWhatARoundThatIsRunAgainHasCost) {
  LoneSwarmParts swarm;
  swarm.found();
  SwarmNews& news = swarm.parts.news;
  static_cast<void>(news.take());
  news.on_aborted(aborted_after(Round(1), std::chrono::seconds(3)));
  // One that was never begun has cost nothing.
  news.on_aborted(aborted_after(Round(1), Duration::zero()));
  SwarmStatus status;
  news.add_to(status);
  EXPECT_EQ(status.rounds_rerun, 1U);
  EXPECT_DOUBLE_EQ(status.seconds_lost, 3);
  const std::vector<SwarmEvent> events = news.take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, SwarmEventKind::kRoundRerun);
  EXPECT_TRUE(news.take().empty());
}

TEST(LinkReports, NamesAFewRefusalsASecondAndCountsTheRest) {
  LoneSwarmParts swarm;
  LinkReports& links = swarm.parts.links;
  for (int i = 0; i < 8; ++i) links.on_refused("10.0.0.1:1", unavailable("no ticket"));
  EXPECT_EQ(swarm.parts.news.take().size(), 5U);
  swarm.wait(std::chrono::seconds(2));
  links.on_refused("10.0.0.1:1", unavailable("no ticket"));
  const std::vector<SwarmEvent> events = swarm.parts.news.take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_THAT(events[0].text, HasSubstr("3 more connections were refused"));
}

TEST(LinkReports, ALinkIsNewsOnceItsPeerIsFoundToBelong) {
  LoneSwarmParts swarm;
  LinkInfo link;
  link.peer = LoneSwarmParts::other();
  swarm.parts.links.on_link_up(link);
  EXPECT_TRUE(swarm.parts.news.take().empty());
  swarm.parts.links.on_proved(link.peer);
  swarm.parts.links.on_proved(link.peer);
  const std::vector<SwarmEvent> events = swarm.parts.news.take();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].peer, link.peer);
}

TEST(RunStart, WaitsForItsMembersOrUntilTheTimeIsOver) {
  SwarmCoreOptions options;
  options.start_members = 2;
  options.start_timeout = std::chrono::seconds(10);
  LoneSwarmParts swarm(options);
  swarm.found();
  EXPECT_FALSE(swarm.parts.start.may_start());
  swarm.wait(std::chrono::seconds(11));
  EXPECT_TRUE(swarm.parts.start.may_start());
  swarm.parts.start.wait_anew();
  EXPECT_FALSE(swarm.parts.start.may_start());
  swarm.parts.start.expect(1);
  EXPECT_TRUE(swarm.parts.start.may_start());
}

TEST(OpenRound, ARoundOfTooManyElementsEndsAtOnceAndOpensNothing) {
  SwarmCoreOptions options;
  options.vector_elements_max = 10;
  LoneSwarmParts swarm(options);
  swarm.found();
  EXPECT_FALSE(swarm.parts.round.begin(swarm.parts.view().id, Round(1), 11));
  EXPECT_FALSE(swarm.parts.rounds.open());
  const std::optional<RoundOutcome> outcome = swarm.parts.round.take_outcome();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_EQ(outcome->status.code(), Code::kInvalidArgument);
  EXPECT_FALSE(swarm.parts.round.take_outcome().has_value());
}

TEST(OpenRound, ItsInputIsAwaitedUntilItHasSomeOrIsTakenOver) {
  LoneSwarmParts swarm;
  swarm.found();
  const ViewId view = swarm.parts.view().id;
  OpenRound& round = swarm.parts.round;
  EXPECT_FALSE(round.waits_for_input(4));
  EXPECT_TRUE(round.begin(view, Round(1), 4));
  EXPECT_TRUE(round.waits_for_input(4));
  EXPECT_FALSE(round.waits_for_input(5));
  EXPECT_TRUE(round.take_over({view, Round(1)}, 4));
  EXPECT_FALSE(round.waits_for_input(4));
}

TEST(StateGiving, AnOrderedSnapshotIsAskedForOnceAndForgottenIfItIsNotMade) {
  LoneSwarmParts swarm;
  swarm.found();
  StateGiving& giving = swarm.parts.giving;
  const Turn turn = giving.order(Round(3));
  EXPECT_EQ(turn.kind, TurnKind::kSnapshot);
  EXPECT_EQ(giving.published(), Round(3));
  EXPECT_FALSE(giving.wanted());
  EXPECT_EQ(giving.first_needed(Round(9)), Round(4));
  giving.miss();
  EXPECT_FALSE(giving.published().has_value());
  EXPECT_EQ(giving.first_needed(Round(9)), Round(9));
}

TEST(StateGiving, ASnapshotThatNobodyTakesAnyMoreIsDropped) {
  LoneSwarmParts swarm;
  swarm.found();
  StateGiving& giving = swarm.parts.giving;
  giving.order(Round(3));
  giving.publish(Round(3), Bytes(100));
  giving.drop_unused();
  EXPECT_EQ(giving.published(), Round(3));
  const TimePoint unused = giving.deadline();
  swarm.wait(unused - swarm.parts.now() + std::chrono::seconds(1));
  giving.drop_unused();
  EXPECT_FALSE(giving.published().has_value());
  EXPECT_FALSE(swarm.parts.server.newest_snapshot().has_value());
}

TEST(LastRound, IsReachedOnceAndByTheStateAlone) {
  LoneSwarmParts swarm(options_with(3));
  swarm.found();
  LastRound& ending = swarm.parts.ending;
  ending.on_state();
  EXPECT_FALSE(ending.reached());
  EXPECT_EQ(ending.deadline(), TimePoint::max());
  swarm.parts.trainer.take_state(Round(3));
  EXPECT_TRUE(ending.reached());
  swarm.parts.trainer.drop_state();
  EXPECT_FALSE(ending.reached());
  EXPECT_TRUE(ending.at_last_round());
}

TEST(WayIn, ComesBackAFewTimesAndThenFails) {
  SwarmCoreOptions options;
  options.rejoins_max = 1;
  LoneSwarmParts swarm(options);
  swarm.found();
  swarm.parts.membership.drop_out("too slow", swarm.parts.now());
  EXPECT_FALSE(swarm.parts.is_member());
  EXPECT_TRUE(swarm.parts.trainer.failure().ok());
  // Not while the training side computes.
  swarm.parts.way.settle();
  EXPECT_TRUE(swarm.parts.trainer.has_state());
  swarm.parts.trainer.request_turn();
  swarm.parts.way.settle();
  EXPECT_FALSE(swarm.parts.trainer.has_state());
  swarm.parts.way.on_failed(unavailable("nobody answers"));
  EXPECT_EQ(swarm.parts.trainer.failure().code(), Code::kUnavailable);
}

TEST(TrainerSide, TheFirstFailureIsTheOneThatItLearns) {
  LoneSwarmParts swarm;
  swarm.found();
  swarm.parts.trainer.fail(corrupt("its state differs"));
  swarm.parts.trainer.fail(unavailable("the quorum is lost"));
  EXPECT_FALSE(swarm.parts.trainer.take_turn().has_value()) << "none was asked for";
  swarm.parts.trainer.request_turn();
  const std::optional<Result<Turn>> turn = swarm.parts.trainer.take_turn();
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->status().code(), Code::kCorrupt);
}

TEST(Complaints, AreHeldUntilTheMembershipMayBeTold) {
  LoneSwarmParts swarm;
  swarm.found();
  swarm.parts.complaints.close(LoneSwarmParts::other(), timed_out("silent"));
  swarm.parts.complaints.suspect(LoneSwarmParts::other(), "no data");
  Fingerprint held;
  swarm.parts.complaints.fingerprint(held);
  swarm.parts.complaints.settle();
  Fingerprint after;
  swarm.parts.complaints.fingerprint(after);
  EXPECT_NE(held.finish(), after.finish());
}

}  // namespace
}  // namespace weft::swarm_parts_test
