// Newcomers that apply results more slowly than the others' rounds follow each other: they get in,
// and nobody waits long for one that does not go on.
#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/scenario/test_swarm.h"

namespace weft::swarm_catch_up_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Members whose rounds follow each other without a pause, and newcomers that load a state in half a
// second, in which the others end many rounds.
struct World final : TestSwarm {
  explicit World(std::uint64_t seed) : TestSwarm(seed, 0) {
    elements = 64;
    compute = milliseconds(1);
    run_limit = minutes(60);
  }
  SwarmPeer::Settings settings_of(std::uint32_t number) override {
    SwarmPeer::Settings settings = TestSwarm::settings_of(number);
    settings.incarnation = ++starts;
    if (applies) {
      settings.apply_takes = [takes = applies, results = 0]() mutable { return takes(results++); };
      settings.load_takes = loads;
    }
    return settings;
  }

  void begin(int members) {
    start(members);
    ASSERT_TRUE(run_to_round(0, 50));
  }
  // `takes` gives the time for each of its results, by their number.
  SwarmPeer& newcomer(std::function<Duration(int)> takes, std::uint32_t number = 100) {
    applies = std::move(takes);
    SwarmPeer& peer = add(number);
    peer.join(peers[0]->ticket());
    return peer;
  }
  SwarmPeer& newcomer(Duration takes) {
    return newcomer([takes](int /*result*/) { return takes; });
  }
  // Until it takes part.
  Duration admit(const SwarmPeer& peer) {
    const TimePoint begun = net.now();
    const bool in = run([&] { return peer.first_trained > 0; }, minutes(3));
    if (!in) describe();
    EXPECT_TRUE(in);
    return net.now() - begun;
  }
  Duration round_time() {
    const TimePoint begun = net.now();
    EXPECT_TRUE(run_to_round(0, peers[0]->round().value() + 200));
    return (net.now() - begun) / 200;
  }
  // The time in which peer 0 ended no round, beyond a tenth of a second at once.
  struct Pauses {
    Duration longest{};
    Duration sum{};
  };
  Pauses pauses(Duration time) {
    const TimePoint end = net.now() + time;
    Pauses out;
    TimePoint moved = net.now();
    Round round = peers[0]->round();
    const auto count = [&] {
      const Duration pause = net.now() - moved;
      out.longest = std::max(out.longest, pause);
      if (pause >= milliseconds(100)) out.sum += pause;
      moved = net.now();
    };
    while (net.now() < end && net.step()) {
      if (std::exchange(round, peers[0]->round()) != peers[0]->round()) count();
    }
    count();
    return out;
  }
  bool waited() const {
    return std::ranges::any_of(peers, [](const auto& peer) {
      return std::ranges::any_of(peer->events, [](const SwarmEvent& event) {
        return event.text.find("has caught up, which is slower") != std::string::npos;
      });
    });
  }
  void expect_right_states() const {
    for (const auto& peer : peers) {
      if (!*peer->alive || peer->round() == Round()) continue;
      EXPECT_TRUE(peer->failure.ok()) << peer->describe();
      EXPECT_EQ(peer->trainer.state(), trained(elements, peer->round().value()).state())
          << peer->describe();
    }
  }

  std::uint64_t starts = 0;
  std::function<Duration(int)> applies;
  Duration loads = milliseconds(500);
};

TEST(SwarmCatchUp, ANewcomerThatNeedsThreeRoundsForAResultGetsIn) {
  for (const int members : {1, 2, 3, 7}) {
    for (const std::uint64_t seed : TestSeeds(1, 5)) {
      SCOPED_TRACE(testing::Message() << members << " members, seed " << seed);
      World world(seed);
      world.begin(members);
      const Duration round = world.round_time();
      SwarmPeer& newcomer = world.newcomer(3 * round);
      EXPECT_LT(world.admit(newcomer), seconds(12));
      EXPECT_GT(newcomer.applied, 100);
      EXPECT_TRUE(world.waited());
      // It has no more to apply, so it is no longer waited for.
      EXPECT_LT(world.round_time(), 2 * round);
      world.expect_right_states();
    }
  }
}

