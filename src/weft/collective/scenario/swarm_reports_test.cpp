// Reports of rounds in whole swarms: the same at all members, however a member learns of a round.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/scenario/test_swarm.h"
#include "weft/wire/frame_type.h"

namespace weft::swarm_reports_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Members with an odd number of elements report before their last values, others after them.
struct World final : TestSwarm {
  World(std::uint64_t seed, std::uint64_t last_round) : TestSwarm(seed, last_round) {
    options.rounds.reports = true;
  }

  void on_started(SwarmPeer& peer) override {
    peer.set.on_state = [this, &peer](const TestTrainer& trainer) { take(peer, trainer); };
  }
  // All that run reach the end with the right state, and no report is missing or wrong.
  void expect_end_and_reports() {
    expect_end();
    EXPECT_EQ(differing, 0);
    EXPECT_EQ(broken, 0);
    EXPECT_EQ(reported.size(), options.last_round.value()) << "none is missing";
  }
  // A round as one peer has learned of it.
  void take(const SwarmPeer& peer, const TestTrainer& trainer) {
    const std::uint64_t round = trainer.round();
    if (peer.applied_last != round) return;  // the state came as a whole
    ++heard[peer.id];
    const auto [known, fresh] = reported.try_emplace(round, peer.reports);
    differing += known->second != peer.reports ? 1 : 0;
    const auto members = static_cast<int>(peer.reports.size());
    broken += members == 0 ? 1 : 0;
    for (int rank = 0; rank < members; ++rank) {
      const std::string expected = TestTrainer::report_text(round, rank, members);
      const Bytes& report = peer.reports[static_cast<std::size_t>(rank)];
      broken += std::ranges::equal(report, as_bytes(expected)) ? 0 : 1;
    }
  }

  std::map<std::uint64_t, std::vector<Bytes>> reported;
  std::map<PeerId, int> heard;
  int differing = 0;
  int broken = 0;
};

TEST(SwarmReports, EachMemberHasThoseOfAllByRank) {
  for (const int members : {1, 2, 5}) {
    for (const std::size_t elements : {0U, 10U, 3000U, 20002U}) {
      World world(2, 20);
      world.elements = elements;
      world.start(members);
      world.expect_end_and_reports();
      for (const auto& [round, reports] : world.reported) {
        EXPECT_EQ(reports.size(), static_cast<std::size_t>(members));
      }
    }
  }
}

TEST(SwarmReports, ADeathAtAnyMomentLeavesTheSameReportsAtAllThatLive) {
  for (const std::uint64_t seed : TestSeeds(1, 100)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 15);
    world.elements = seed % 2 == 0 ? 3000 : 3002;
    const int members = seed % 3 == 0 ? 4 : 3;
    world.start(members);
    ASSERT_TRUE(world.run_to_round(0, 3));
    Rng rng(seed);
    world.for_time(std::chrono::microseconds(rng.below(20000)));
    const std::size_t victim = rng.below(static_cast<std::uint64_t>(members));
    world.peers[victim]->crash(rng.chance(0.5) ? SimCrash::kKilled : SimCrash::kPowerLoss);
    world.expect_end_and_reports();
  }
}

TEST(SwarmReports, LinksThatBreakCostNoReport) {
  for (const std::uint64_t seed : TestSeeds(1, 20)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 30);
    world.elements = 5000 + 2 * (seed % 2);
    world.start(3);
    ASSERT_TRUE(world.run_to_round(0, 3));
    Rng rng(seed);
    for (int i = 0; i < 8; ++i) {
      world.for_time(std::chrono::microseconds(rng.below(30000)));
      const std::size_t a = rng.below(3);
      world.net.break_link(world.peers[a]->id, world.peers[(a + 1) % 3]->id);
    }
    world.expect_end_and_reports();
    for (const auto& peer : world.peers) EXPECT_FALSE(peer->saw(SwarmEventKind::kPeerLeft));
  }
}

