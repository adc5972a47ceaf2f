// Simulated swarms with a member that lies about the chunk that it owns: it is expelled, with its
// reason, and the others train on as if it had never been there.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/attack/lying_owner.h"
#include "weft/collective/scenario/test_swarm_peer.h"
#include "weft/collective/verify/sim_signer.h"

namespace weft::lying_swarm_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::uint64_t kLastRound = 40;
constexpr std::uint64_t kFromRound = 5;
// A liar that was not drawn in its first rounds has nothing to lie about.
constexpr std::uint64_t kRoundsMax = 15;

// All members contribute the same, so that median and krum give just that, whoever takes part:
// trained() knows every state.
class SameTrainer final : public TestTrainer {
 public:
  using TestTrainer::TestTrainer;
  std::vector<float> shard(int /*rank*/, int /*members*/) const override {
    return items(0, kGlobalBatch);
  }
};

class LyingSwarm : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kMembers = 7;
  static constexpr std::size_t kElements = 3000;

  void start(std::uint64_t seed, const std::string& rule, const std::vector<OwnerLie>& lies) {
    liars = lies.size();
    net = std::make_unique<SimNetwork>(SimNetworkOptions{.seed = seed});
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      SwarmCoreOptions options = swarm_options(kLastRound);
      options.start_members = kMembers;
      options.compute_timeout = seconds(10);
      options.rounds.all_reduce.aggregator = *Aggregator::parse(rule);
      options.rounds.all_reduce.aggregate_round.liars = 1;
      SwarmPeer::Settings settings;
      settings.id = swarm_peer_id(i);
      settings.seed = seed * 100 + i;
      settings.elements = kElements;
      settings.compute = [] { return milliseconds(20); };
      settings.make_trainer = [] { return std::make_unique<SameTrainer>(kElements); };
      options.rounds.all_reduce.verification.verifiers = verifiers;
      options.rounds.all_reduce.verification.signer = make_sim_signer(settings.id);
      if (i >= honest()) {
        options.rounds.make_core = make_lying_owner({lies[i - honest()], Round(kFromRound)});
      }
      peers.push_back(std::make_unique<SwarmPeer>(*net, options, std::move(settings)));
      if (i == 0) {
        peers[0]->found();
      } else {
        peers[i]->join(peers[0]->ticket());
      }
    }
  }
  std::size_t honest() const { return kMembers - liars; }
  template <class Done>
  bool run(Done&& done, Duration limit) {
    const TimePoint end = net->now() + limit;
    while (!done()) {
      if (net->now() > end || !net->step()) return done();
    }
    return true;
  }
  // The liars are out, and no honest member is.
  bool rid_of_liars() const {
    return std::all_of(
        peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(honest()),
        [&](const auto& peer) { return peer->core->view().size() == static_cast<int>(honest()); });
  }
  void expect_expelled_and_trained(const std::string& reason) {
    ASSERT_TRUE(run([&] { return rid_of_liars(); }, seconds(300)));
    for (std::size_t i = 0; i < honest(); ++i) {
      SwarmPeer& peer = *peers[i];
      EXPECT_LE(peer.round().value(), kFromRound + kRoundsMax) << i;
      EXPECT_FALSE(peer.saw(SwarmEventKind::kRemoved)) << i;
      EXPECT_THAT(peer.text_of(SwarmEventKind::kPeerLeft), HasSubstr("was expelled")) << i;
      EXPECT_THAT(peer.text_of(SwarmEventKind::kPeerLeft), HasSubstr(reason)) << i;
    }
    const bool ended = run(
        [&] {
          return std::all_of(peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(honest()),
                             [](const auto& peer) { return peer->finished; });
        },
        seconds(300));
    const TestTrainer& want = trained(kElements, kLastRound);
    for (std::size_t i = 0; i < honest(); ++i) {
      if (!ended) ADD_FAILURE() << peers[i]->describe();
      EXPECT_EQ(peers[i]->trainer.state(), want.state()) << i;
    }
  }
  void expect_expelled(const std::string& rule, OwnerLie lie, const std::string& reason) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      peers.clear();
      start(seed, rule, {lie});
      expect_expelled_and_trained(reason);
    }
  }

  int verifiers = 1;
  std::size_t liars = 0;
  std::unique_ptr<SimNetwork> net;
  std::vector<std::unique_ptr<SwarmPeer>> peers;
};

TEST_F(LyingSwarm, WhoFalsifiesItsChunkIsExpelled) {
  expect_expelled("median", OwnerLie::kAddsConstant,
                  "falsified data, falsified its chunk of round 5");
  expect_expelled("krum", OwnerLie::kFlipsBit, "falsified data, falsified its chunk of round 5");
}

TEST_F(LyingSwarm, WhoSaysFalseDistancesIsExpelled) {
  expect_expelled("nnm median", OwnerLie::kFalseDistances,
                  "falsified data, falsified its chunk of round 5");
}

TEST_F(LyingSwarm, WhoSendsDifferentChunksIsExpelled) {
  expect_expelled("median", OwnerLie::kEquivocates, "signed two different results of round 5");
}

TEST_F(LyingSwarm, WhoSendsOtherInputsThanItCommittedToIsExpelled) {
  expect_expelled("krum", OwnerLie::kFalseInput, "is not what it committed to");
}

TEST_F(LyingSwarm, WhoAccusesFalselyIsExpelledAndNobodyElse) {
  expect_expelled("median", OwnerLie::kFalseAccusation, "falsely of its chunk of round");
}

// With as many verifiers as there are liars, one of them is honest or sees its own chunk.
TEST_F(LyingSwarm, TwoLiarsAreBothExpelled) {
  verifiers = 2;
  start(3, "median", {OwnerLie::kAddsConstant, OwnerLie::kEquivocates});
  expect_expelled_and_trained("round 5");
}

TEST_F(LyingSwarm, AVerifierThatSaysNothingDoesNotStopTheOthers) {
  start(2, "median", {OwnerLie::kNoVerdict});
  const bool ended = run(
      [&] {
        return std::all_of(peers.begin(), peers.begin() + static_cast<std::ptrdiff_t>(honest()),
                           [](const auto& peer) { return peer->finished; });
      },
      seconds(3000));
  const TestTrainer& want = trained(kElements, kLastRound);
  for (std::size_t i = 0; i < honest(); ++i) {
    if (!ended) ADD_FAILURE() << peers[i]->describe();
    EXPECT_FALSE(peers[i]->saw(SwarmEventKind::kRemoved)) << i;
    EXPECT_EQ(peers[i]->trainer.state(), want.state()) << i;
  }
}

}  // namespace
}  // namespace weft::lying_swarm_test
