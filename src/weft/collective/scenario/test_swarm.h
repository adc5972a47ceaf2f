// TestSwarm: the SwarmPeers of one simulated network. A test whose peers or checks differ derives
// from it.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/collective/scenario/test_swarm_peer.h"

namespace weft {

class TestSwarm {
 public:
  TestSwarm(const SimNetworkOptions& network, std::uint64_t last_round)
      : net(network), options(swarm_options(last_round)) {}
  TestSwarm(std::uint64_t seed, std::uint64_t last_round)
      : TestSwarm(SimNetworkOptions{.seed = seed}, last_round) {}
  virtual ~TestSwarm() = default;
  TestSwarm(const TestSwarm&) = delete;
  TestSwarm& operator=(const TestSwarm&) = delete;

  // Starts machine `number`, whose peer has not joined anything yet.
  SwarmPeer& add(std::uint32_t number) { return start_peer(settings_of(number)); }
  SwarmPeer& add() { return add(static_cast<std::uint32_t>(peers.size())); }
  // Peer 0 founds; the others join it at once.
  void start(int members) {
    options.start_members = members;
    add().found();
    for (int i = 1; i < members; ++i) add().join(peers[0]->ticket());
  }

  // Until `done`; false where `limit` of simulated time or all events are over before that.
  template <class Done>
  bool run(Done&& done, Duration limit) {
    const TimePoint end = net.now() + limit;
    while (!done()) {
      if (net.now() > end || !net.step()) return done();
    }
    return true;
  }
  template <class Done>
  bool run(Done&& done) {
    return run(std::forward<Done>(done), run_limit);
  }
  bool run_to_round(std::size_t peer, std::uint64_t round) {
    const bool there = run([&] { return peers[peer]->round().value() >= round; });
    if (!there) describe();
    return there;
  }
  // A newcomer that came too late for any round of this run.
  static bool missed(const SwarmPeer& peer) {
    return peer.first_trained == 0 && !peer.failure.ok();
  }
  // Until all peers whose machine runs have the last round, but for those that missed() it.
  bool run_to_last_round() {
    const bool ended = run([&] {
      return std::ranges::all_of(peers, [&](const auto& peer) {
        return !*peer->alive || peer->round() == options.last_round || missed(*peer);
      });
    });
    if (!ended) describe();
    return ended;
  }
  // A peer before the last round; null where all others have come to it.
  SwarmPeer* pick(Rng& rng) {
    std::vector<SwarmPeer*> candidates;
    for (const auto& peer : peers) {
      if (*peer->alive && peer->round() < options.last_round) candidates.push_back(peer.get());
    }
    return candidates.empty() ? nullptr : candidates[rng.below(candidates.size())];
  }
  // Kills three members and lets two newcomers in, in turn, each at most `gap` after the one before
  // and before the last round. Returns how many were killed.
  int kill_and_join(Rng& rng, std::chrono::microseconds gap) {
    int kills = 0;
    for (int event = 0; event < 5; ++event) {
      const auto wait = rng.below(static_cast<std::uint64_t>(gap.count()));
      for_time(std::chrono::microseconds(static_cast<std::int64_t>(wait)));
      SwarmPeer* const peer = pick(rng);
      if (peer == nullptr) break;
      if (event % 2 == 0) {
        peer->crash(rng.below(2) == 0 ? SimCrash::kKilled : SimCrash::kPowerLoss);
        ++kills;
      } else if (const Ticket ticket = peer->ticket(); !ticket.members.empty()) {
        add().join(ticket);
      }
    }
    return kills;
  }
  void for_time(Duration time) { net.run_until(net.now() + time); }
  // Fails the test with the state that each peer is in.
  void describe() const {
    for (const auto& peer : peers) ADD_FAILURE() << peer->describe();
  }
  // All peers whose machine runs reach the end with the one right state.
  void expect_end() {
    const bool all = run([&] {
      return std::ranges::all_of(peers, [](const auto& peer) {
        return !*peer->alive || peer->finished || !peer->failure.ok();
      });
    });
    if (!all) describe();
    const TestTrainer& want = trained(elements, options.last_round.value());
    for (const auto& peer : peers) {
      if (!*peer->alive) continue;
      SCOPED_TRACE(peer->describe());
      EXPECT_TRUE(peer->failure.ok());
      EXPECT_TRUE(peer->finished);
      EXPECT_EQ(peer->round(), options.last_round);
      EXPECT_EQ(peer->trainer.state(), want.state());
    }
  }

  SimNetwork net;
  SwarmCoreOptions options;
  std::size_t elements = 3000;
  Duration compute = std::chrono::milliseconds(2);
  // How much simulated time run() may take.
  Duration run_limit = std::chrono::seconds(120);
  std::vector<std::unique_ptr<SwarmPeer>> peers;

 protected:
  virtual SwarmPeer::Settings settings_of(std::uint32_t number) {
    SwarmPeer::Settings settings;
    settings.id = swarm_peer_id(number);
    settings.seed = number + 77;
    settings.elements = elements;
    settings.compute = [time = compute] { return time; };
    return settings;
  }
  SwarmPeer& start_peer(SwarmPeer::Settings settings) {
    peers.push_back(std::make_unique<SwarmPeer>(net, options, std::move(settings)));
    on_started(*peers.back());
    return *peers.back();
  }
  // Called with each new peer before it does anything.
  virtual void on_started(SwarmPeer& /*peer*/) {}
};

}  // namespace weft
