// Whole swarms over simulated machines, links and time.
#include "weft/collective/core/swarm_core.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/scenario/test_swarm.h"
#include "weft/wire/frame_type.h"

namespace weft::swarm_core_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class World : public TestSwarm {
 public:
  using TestSwarm::TestSwarm;
  // Another process of the member `number`.
  SwarmPeer& add_again(std::uint32_t number, std::uint64_t incarnation) {
    SwarmPeer::Settings settings = settings_of(number);
    settings.incarnation = incarnation;
    return start_peer(std::move(settings));
  }
};

TEST(SwarmCore, OneTrainsAlone) {
  World world(1, 10);
  world.start(1);
  world.expect_end();
}

TEST(SwarmCore, FourTrainTogetherFromTheFirstRound) {
  for (const std::size_t elements : {0U, 10U, 3000U, 20000U}) {
    World world(2, 20);
    world.elements = elements;
    world.start(4);
    world.expect_end();
    for (const auto& peer : world.peers) {
      EXPECT_EQ(peer->members_of_turns.front(), 4) << "the start waits for all";
      EXPECT_EQ(peer->members_of_turns.size(), 20U) << "no round was run twice";
    }
  }
}

TEST(SwarmCore, StartsWithoutTheMissingAfterTheTimeout) {
  World world(3, 5);
  world.options.start_members = 4;
  world.options.start_timeout = seconds(10);
  world.add(0).found();
  world.add(1).join(world.peers[0]->ticket());
  world.for_time(seconds(9));
  EXPECT_EQ(world.peers[0]->round(), Round(0));
  EXPECT_EQ(world.peers[1]->round(), Round(0));
  world.expect_end();
  EXPECT_EQ(world.peers[1]->members_of_turns.front(), 2);
}

TEST(SwarmCore, JoinsMidRunAndTakesTheStateFromMembers) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    World world(seed, 120);
    world.elements = 6000;
    world.start(2);
    ASSERT_TRUE(world.run_to_round(0, 30));
    world.add(2).join(world.peers[1]->ticket());
    world.expect_end();
    SwarmPeer& joiner = *world.peers[2];
    EXPECT_TRUE(joiner.saw(SwarmEventKind::kStateReceived));
    EXPECT_TRUE(joiner.saw(SwarmEventKind::kCaughtUp));
    ASSERT_FALSE(joiner.members_of_turns.empty()) << "it took part";
    EXPECT_EQ(joiner.members_of_turns.front(), 3);
    EXPECT_TRUE(world.peers[0]->saw(SwarmEventKind::kPeerJoined));
  }
}

// One dies at any moment of a round, or of the change to the view of three.
TEST(SwarmCore, SurvivesOneDeathAtAnyMoment) {
  for (const std::uint64_t seed : TestSeeds(1, 60)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 15);
    world.start(3);
    ASSERT_TRUE(world.run_to_round(0, 3));
    Rng rng(seed);
    world.for_time(std::chrono::microseconds(rng.below(20000)));
    const std::size_t victim = rng.below(3);
    world.peers[victim]->crash(rng.chance(0.5) ? SimCrash::kKilled : SimCrash::kPowerLoss);
    world.expect_end();
    for (const auto& peer : world.peers) {
      EXPECT_EQ(*peer->alive, peer->saw(SwarmEventKind::kPeerLeft));
    }
  }
}

TEST(SwarmCore, SurvivesTwoDeathsOfFive) {
  for (const std::uint64_t seed : TestSeeds(1, 20)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 15);
    world.start(5);
    ASSERT_TRUE(world.run_to_round(0, 3));
    Rng rng(seed);
    for (const std::size_t victim : {std::size_t{0}, 1 + rng.below(4)}) {
      world.for_time(std::chrono::microseconds(rng.below(20000)));
      world.peers[victim]->crash(rng.chance(0.5) ? SimCrash::kKilled : SimCrash::kPowerLoss);
    }
    world.expect_end();
  }
}

