// Error feedback in whole swarms whose members are killed: what the survivors hold, state and
// residuals, is what one place computes in sequence, to the last bit.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/scenario/test_swarm.h"

namespace weft::swarm_codec_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kElements = 1000;

// The part that a member took in a round, as of its last attempt.
struct Part {
  int rank = 0;
  int members = 0;
};
// By round and peer. Without joiners the number of members names the view.
using Parts = std::map<std::uint64_t, std::map<std::size_t, Part>>;

class LoggedTrainer final : public TestTrainer {
 public:
  LoggedTrainer(Parts& parts, std::size_t peer)
      : TestTrainer(kElements), parts_(parts), peer_(peer) {}
  std::vector<float> shard(int rank, int members) const override {
    parts_[round() + 1][peer_] = {rank, members};
    return TestTrainer::shard(rank, members);
  }

 private:
  Parts& parts_;
  std::size_t peer_;
};

struct World final : TestSwarm {
  World(std::uint64_t seed, std::string_view text, std::uint64_t last_round)
      : TestSwarm(seed, last_round), codec(*Codec::parse(text)) {
    elements = kElements;
    options.rounds.codec = codec;
  }

  SwarmPeer::Settings settings_of(std::uint32_t number) override {
    SwarmPeer::Settings settings = TestSwarm::settings_of(number);
    settings.make_trainer = [this, number] {
      return std::make_unique<LoggedTrainer>(parts, number);
    };
    return settings;
  }
  bool run_to_end() {
    return run([&] {
      return std::ranges::all_of(peers, [&](const auto& peer) {
        return !*peer->alive || peer->round() == options.last_round;
      });
    });
  }

  Codec codec;
  Parts parts;
};

// All rounds once, without a network: the members that the log names, their encoders, and the
// trainer's own arithmetic. Factors that members share begin anew with each view.
struct Sequence {
  explicit Sequence(const World& world) {
    TestTrainer trainer(kElements);
    for (std::size_t i = 0; i < world.peers.size(); ++i) encoders.emplace_back(world.codec);
    int before = 0;
    for (const auto& [round, parts] : world.parts) {
      // Views shrink, so the last one is the one that committed.
      int members = static_cast<int>(world.peers.size());
      for (const auto& [peer, part] : parts) members = std::min(members, part.members);
      std::map<int, std::size_t> by_rank;
      for (const auto& [peer, part] : parts) {
        if (part.members == members) by_rank[part.rank] = peer;
      }
      EXPECT_EQ(by_rank.size(), static_cast<std::size_t>(members)) << "round " << round;
      if (std::exchange(before, members) != members) {
        for (ErrorFeedback& encoder : encoders) encoder.forget_shared();
      }
      trainer.apply(exchange(by_rank, round, trainer));
    }
    state = trainer.state();
  }
  // The result of a round among these peers.
  std::vector<float> exchange(const std::map<int, std::size_t>& by_rank, std::uint64_t round,
                              const TestTrainer& trainer) {
    std::vector<float> sum(kElements);
    for (const auto& [rank, peer] : by_rank) {
      ErrorFeedback& encoder = encoders[peer];
      const std::uint64_t seed = round << 16U | static_cast<std::uint64_t>(rank);
      encoder.open(kElements, round << 8U);
      const Bytes payload =
          encoder.encode(trainer.shard(rank, static_cast<int>(by_rank.size())), seed);
      encoder.commit();
      std::vector<float> decoded(kElements);
      EXPECT_TRUE(encoder.decode(payload, decoded).ok());
      for (std::size_t i = 0; i < kElements; ++i) sum[i] += decoded[i];
    }
    for (const auto& [rank, peer] : by_rank) encoders[peer].take_result(sum);
    return sum;
  }

  std::vector<ErrorFeedback> encoders;
  std::vector<float> state;
};

