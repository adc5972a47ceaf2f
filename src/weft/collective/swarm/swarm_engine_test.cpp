// The engine of a swarm: over TLS on the loopback, beside a training that goes on.
#include "weft/collective/swarm/swarm_engine.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/collective/engine/test_engine_checks.h"

namespace weft::swarm_engine_test {
namespace {

using std::chrono::seconds;

constexpr int kPeers = 3;
const std::string kRecipe = "engine test\n";

SwarmOptions peer_options() {
  SwarmOptions options;
  options.listen = "127.0.0.1:0";
  options.recipe_text = kRecipe;
  options.start_members = kPeers;
  options.membership.recipe_hash = sha256(as_bytes(std::string_view(kRecipe)));
  // Longer than a busy machine lets a thread wait: no member is suspected here.
  options.membership.suspicion_timeout = seconds(30);
  options.segment_bytes = 32 * 1024;
  options.finish_limit = seconds(20);
  return options;
}

struct Peer {
  explicit Peer(std::unique_ptr<Swarm> made)
      : swarm(std::move(made)), thread([this] { train(); }) {}
  ~Peer() {
    stop_after = 0;
    thread.join();
  }

  // Answers turns: a state of nothing, rounds of 1000 ones. All stop after one round.
  void train() {
    const std::vector<float> ones(1000, 1.0F);
    while (round < stop_after) {
      const Result<Turn> turn = swarm->next();
      if (!turn.ok()) return;
      if (turn->kind == TurnKind::kSnapshot) swarm->publish_state(turn->round, Bytes(8));
      if (turn->kind == TurnKind::kApply) {
        swarm->applied(turn->round, {});
        round = turn->round.value();
      }
      if (turn->kind != TurnKind::kTrain) continue;
      members = turn->members;
      if (!swarm->begin(1000).ok()) return;
      swarm->contribute(0, ones);
      if (!swarm->finish().ok()) continue;
      swarm->applied(turn->round, {});
      round = turn->round.value();
    }
  }

  std::unique_ptr<Swarm> swarm;
  Atomic<std::uint64_t> round{0};
  Atomic<std::uint64_t> stop_after{UINT64_MAX};
  Atomic<int> members{0};
  Thread thread;
};

bool wait_for(const std::function<bool()>& done) {
  const SystemClock clock;
  return poll_until(clock, clock.now() + seconds(60), std::chrono::milliseconds(5), done);
}

TEST(SwarmEngine, EveryCallIsRightWhileTheSwarmTrains) {
  std::vector<std::unique_ptr<Peer>> peers;
  auto founded = Swarm::found(peer_options());
  ASSERT_TRUE(founded.ok()) << founded.status().to_string();
  peers.push_back(std::make_unique<Peer>(std::move(*founded)));
  const Ticket ticket = peers[0]->swarm->ticket(std::chrono::hours(1)).value();
  for (int i = 1; i < kPeers; ++i) {
    auto joined = Swarm::join(peer_options(), ticket);
    ASSERT_TRUE(joined.ok()) << joined.status().to_string();
    peers.push_back(std::make_unique<Peer>(std::move(*joined)));
  }
  ASSERT_TRUE(wait_for([&] {
    for (const auto& peer : peers) {
      if (peer->members != kPeers) return false;
    }
    return true;
  }));
  const std::uint64_t before = peers[0]->round;
  std::vector<Status> ends(kPeers);
  {
    std::vector<Thread> threads;
    for (std::size_t i = 0; i < kPeers; ++i) {
      threads.emplace_back([&, i] {
        const std::unique_ptr<Engine> engine = make_swarm_engine(*peers[i]->swarm);
        ends[i] = engine->settle(seconds(10));
        if (ends[i].ok()) ends[i] = check_engine(*engine);
      });
    }
  }
  for (const Status& end : ends) EXPECT_TRUE(end.ok()) << end.to_string();
  EXPECT_TRUE(wait_for([&] { return peers[0]->round > before; })) << "rounds go on";
  // Far enough ahead that nobody is there yet.
  const std::uint64_t last = peers[0]->round + 300;
  for (const auto& peer : peers) peer->stop_after = last;
  EXPECT_TRUE(wait_for([&] {
    return std::ranges::all_of(peers, [&](const auto& peer) { return peer->round >= last; });
  }));
}

TEST(SwarmEngine, SaysThatThereIsNoGroupYet) {
  auto founded = Swarm::found(peer_options());
  ASSERT_TRUE(founded.ok());
  const std::unique_ptr<Engine> engine = make_swarm_engine(**founded);
  std::vector<float> values(10);
  EXPECT_EQ(engine->all_reduce(values, values, {})->wait(seconds(1)).code(), Code::kAborted);
  ASSERT_TRUE(engine->settle(seconds(10)).ok());
  EXPECT_EQ(engine->size(), 1);
  values[3] = 5.0F;
  EXPECT_TRUE(engine->all_reduce(values, values, {})->wait(seconds(5)).ok());
  EXPECT_EQ(values[3], 5.0F);
}

}  // namespace
}  // namespace weft::swarm_engine_test