TEST(SwarmCore, LinksThatBreakCostNoRoundAndNoMember) {
  for (const std::uint64_t seed : TestSeeds(1, 15)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 30);
    world.elements = 5000;
    world.start(3);
    ASSERT_TRUE(world.run_to_round(0, 3));
    Rng rng(seed);
    for (int i = 0; i < 5; ++i) {
      world.for_time(std::chrono::microseconds(rng.below(30000)));
      const std::size_t a = rng.below(3);
      world.net.break_link(world.peers[a]->id, world.peers[(a + 1) % 3]->id);
    }
    world.expect_end();
    for (const auto& peer : world.peers) EXPECT_FALSE(peer->saw(SwarmEventKind::kPeerLeft));
  }
}

TEST(SwarmCore, OneLeavesPolitely) {
  World world(5, 30);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 5));
  world.peers[1]->leave();
  ASSERT_TRUE(world.run([&] { return world.peers[1]->core->left(); }));
  world.peers[1]->crash(SimCrash::kKilled);
  world.expect_end();
  EXPECT_TRUE(world.peers[0]->saw(SwarmEventKind::kPeerLeft));
  EXPECT_EQ(world.peers[0]->members_of_turns.back(), 2);
}

TEST(SwarmCore, JoinerDiesAtAnyMoment) {
  for (const std::uint64_t seed : TestSeeds(1, 20)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 60);
    world.elements = 6000;
    world.start(2);
    ASSERT_TRUE(world.run_to_round(0, 5));
    world.add(2).join(world.peers[0]->ticket());
    Rng rng(seed);
    world.for_time(std::chrono::microseconds(rng.below(60000)));
    world.peers[2]->crash(rng.chance(0.5) ? SimCrash::kKilled : SimCrash::kPowerLoss);
    world.expect_end();
  }
}

TEST(SwarmCore, MemberThatServesTheStateDies) {
  for (const std::uint64_t seed : TestSeeds(1, 20)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    // Where it was the one that let the newcomer in, that must prove its ticket to another one.
    World world(seed, 60);
    world.compute = milliseconds(10);
    world.elements = 6000;
    world.start(3);
    ASSERT_TRUE(world.run_to_round(0, 5));
    world.add(3).join(world.peers[0]->ticket());
    Rng rng(seed);
    world.for_time(std::chrono::microseconds(rng.below(60000)));
    world.peers[rng.below(3)]->crash(SimCrash::kKilled);
    world.expect_end();
    EXPECT_FALSE(world.peers[3]->members_of_turns.empty()) << "it took part";
  }
}

TEST(SwarmCore, FrozenMachineIsRemovedAndComesBack) {
  World world(7, 200);
  world.compute = milliseconds(20);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 5));
  SwarmPeer& frozen = *world.peers[2];
  world.net.pause(frozen.id);
  ASSERT_TRUE(world.run([&] { return world.peers[0]->core->view().size() == 2; }));
  world.for_time(seconds(1));
  world.net.resume(frozen.id);
  ASSERT_TRUE(world.run([&] { return world.peers[0]->core->view().size() == 3; }));
  world.expect_end();
  EXPECT_TRUE(frozen.saw(SwarmEventKind::kRemoved));
}

TEST(SwarmCore, ANewcomerSaysWhichMemberItHasNoPathTo) {
  World world(11, 200);
  world.compute = milliseconds(200);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 5));
  SwarmPeer& late = world.add(3);
  world.net.partition({{world.peers[2]->id}, {late.id}});
  late.join(world.peers[0]->ticket());
  ASSERT_TRUE(world.run([&] { return late.saw(SwarmEventKind::kUnreached); }, seconds(15)));
  EXPECT_THAT(late.text_of(SwarmEventKind::kUnreached),
              HasSubstr("no path to peer " + world.peers[2]->id.short_name()));
  EXPECT_EQ(world.peers[0]->core->view().size(), 3);
  world.net.unblock_all();
  ASSERT_TRUE(world.run([&] { return world.peers[0]->core->view().size() == 4; }, seconds(15)));
  world.expect_end();
}

TEST(SwarmCore, MinorityWaitsAndGoesOnWhenTheOthersAreBack) {
  World world(8, 200);
  world.compute = milliseconds(20);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 5));
  world.net.partition({{world.peers[0]->id}, {world.peers[1]->id}, {world.peers[2]->id}});
  world.for_time(seconds(20));
  for (const auto& peer : world.peers) {
    EXPECT_TRUE(peer->saw(SwarmEventKind::kQuorumLost));
    EXPECT_THAT(peer->text_of(SwarmEventKind::kQuorumLost), HasSubstr("2 of 3"));
    EXPECT_TRUE(peer->failure.ok());
  }
  world.net.unblock_all();
  world.expect_end();
  for (const auto& peer : world.peers) EXPECT_TRUE(peer->saw(SwarmEventKind::kQuorumBack));
}