void expect_sequence(const World& world) {
  const Sequence want(world);
  for (std::size_t i = 0; i < world.peers.size(); ++i) {
    const SwarmPeer& peer = *world.peers[i];
    if (!*peer.alive) continue;
    SCOPED_TRACE(peer.describe());
    EXPECT_TRUE(peer.failure.ok());
    EXPECT_EQ(peer.round(), world.options.last_round);
    EXPECT_EQ(peer.trainer.state(), want.state);
    const ResidualValues residual = peer.core->residual_state().of(0);
    ASSERT_EQ(residual != nullptr, want.encoders[i].residual() != nullptr);
    if (!residual) continue;
    EXPECT_EQ(*residual, *want.encoders[i].residual());
    EXPECT_EQ(peer.core->residual_state().round, world.options.last_round);
  }
}

TEST(SwarmCodec, ASwarmWithTopKComputesWhatASequenceDoes) {
  World world(1, "topk:ratio=0.05", 12);
  world.start(4);
  ASSERT_TRUE(world.run_to_end());
  expect_sequence(world);
  const ResidualValues residual = world.peers[0]->core->residual_state().of(0);
  EXPECT_TRUE(std::ranges::any_of(*residual, [](float value) { return value != 0; }));
}

// Members die at so many random moments, up to three a run, and the survivors are compared with the
// sequence.
void kill_members(std::string_view codec, int kills_wanted) {
  int kills = 0;
  std::size_t reruns = 0;
  for (std::uint64_t seed = 1; kills < kills_wanted; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_LT(seed, 60U);
    World world(seed, codec, 10);
    world.start(7);
    ASSERT_TRUE(world.run([&] { return world.peers[0]->round() >= Round(1); }));
    Rng rng(seed);
    for (int kill = 0; kill < 3; ++kill) {
      world.net.run_until(world.net.now() +
                          microseconds(static_cast<std::int64_t>(rng.below(60'000))));
      const std::size_t which = rng.below(world.peers.size());
      SwarmPeer& victim = *world.peers[which];
      if (!*victim.alive || victim.round() == world.options.last_round) continue;
      victim.crash(rng.below(2) == 0 ? SimCrash::kKilled : SimCrash::kPowerLoss);
      ++kills;
    }
    ASSERT_TRUE(world.run_to_end());
    expect_sequence(world);
    for (const auto& [round, parts] : world.parts) {
      for (const auto& [peer, part] : parts) reruns += part.members < 7 ? 1U : 0U;
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(reruns, 0U);
}

// In seventeen runs or more. A slice has the first ones of them.
TEST(SwarmCodec, NoKillLosesAResidualOrAppliesItTwice) {
  kill_members("topk:ratio=0.05", TestSeeds(1, 17).whole() ? 50 : 12);
}

TEST(SwarmCodec, NoKillLeavesMembersWithDifferentFactors) { kill_members("powersgd:rank=3", 12); }

// A newcomer has the factors of the others, though no message brings them.
TEST(SwarmCodec, ANewcomerEncodesAgainstTheFactorsOfTheOthers) {
  World world(3, "powersgd:rank=3", 14);
  world.start(3);
  ASSERT_TRUE(world.run([&] { return world.peers[0]->round() >= Round(5); }));
  world.add().join(world.peers[0]->ticket());
  ASSERT_TRUE(world.run_to_end());
  std::size_t given = 0;
  for (const auto& [round, parts] : world.parts) given += parts.contains(3) ? 1U : 0U;
  EXPECT_GT(given, 4U) << "rounds to which the newcomer gave something";
  for (const auto& peer : world.peers) {
    SCOPED_TRACE(peer->describe());
    EXPECT_TRUE(peer->failure.ok());
    EXPECT_EQ(peer->core->view().size(), 4);
    EXPECT_EQ(peer->trainer.state(), world.peers[0]->trainer.state());
  }
}

}  // namespace
}  // namespace weft::swarm_codec_test
