// Whole swarms whose rounds have two exchanges, of the even and of the odd ranks, while members are
// killed and newcomers join: what the survivors hold is what one place computes in sequence from
// the committed rounds, to the last bit, and no round counts for one team only.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/scenario/test_swarm.h"
#include "weft/collective/team/team.h"

namespace weft::swarm_teams_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kElements = 1000;
const RoundPlan kTwoTeams({{"even ranks", 600}, {"odd ranks", 400}});

// A member computes its share of the batch for the vectors of its teams: item 24 r / n to 24 (r+1)
// / n as rank r of the n in the team. Each team sums up the whole batch, for its vector.
class TeamTrainer final : public TestTrainer {
 public:
  TeamTrainer() : TestTrainer(kElements) {}
  std::vector<float> shard(int rank, int members) const override {
    std::vector<float> all(kElements);
    for (std::size_t i = 0; i < kTwoTeams.exchanges.size(); ++i) {
      const Result<Team> team = Team::derive({}, members, kTwoTeams.exchanges[i].purpose);
      const TeamRank own = team->rank_of(Rank(rank));
      if (own.value() < 0) continue;
      const std::vector<float> part = TestTrainer::shard(own.value(), team->size());
      const auto begin = static_cast<std::ptrdiff_t>(kTwoTeams.offset(i));
      const auto size = static_cast<std::ptrdiff_t>(kTwoTeams.exchanges[i].elements);
      std::copy_n(part.begin() + begin, size, all.begin() + begin);
    }
    return all;
  }
};

// The part that a member took in a round, as of its last attempt.
struct Part {
  std::uint64_t view = 0;
  int rank = 0;
  int members = 0;
};
// By round and peer.
using Parts = std::map<std::uint64_t, std::map<std::size_t, Part>>;

struct World final : TestSwarm {
  World(std::uint64_t seed, std::string_view text, std::uint64_t last_round)
      : TestSwarm(seed, last_round), codec(*Codec::parse(text)) {
    elements = kElements;
    run_limit = seconds(240);
    options.rounds.codec = codec;
    options.rounds.reports = true;
  }

  SwarmPeer::Settings settings_of(std::uint32_t number) override {
    SwarmPeer::Settings settings = TestSwarm::settings_of(number);
    settings.plan = kTwoTeams;
    settings.make_trainer = [] { return std::make_unique<TeamTrainer>(); };
    settings.on_train = [this, number](const Turn& turn) {
      parts[turn.round.value()][number] = {turn.view.number.value(), turn.rank.value(),
                                           turn.members};
    };
    return settings;
  }

  Codec codec;
  Parts parts;
};

// All rounds once, without a network: the members that the log names, an encoder for each of them
// and each exchange, and the trainer's own arithmetic. Values are whole numbers, so sums are exact
// in any order.
struct Sequence {
  explicit Sequence(const World& world) {
    TeamTrainer trainer;
    for (const auto& [round, parts] : world.parts) {
      // The newest view is the one whose members committed the round.
      Part last;
      for (const auto& [peer, part] : parts) {
        if (part.view > last.view) last = part;
      }
      std::map<int, std::size_t> by_rank;
      for (const auto& [peer, part] : parts) {
        if (part.view == last.view) by_rank[part.rank] = peer;
      }
      EXPECT_EQ(by_rank.size(), static_cast<std::size_t>(last.members)) << "round " << round;
      std::vector<float> sums;
      for (std::size_t i = 0; i < kTwoTeams.exchanges.size(); ++i) {
        const std::vector<float> sum = exchange(world, trainer, i, by_rank, last.members);
        sums.insert(sums.end(), sum.begin(), sum.end());
      }
      trainer.apply(sums);
    }
    state = trainer.state();
  }

  std::vector<float> exchange(const World& world, const TeamTrainer& trainer, std::size_t which,
                              const std::map<int, std::size_t>& by_rank, int members) {
    const ExchangePlan& plan = kTwoTeams.exchanges[which];
    std::vector<float> sum(static_cast<std::size_t>(plan.elements));
    const Result<Team> team = Team::derive({}, members, plan.purpose);
    for (const Rank rank : team->members()) {
      const auto found = by_rank.find(rank.value());
      if (found == by_rank.end()) continue;
      const std::vector<float> all = trainer.shard(rank.value(), members);
      const std::span<const float> input = kTwoTeams.result(all, which);
      auto& encoder = encoders.try_emplace({found->second, which}, world.codec).first->second;
      const Bytes payload = encoder.encode(input);
      encoder.commit();
      std::vector<float> decoded(input.size());
      EXPECT_TRUE(world.codec.decode(payload, decoded).ok());
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += decoded[i];
    }
    return sum;
  }