TEST(SwarmCore, LostQuorumEndsTheRunWhereTheRecipeSaysSo) {
  World world(9, 200);
  world.compute = milliseconds(20);
  world.options.exit_on_quorum_lost = true;
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 5));
  world.peers[1]->crash(SimCrash::kKilled);
  world.peers[2]->crash(SimCrash::kKilled);
  ASSERT_TRUE(world.run([&] { return !world.peers[0]->failure.ok(); }));
  EXPECT_EQ(world.peers[0]->failure.code(), Code::kUnavailable);
  EXPECT_THAT(world.peers[0]->failure.message(), HasSubstr("missing"));
}

TEST(SwarmCore, StateThatDiffersIsNamedAndItsOwnerStops) {
  World world(10, 40);
  world.start(3);
  world.peers[2]->spoil_at_round = 8;
  ASSERT_TRUE(world.run([&] { return !world.peers[2]->failure.ok(); }));
  EXPECT_EQ(world.peers[2]->failure.code(), Code::kCorrupt);
  EXPECT_THAT(world.peers[2]->failure.message(), HasSubstr("'second'"));
  world.peers[2]->crash(SimCrash::kKilled);
  world.expect_end();
  const std::string text = world.peers[0]->text_of(SwarmEventKind::kStateMismatch);
  EXPECT_THAT(text, HasSubstr("round 8"));
  EXPECT_THAT(text, HasSubstr("'second'"));
  EXPECT_THAT(text, HasSubstr(world.peers[2]->id.short_name()));
}

TEST(SwarmCore, TwoMembersThatDifferBothStop) {
  World world(11, 40);
  world.start(2);
  world.peers[1]->spoil_at_round = 8;
  ASSERT_TRUE(
      world.run([&] { return !world.peers[0]->failure.ok() && !world.peers[1]->failure.ok(); }));
  EXPECT_EQ(world.peers[0]->failure.code(), Code::kCorrupt);
}

TEST(SwarmCore, WrongVectorLengthIsSaidToBothSides) {
  World world(12, 10);
  world.options.start_members = 2;
  world.add(0).found();
  world.elements = 2999;
  world.add(1).join(world.peers[0]->ticket());
  // The joiner loads the founder's state but trains with another length.
  ASSERT_TRUE(world.run([&] { return world.peers[0]->saw_failed_outcome(); }));
  EXPECT_THAT(world.peers[0]->outcome_failure.message(), HasSubstr("2999"));
}

// A member that speaks, but never what a member would say.
TEST(SwarmCore, HostileFramesEndTheLinkAndNothingElse) {
  for (const std::uint64_t seed : TestSeeds(1, 60)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 60);
    world.start(4);
    ASSERT_TRUE(world.run_to_round(0, 3));
    Rng rng(seed);
    SwarmPeer& hostile = *world.peers[3];
    for (int i = 0; i < 40; ++i) {
      Frame frame;
      frame.type = static_cast<std::uint8_t>(0x30 + rng.below(0x40));
      frame.head.resize(rng.below(120));
      for (std::uint8_t& byte : frame.head) byte = static_cast<std::uint8_t>(rng.below(256));
      if (rng.chance(0.7)) {
        // A true id, so that the rest is looked at.
        const ViewId view = hostile.core->view().id;
        Writer head;
        head.view(view).round(Round(hostile.round().value() + rng.below(3)));
        for (std::uint64_t left = rng.below(40); left > 0; --left) {
          head.u8(static_cast<std::uint8_t>(rng.below(4)));
        }
        frame.head = head.take();
      }
      frame.body = SharedBytes(Bytes(rng.below(2000)));
      const PeerId& to = world.peers[rng.below(3)]->id;
      const Lane lane = rng.chance(0.5) ? Lane::kControl : Lane::kBulk;
      if (lane == Lane::kControl) frame.body = {};
      static_cast<void>(hostile.transport.send(to, lane, std::move(frame)));
      world.for_time(milliseconds(rng.below(5)));
    }
    hostile.crash(SimCrash::kKilled);
    world.expect_end();
  }
}