TEST(SwarmCatchUp, NobodyWaitsForANewcomerThatIsQuickEnough) {
  for (const int members : {1, 3}) {
    for (const std::uint64_t seed : TestSeeds(1, 5)) {
      SCOPED_TRACE(testing::Message() << members << " members, seed " << seed);
      World world(seed);
      world.begin(members);
      const SwarmPeer& newcomer = world.newcomer(world.round_time() / 3);
      EXPECT_LT(world.admit(newcomer), seconds(3));
      EXPECT_FALSE(world.waited());
      world.expect_right_states();
    }
  }
}

TEST(SwarmCatchUp, LinksBreakAndMembersAndNewcomersDieMeanwhile) {
  for (const std::uint64_t seed : TestSeeds(1, 20)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed);
    world.begin(3);
    const Duration round = world.round_time();
    SwarmPeer& newcomer = world.newcomer(3 * round);
    Rng rng(seed);
    for (int i = 0; i < 4; ++i) {
      world.for_time(milliseconds(rng.below(800)));
      world.net.break_link(newcomer.id, world.peers[rng.below(3)]->id);
    }
    const SimCrash how = rng.chance(0.5) ? SimCrash::kKilled : SimCrash::kPowerLoss;
    if (rng.chance(0.3)) {
      newcomer.crash(how);
      // Its silence, or its end, and at most as long as the members' patience.
      EXPECT_LT(world.pauses(seconds(20)).sum, seconds(5));
    } else {
      world.peers[rng.below(3)]->crash(how);
      EXPECT_LT(world.admit(newcomer), seconds(30));
    }
    world.for_time(seconds(5));
    world.expect_right_states();
  }
}

TEST(SwarmCatchUp, ANewcomerThatStopsIsNotWaitedForLonger) {
  for (const std::uint64_t seed : TestSeeds(1, 5)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed);
    world.begin(2);
    const Duration round = world.round_time();
    const SwarmPeer& newcomer = world.newcomer(
        [round](int result) { return result < 500 ? 3 * round : Duration(hours(1000)); });
    const World::Pauses pauses = world.pauses(minutes(1));
    EXPECT_EQ(newcomer.applied, 500);
    EXPECT_TRUE(world.waited());
    // What it has applied, and three seconds.
    EXPECT_LT(pauses.sum, 500 * 3 * round + seconds(3));
    EXPECT_LT(pauses.sum, seconds(10));
    EXPECT_LT(world.round_time(), 2 * round);
    world.expect_right_states();
  }
}

// They seem to be quick enough, and are not: each applies some results quickly and then one in two
// seconds, and another one comes once the members have lost patience.
TEST(SwarmCatchUp, HostileNewcomersCostAMinuteAndATenthOfTheTime) {
  World world(1);
  world.compute = milliseconds(20);
  world.loads = seconds(10);
  world.begin(2);
  const Duration round = world.round_time();
  World::Pauses all;
  const Duration time = minutes(10);
  for (Duration passed{}; passed < time; passed += minutes(1)) {
    SwarmPeer& newcomer = world.newcomer(
        [round](int result) { return result < 40 ? 2 * round : Duration(seconds(2)); },
        static_cast<std::uint32_t>(100 + world.starts));
    const World::Pauses here = world.pauses(minutes(1));
    all.sum += here.sum;
    all.longest = std::max(all.longest, here.longest);
    EXPECT_EQ(newcomer.first_trained, 0U);
    newcomer.crash(SimCrash::kKilled);
  }
  EXPECT_GT(all.sum, seconds(40)) << "they are no test if nobody waits for them";
  EXPECT_LT(all.sum, seconds(60) + time / 10 + seconds(5));
  EXPECT_LE(all.longest, seconds(31)) << "half of what members wait for each other";
  EXPECT_EQ(world.peers[0]->core->view().size(), 2) << "no member is removed for that";
  world.expect_right_states();
}

// The members keep results of two rounds only, so that each newcomer loses what it needs.
TEST(SwarmCatchUp, ANewcomerWhoseResultsAreGoneGetsInWithALaterState) {
  for (const int members : {1, 3}) {
    World world(1);
    world.options.result_log_bytes_max = 1;
    world.begin(members);
    SwarmPeer& newcomer = world.newcomer(3 * world.round_time());
    EXPECT_LT(world.admit(newcomer), seconds(30));
    world.expect_right_states();
  }
}

}  // namespace
}  // namespace weft::swarm_catch_up_test