  std::map<std::pair<std::size_t, std::size_t>, ErrorFeedback> encoders;
  std::vector<float> state;
};

void expect_sequence(const World& world) {
  const Sequence want(world);
  for (std::size_t i = 0; i < world.peers.size(); ++i) {
    const SwarmPeer& peer = *world.peers[i];
    if (!*peer.alive || world.missed(peer)) continue;
    SCOPED_TRACE(peer.describe());
    EXPECT_TRUE(peer.failure.ok());
    EXPECT_FALSE(peer.saw(SwarmEventKind::kStateMismatch));
    EXPECT_EQ(peer.round(), world.options.last_round);
    EXPECT_EQ(peer.trainer.state(), want.state);
    const ResidualState residuals = peer.core->residual_state();
    for (std::size_t which = 0; which < kTwoTeams.exchanges.size(); ++which) {
      const auto found = want.encoders.find({i, which});
      const ResidualValues expected =
          found == want.encoders.end() ? nullptr : found->second.residual();
      ASSERT_EQ(residuals.of(which) != nullptr, expected != nullptr) << "exchange " << which;
      if (expected) {
        EXPECT_EQ(*residuals.of(which), *expected) << "exchange " << which;
      }
    }
  }
}

// Without a codec the state after a round is one and the same, whoever took part.
TEST(SwarmTeams, TwoTeamsSumTwoVectorsInOneRound) {
  for (const int members : {1, 2, 5}) {
    World world(3, "f32", 12);
    world.start(members);
    ASSERT_TRUE(world.run_to_last_round());
    const TestTrainer& want = trained(kElements, 12);
    for (const auto& peer : world.peers) {
      EXPECT_EQ(peer->trainer.state(), want.state()) << peer->describe();
      EXPECT_EQ(peer->members_of_turns.size(), 12U) << "no round was run twice";
      EXPECT_EQ(peer->reports.size(), static_cast<std::size_t>(members)) << "of the whole view";
    }
  }
}

TEST(SwarmTeams, NewcomersTakeTheResultsOfBothTeams) {
  World world(5, "f32", 60);
  world.start(3);
  ASSERT_TRUE(world.run([&] { return world.peers[0]->round() >= Round(10); }));
  world.add().join(world.peers[1]->ticket());
  ASSERT_TRUE(world.run_to_last_round());
  for (const auto& peer : world.peers) {
    EXPECT_EQ(peer->trainer.state(), trained(kElements, 60).state()) << peer->describe();
  }
  EXPECT_GT(world.peers[3]->applied, 0) << "it caught up from results";
}

// Members die at 60 random moments, up to three a run, and newcomers come at others: in twenty runs
// or more. A slice has the first ones of them.
TEST(SwarmTeams, NoKillCommitsOneTeamOnlyOrLosesAResidual) {
  int kills = 0;
  int newcomers = 0;
  std::size_t reruns = 0;
  const bool whole = TestSeeds(1, 20).whole();
  for (std::uint64_t seed = 1; kills < (whole ? 60 : 12); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_LT(seed, 60U);
    World world(seed, "topk:ratio=0.05", 20);
    world.start(7);
    ASSERT_TRUE(world.run([&] { return world.peers[0]->round() >= Round(1); }));
    Rng rng(seed);
    kills += world.kill_and_join(rng, milliseconds(40));
    ASSERT_TRUE(world.run_to_last_round());
    expect_sequence(world);
    for (const auto& peer : world.peers) {
      reruns += peer->saw(SwarmEventKind::kRoundRerun) ? 1U : 0U;
      newcomers += peer->first_trained > 1 ? 1 : 0;
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(reruns, 0U);
  EXPECT_GT(newcomers, whole ? 20 : 0) << "took part";
}

}  // namespace
}  // namespace weft::swarm_teams_test