TEST(SwarmCore, StrangersGetNothing) {
  World world(13, 30);
  world.start(2);
  ASSERT_TRUE(world.run_to_round(0, 3));
  struct Stranger final : TransportHandler {
    void on_link_up(const LinkInfo& /*link*/) override { up = true; }
    void on_link_down(const PeerId& /*peer*/, const Status& /*why*/) override { up = false; }
    void on_frame(const PeerId& /*from*/, Lane /*lane*/, const FrameView& frame) override {
      types.push_back(frame.type);
    }
    void on_writable(const PeerId& /*peer*/, Lane /*lane*/) override {}
    bool up = false;
    std::vector<int> types;
  } stranger;
  SimTransport& transport = world.net.start(swarm_peer_id(99));
  transport.set_handler(stranger);
  transport.connect({world.peers[0]->id, {world.net.endpoint(world.peers[0]->id)}});
  ASSERT_TRUE(world.run([&] { return stranger.up; }));
  for (const std::uint8_t type :
       {frame_type::kStateQuery, frame_type::kDone, frame_type::kReady, frame_type::kFinished,
        frame_type::kSegment, frame_type::kBlock, frame_type::kResult, frame_type::kHeldState}) {
    static_cast<void>(transport.send(world.peers[0]->id, Lane::kControl, {type, {}, {}}));
  }
  world.for_time(milliseconds(100));
  EXPECT_TRUE(stranger.up);
  // One more than it may say; and an answer to none.
  static_cast<void>(transport.send(world.peers[0]->id, Lane::kBulk, {frame_type::kBlock, {}, {}}));
  ASSERT_TRUE(world.run([&] { return !stranger.up; }));
  world.expect_end();
  EXPECT_TRUE(stranger.types.empty());
  for (const SwarmEvent& event : world.peers[0]->events) {
    EXPECT_FALSE(event.kind == SwarmEventKind::kLinkUp && event.peer == swarm_peer_id(99));
  }
}

// All are cut off from each other at some moment of a round: nobody's training thread waits for
// the others, and a result that was whole before is applied once a view says that it counts.
TEST(SwarmCore, ALostQuorumLetsGoOfTheTrainingThread) {
  int applied = 0;
  for (int moment = 0; moment < 100; ++moment) {
    SCOPED_TRACE(testing::Message() << "moment " << moment);
    World world(static_cast<std::uint64_t>(moment) + 1, 12);
    world.compute = milliseconds(20);
    world.start(3);
    ASSERT_TRUE(world.run_to_round(0, 5));
    world.for_time(std::chrono::microseconds(500 * moment));
    world.net.partition({{world.peers[0]->id}, {world.peers[1]->id}, {world.peers[2]->id}});
    world.for_time(seconds(10));
    for (const auto& peer : world.peers) {
      EXPECT_EQ(peer->core->state(), MembershipState::kIsolated);
      EXPECT_FALSE(peer->in_round());
    }
    world.net.unblock_all();
    world.expect_end();
    for (const auto& peer : world.peers) applied += peer->applied;
  }
  EXPECT_GT(applied, 0) << "no moment met a whole result that was not committed";
}

TEST(SwarmCore, RestartsUnderItsOldIdentity) {
  World world(14, 200);
  world.compute = milliseconds(20);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 5));
  world.peers[0]->crash(SimCrash::kKilled);
  world.for_time(milliseconds(50));
  world.add_again(0, 2).join(world.peers[1]->ticket());
  world.expect_end();
  EXPECT_FALSE(world.peers[3]->members_of_turns.empty());
}

TEST(SwarmCore, SameSeedSameHistory) {
  std::vector<std::uint64_t> traces;
  for (int i = 0; i < 2; ++i) {
    World world(15, 30);
    world.start(3);
    world.run_to_round(0, 5);
    world.peers[1]->crash(SimCrash::kKilled);
    world.expect_end();
    traces.push_back(world.net.trace_hash());
  }
  EXPECT_EQ(traces[0], traces[1]);
}

}  // namespace
}  // namespace weft::swarm_core_test