// What a newcomer has missed it fetches from the others' logs, with its reports.
TEST(SwarmReports, ANewcomerFetchesThoseOfRoundsInWhichItWasNot) {
  for (const std::uint64_t seed : TestSeeds(1, 10)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 120);
    world.elements = 6000;
    world.start(2);
    ASSERT_TRUE(world.run_to_round(0, 20));
    SwarmPeer& joiner = world.add(2);
    joiner.join(world.peers[1]->ticket());
    world.expect_end_and_reports();
    EXPECT_GT(joiner.applied, 0) << "it fetched results";
    EXPECT_FALSE(joiner.members_of_turns.empty()) << "it took part";
  }
}

// It did not hear how the round ended that the others have committed.
TEST(SwarmReports, AMemberThatWasCutOffCatchesUpWithThem) {
  for (const std::uint64_t seed : TestSeeds(1, 8)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 800);
    world.compute = milliseconds(20);
    world.elements = 300;
    world.start(3);
    ASSERT_TRUE(world.run_to_round(0, 5));
    Rng rng(seed);
    world.for_time(std::chrono::microseconds(rng.below(20000)));
    world.net.partition({{world.peers[2]->id}, {world.peers[0]->id, world.peers[1]->id}});
    world.for_time(milliseconds(200 + static_cast<std::int64_t>(rng.below(6000))));
    world.net.unblock_all();
    world.expect_end_and_reports();
  }
}

// A member's part comes too late: an empty report stands in for it, at all members alike.
TEST(SwarmReports, WhoIsTooLateHasAnEmptyOne) {
  SimNetwork net(SimNetworkOptions{.seed = 3});
  SwarmCoreOptions options = swarm_options(20);
  options.rounds.reports = true;
  options.start_members = 3;
  std::vector<std::unique_ptr<SwarmPeer>> peers;
  std::map<std::uint64_t, std::vector<Bytes>> reported;
  int differing = 0;
  int stood_in = 0;
  for (std::uint32_t number = 0; number < 3; ++number) {
    SwarmPeer::Settings settings;
    settings.id = swarm_peer_id(number);
    settings.seed = number + 77;
    settings.stand_in = [](const Turn&) {
      StandIn given;
      given.deadline = milliseconds(60);
      given.elements = 3000;
      return given;
    };
    settings.compute = [slow = number == 2] { return milliseconds(slow ? 400 : 5); };
    SwarmPeer& peer =
        *peers.emplace_back(std::make_unique<SwarmPeer>(net, options, std::move(settings)));
    peer.set.on_state = [&](const TestTrainer& trainer) {
      if (peer.applied_last != trainer.round()) return;
      const auto [known, fresh] = reported.try_emplace(trainer.round(), peer.reports);
      differing += known->second != peer.reports ? 1 : 0;
      if (fresh) stood_in += static_cast<int>(std::ranges::count(peer.reports, Bytes()));
    };
    if (number == 0) {
      peer.found();
    } else {
      peer.join(peers[0]->ticket());
    }
  }
  const TimePoint end = net.now() + seconds(120);
  const auto over = [&] {
    return std::ranges::all_of(peers, [](const auto& peer) { return peer->finished; });
  };
  while (!over() && net.now() < end && net.step()) {
  }
  for (const auto& peer : peers) EXPECT_TRUE(peer->finished) << peer->describe();
  EXPECT_EQ(differing, 0);
  EXPECT_EQ(reported.size(), 20U);
  EXPECT_GT(stood_in, 0);
}

// What a member sends that is longer than a report may be ends its link, and costs the others
// nothing.
TEST(SwarmReports, OneThatIsTooLongEndsTheLinkOfItsSender) {
  World world(4, 40);
  world.compute = milliseconds(20);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 3));
  SwarmPeer& liar = *world.peers[2];
  ReportMessage message;
  message.id = {liar.core->view().id, liar.core->committed().next()};
  message.report = Bytes(kReportBytesMax + 1);
  ASSERT_TRUE(
      liar.transport
          .send(world.peers[0]->id, Lane::kControl, {frame_type::kReport, message.encode(), {}})
          .ok());
  const std::size_t before = world.peers[0]->downs.size();
  world.for_time(seconds(1));
  const auto& downs = world.peers[0]->downs;
  ASSERT_GT(downs.size(), before);
  EXPECT_TRUE(std::ranges::any_of(
      downs, [](const Status& why) { return why.message().find("report") != std::string::npos; }));
  world.expect_end_and_reports();
}

}  // namespace
}  // namespace weft::swarm_reports_test
